"""What the three schema types have in common: a parsed schema, what it refers to, and how it differs from another.

The server knows these protocols and nothing of Avro, JSON Schema or Protobuf. Everything here is immutable and pure: parse once, ask often,
from any thread.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Protocol, Self

JsonObject = Mapping[str, Any]
"""Metadata and rule sets travel as the JSON objects that clients sent, `None` where none was sent."""

_NOTHING: Mapping[str, str] = MappingProxyType({})


class Policy(StrEnum):
    """How strictly differences are judged (`compatibilityPolicy` of a config). Only JSON Schema looks at it."""

    STRICT = "STRICT"
    LENIENT = "LENIENT"
    LOGICAL = "LOGICAL"


@dataclass(frozen=True, slots=True)
class Reference:
    """`{"name", "subject", "version"}` of a request: what a schema calls another, and where that one is registered."""

    name: str
    subject: str
    version: int


@dataclass(frozen=True, slots=True)
class Source:
    """A schema as it was sent, with all that belongs to its identity.

    `resolved` holds the text of every schema that is referred to, also by those: reference name → text, what is needed by another before it.
    """

    text: str
    references: tuple[Reference, ...] = ()
    resolved: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    metadata: JsonObject | None = None
    rule_set: JsonObject | None = None
    version: int | None = None


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference between two versions, in Confluent's words.

    `message` may hold `{reader}` and `{writer}`, which become "new" and "old" or the other way round.
    """

    kind: str
    path: str
    compatible: bool
    message: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.path}"

    def text(self, reader: str, writer: str) -> str:
        """The entry of `messages` in a verbose answer."""
        return self.message.replace("{reader}", reader).replace("{writer}", writer)


class ParsedSchema(Protocol):
    """A valid schema of one type. Its text is what `_schemas` holds; `source` keeps what was sent."""

    @property
    def schema_type(self) -> str:
        """AVRO, JSON or PROTOBUF."""
        ...

    @property
    def source(self) -> Source:
        """References, metadata, rule set and version that came with the text."""
        ...

    @property
    def name(self) -> str | None:
        """The record's full name, the title or the first message's full name; `None` where there is none."""
        ...

    def canonical(self) -> str:
        """The text that is stored and returned: Confluent's `canonicalString()`. Computed once."""
        ...

    def normalized(self) -> Self:
        """The same schema with everything in order whose order means nothing (`normalize=true`)."""
        ...

    def format(self, name: str) -> str:
        """The text for `format=<name>`: "" is the canonical one. Raises `UnknownFormat`."""
        ...

    def differences(self, previous: Self, policy: Policy = Policy.STRICT) -> Sequence[Difference]:
        """All differences of this schema as a reader from `previous` as the writer, in Confluent's order.

        `previous` is of the same type. Only those that are not `compatible` break anyone.
        """
        ...

    def has_top_level_field(self, name: str) -> bool:
        """Whether the record, object or first message has this field (for `confluent:reserved`)."""
        ...

    def tags(self) -> frozenset[str]:
        """The inline tags (`confluent:tags`) of the schema."""
        ...

    def with_source(self, source: Source) -> Self:
        """The same parsed schema with other metadata, rule set or version; text and references stay."""
        ...


class SchemaType(Protocol):
    """One declaration per schema type."""

    @property
    def name(self) -> str:
        """AVRO, JSON or PROTOBUF: what `schemaType` says."""
        ...

    @property
    def formats(self) -> tuple[str, ...]:
        """What `format=` takes."""
        ...

    def parse(self, source: Source, *, new: bool = False) -> ParsedSchema:
        """Parse and validate; raises `InvalidSchema`. `new` adds the checks for schemas that are being registered."""
        ...


def with_version(schema: ParsedSchema, version: int | None) -> ParsedSchema:
    """The schema as one version of a subject, so that messages can name the version."""
    return schema.with_source(replace(schema.source, version=version))


def ordered_references(references: Sequence[Reference]) -> tuple[Reference, ...]:
    """References in Confluent's order, each once: what normalising makes of them."""
    return tuple(sorted(dict.fromkeys(references), key=lambda reference: (reference.subject, reference.version)))
