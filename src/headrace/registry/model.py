"""What the registry keeps: schemas under subjects, settings, modes, associations. Plain values, as they are after a record was read. Pure."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headrace.registry.schemas import Reference, guid

JsonObject = Mapping[str, Any]
AVRO = "AVRO"
PROTOBUF = "PROTOBUF"
MAX_INT = 2**31 - 1


class Mode(enum.StrEnum):
    """What may be written in a scope. IMPORT takes schemas with given ids and checks no compatibility."""

    READWRITE = "READWRITE"
    READONLY = "READONLY"
    READONLY_OVERRIDE = "READONLY_OVERRIDE"
    IMPORT = "IMPORT"
    FORWARD = "FORWARD"

    @property
    def is_read_only(self) -> bool:
        return self in (Mode.READONLY, Mode.READONLY_OVERRIDE)

    @property
    def is_import(self) -> bool:
        return self in (Mode.IMPORT, Mode.FORWARD)


@dataclass(frozen=True, slots=True)
class StoredSchema:
    """One version under one subject. `digest` is what makes schemas equal: text, references, metadata and rules."""

    subject: str
    version: int
    id: int
    schema_type: str
    text: str
    references: tuple[Reference, ...]
    metadata: JsonObject | None
    rule_set: JsonObject | None
    deleted: bool
    digest: bytes
    timestamp_ms: int | None = None

    @property
    def guid(self) -> str:
        return guid(self.digest)

    def as_deleted(self) -> StoredSchema:
        return dataclasses.replace(self, deleted=True)


@dataclass(frozen=True, slots=True)
class AssociationKey:
    """Which subject stands for a part (`associationType`, such as value) of a resource, which is a topic."""

    resource_name: str
    resource_namespace: str
    resource_type: str
    association_type: str
    subject: str
    tenant: str = "default"


@dataclass(frozen=True, slots=True)
class Association:
    key: AssociationKey
    guid: str
    resource_id: str
    lifecycle: str
    frozen: bool
    created_ms: int | None = None
    updated_ms: int | None = None
