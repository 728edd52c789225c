"""Records of a topic, read and written with the schemas of a registry."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from typing import Any, Protocol

from headrace.serde import framing
from headrace.serde.errors import BadSchema, SerdeError
from headrace.serde.schemas import Kind, Schema, SchemaSource, fetch

MOST_SCHEMAS = 1_000


class Codec(Protocol):
    """One schema: what JSON has, to bytes and back."""

    def decode(self, payload: bytes) -> Any: ...

    def encode(self, value: Any) -> bytes: ...


def codec(schema: Schema, *, reader: Schema | None = None, message: str = "") -> Codec:
    """`reader`: with Avro, the schema that records are wanted in. `message`: with Protobuf, which one of the file to write."""
    if schema.kind is Kind.AVRO:
        _require("fastavro")
        from headrace.serde.avro import AvroCodec

        return AvroCodec(schema, reader)
    if reader is not None:
        raise BadSchema("only Avro reads records in another schema than they were written with")
    if schema.kind is Kind.JSON_SCHEMA:
        _require("jsonschema")
        from headrace.serde.json_schema import JsonCodec

        return JsonCodec(schema)
    from headrace.serde.protobuf import ProtobufCodec

    return ProtobufCodec(schema, message)


def _require(module: str) -> None:
    if importlib.util.find_spec(module) is None:
        raise BadSchema(f"{module} is not installed here: `pip install 'headrace[registry]'`")


@dataclass(frozen=True)
class Decoded:
    value: Any
    schema_id: int
    kind: Kind


class Decoder:
    """Reads what anybody wrote with a registry's schemas. Each schema is asked for once."""

    def __init__(self, source: SchemaSource, reader: Schema | None = None) -> None:
        self._source, self._reader = source, reader
        self._codecs: dict[int, tuple[Kind, Codec] | SerdeError] = {}

    def decode(self, data: bytes) -> Decoded:
        """`NotFramed`, `Undecodable` or `BadSchema` when it cannot be read; what the source raises comes through."""
        schema_id, payload = framing.unframe(data)
        found = self._codec(schema_id)
        if isinstance(found, SerdeError):
            raise found
        kind, codec = found
        return Decoded(codec.decode(payload), schema_id, kind)

    def _codec(self, schema_id: int) -> tuple[Kind, Codec] | SerdeError:
        if schema_id not in self._codecs:
            if len(self._codecs) >= MOST_SCHEMAS:
                self._codecs.pop(next(iter(self._codecs)))
            schema = fetch(self._source, schema_id)
            try:
                self._codecs[schema_id] = schema.kind, codec(schema, reader=self._reader)
            except SerdeError as error:
                self._codecs[schema_id] = error
        return self._codecs[schema_id]


class Encoder:
    """Writes values in one schema, which the registry knows by this id."""

    def __init__(self, schema_id: int, schema: Schema, message: str = "") -> None:
        self.schema_id, self.kind = schema_id, schema.kind
        self._codec = codec(schema, message=message)

    def encode(self, value: Any) -> bytes:
        return framing.frame(self.schema_id, self._codec.encode(value))
