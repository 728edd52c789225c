"""Schemas as values: parsing, canonical form, identity and compatibility of Avro, JSON Schema and Protobuf.

The pure core of the registry: no server, no Kafka, no files. `parse` gives a `ParsedSchema`, `check` holds one against earlier versions, and
`InvalidSchema` is the only exception that input from outside can cause. A schema type is one declaration in `TYPES`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from headrace.registry.schemas.avro import AvroType
from headrace.registry.schemas.errors import InvalidSchema, UnknownFormat, UnknownSchemaType
from headrace.registry.schemas.identity import fingerprint, guid
from headrace.registry.schemas.json_schema import JsonSchemaType
from headrace.registry.schemas.levels import Level, check
from headrace.registry.schemas.model import (
    Difference,
    JsonObject,
    ParsedSchema,
    Policy,
    Reference,
    SchemaType,
    Source,
    with_version,
)
from headrace.registry.schemas.protobuf import ProtobufType

TYPES: Mapping[str, SchemaType] = MappingProxyType(
    {kind.name: kind for kind in (JsonSchemaType(), ProtobufType(), AvroType())}
)
"""By name, in the order of `GET /schemas/types`."""


def parse(
    schema_type: str,
    text: str,
    references: Sequence[Reference] = (),
    resolved: Mapping[str, str] | None = None,
    *,
    metadata: JsonObject | None = None,
    rule_set: JsonObject | None = None,
    version: int | None = None,
    new: bool = False,
) -> ParsedSchema:
    """Parse and validate a schema; raises `InvalidSchema`.

    `schema_type` is AVRO, JSON or PROTOBUF. `resolved` maps the name of every reference, also of references of references, to its text, those
    first that others need. `new` is for registrations and compatibility checks: it adds checks that stored schemas may fail.
    """
    kind = TYPES.get(schema_type)
    if kind is None:
        raise UnknownSchemaType(schema_type)
    source = Source(text, tuple(references), MappingProxyType(dict(resolved or {})), metadata, rule_set, version)
    return kind.parse(source, new=new)


__all__ = [
    "TYPES",
    "Difference",
    "InvalidSchema",
    "Level",
    "ParsedSchema",
    "Policy",
    "Reference",
    "SchemaType",
    "Source",
    "UnknownFormat",
    "UnknownSchemaType",
    "check",
    "fingerprint",
    "guid",
    "parse",
    "with_version",
]
