"""A schema with all that it refers to, as a registry has it."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from headrace.serde.errors import BadSchema

MOST_REFERENCES = 1_000


class Kind(enum.StrEnum):
    AVRO = "avro"
    JSON_SCHEMA = "json-schema"
    PROTOBUF = "protobuf"

    @classmethod
    def of(cls, schema_type: str | None) -> Kind:
        """By the registry's name for it."""
        names = {"AVRO": cls.AVRO, "JSON": cls.JSON_SCHEMA, "PROTOBUF": cls.PROTOBUF}
        try:
            return names[schema_type or "AVRO"]
        except KeyError:
            raise BadSchema(f"'{schema_type}' is no kind of schema that is known here") from None

    @property
    def schema_type(self) -> str:
        return {"avro": "AVRO", "json-schema": "JSON", "protobuf": "PROTOBUF"}[self]


class SchemaSource(Protocol):
    """A registry, as far as it is needed here. Answers are those of Confluent's REST API."""

    def by_id(self, id_: int, subject: str | None = None, form: str = "") -> dict[str, Any]: ...

    def version(self, subject: str, version: str = "latest", form: str = "") -> dict[str, Any]: ...


@dataclass(frozen=True)
class Schema:
    """`text` is a descriptor in base64 where it is Protobuf. `references` are by the name that the schema calls them."""

    kind: Kind
    text: str
    references: Mapping[str, Schema] = field(default_factory=dict)

    def all_references(self) -> Iterator[tuple[str, Schema]]:
        """Each once, what it refers to itself before it."""
        seen: set[str] = set()

        def walk(schema: Schema) -> Iterator[tuple[str, Schema]]:
            for name, reference in schema.references.items():
                if name not in seen:
                    seen.add(name)
                    yield from walk(reference)
                    yield name, reference

        return walk(self)


def fetch(source: SchemaSource, id_: int) -> Schema:
    """The schema with that id and everything it refers to."""
    answer = source.by_id(id_)
    if Kind.of(answer.get("schemaType")) is Kind.PROTOBUF:
        answer = source.by_id(id_, form="serialized") | {"schemaType": "PROTOBUF"}
    return resolved(source, answer)


def resolved(source: SchemaSource, answer: Mapping[str, Any]) -> Schema:
    """A registry's answer with its references, which are the registry's too."""
    known: dict[tuple[str, int], Schema] = {}
    return _with_references(source, answer, known, ())


def _with_references(
    source: SchemaSource,
    answer: Mapping[str, Any],
    known: dict[tuple[str, int], Schema],
    above: tuple[tuple[str, int], ...],
) -> Schema:
    kind = Kind.of(answer.get("schemaType"))
    references: dict[str, Schema] = {}
    for reference in answer.get("references") or ():
        place = (str(reference["subject"]), int(reference["version"]))
        if place in above:
            raise BadSchema(f"{place[0]} version {place[1]} refers to itself")
        if place not in known:
            if len(known) >= MOST_REFERENCES:
                raise BadSchema(f"it refers to more than {MOST_REFERENCES} others")
            form = "serialized" if kind is Kind.PROTOBUF else ""
            found = source.version(place[0], str(place[1]), form)
            known[place] = _with_references(source, found, known, (*above, place))
        references[str(reference["name"])] = known[place]
    return Schema(kind, str(answer["schema"]), references)
