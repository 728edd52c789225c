"""JSON Schema and Protobuf: values that fit come back, others are told; references and the runtime's own files are found."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from google.protobuf import descriptor_pb2
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.serde.codec import Decoder, Encoder
from headrace.serde.errors import BadSchema, NotFramed, SerdeError, Undecodable, Unfit
from headrace.serde.json_schema import JsonCodec
from headrace.serde.protobuf import ProtobufCodec
from headrace.serde.schemas import Kind, Schema, fetch

PERSON = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "type": "object",
    "properties": {"name": {"type": "string"}, "home": {"$ref": "address.json"}},
    "required": ["name"],
}
ADDRESS = Schema(Kind.JSON_SCHEMA, json.dumps({"type": "object", "required": ["city"]}))


def test_json_is_checked_with_its_references() -> None:
    codec = JsonCodec(Schema(Kind.JSON_SCHEMA, json.dumps(PERSON), {"address.json": ADDRESS}))
    assert codec.decode(codec.encode({"name": "Zoë", "home": {"city": "Köln"}})) == {
        "name": "Zoë",
        "home": {"city": "Köln"},
    }
    with pytest.raises(Unfit, match="'city' is a required property"):
        codec.encode({"name": "Zoë", "home": {}})
    with pytest.raises(Undecodable, match="not JSON"):
        codec.decode(b"{")


def test_nothing_is_fetched_for_a_json_schema() -> None:
    codec = JsonCodec(Schema(Kind.JSON_SCHEMA, json.dumps({"$ref": "http://127.0.0.1:1/other.json"})))
    with pytest.raises(BadSchema, match="cannot be used"):
        codec.encode(1)


def proto(file: Any, **references: Schema) -> Schema:
    return Schema(Kind.PROTOBUF, base64.b64encode(file.SerializeToString()).decode(), references)


def a_file(*fields: tuple[str, int, str], dependency: tuple[str, ...] = ()) -> Any:
    """A file with the messages Outer, which has these fields and a message Inner within, and Second."""
    file = descriptor_pb2.FileDescriptorProto(name="x.proto", package="shop", syntax="proto3", dependency=dependency)
    outer = file.message_type.add(name="Outer")
    for number, (name, kind, type_name) in enumerate(fields, 1):
        outer.field.add(name=name, number=number, type=kind, label=1, type_name=type_name or None)  # type: ignore[arg-type]
    inner = outer.nested_type.add(name="Inner")
    inner.field.add(name="depth", number=1, type=5, label=1)
    file.message_type.add(name="Second").field.add(name="text", number=1, type=9, label=1)
    return file


def test_a_message_its_neighbours_and_those_within() -> None:
    schema = proto(a_file(("id", 3, ""), ("name", 9, "")))
    codec = ProtobufCodec(schema)
    assert codec.encode({"id": 5, "name": "x"}) == b"\0\x08\x05\x12\x01x"
    assert codec.decode(b"\0\x08\x05\x12\x01x") == {"id": "5", "name": "x"}  # as Protocol Buffers write 64 bits in JSON
    inner = ProtobufCodec(schema, "Inner").encode({"depth": 3})
    assert inner == b"\x04\x00\x00\x08\x03"
    assert codec.decode(inner) == {"depth": 3}
    assert codec.decode(ProtobufCodec(schema, "shop.Second").encode({"text": "y"})) == {"text": "y"}
    with pytest.raises(BadSchema, match=r"no message Third; it has shop\.Outer, shop\.Outer\.Inner, shop\.Second"):
        ProtobufCodec(schema, "Third").encode({})
    with pytest.raises(Unfit, match="colour"):
        codec.encode({"colour": 1})
    with pytest.raises(Undecodable, match="no message at"):
        codec.decode(b"\x02\x0e")


def test_imports_are_references_or_the_runtimes_own() -> None:
    other = descriptor_pb2.FileDescriptorProto(name="?", package="lib", syntax="proto3")
    other.message_type.add(name="Money").field.add(name="cents", number=1, type=3, label=1)
    needs = ("lib/money.proto", "google/protobuf/timestamp.proto")
    file = a_file(("price", 11, ".lib.Money"), ("at", 11, ".google.protobuf.Timestamp"), dependency=needs)
    codec = ProtobufCodec(proto(file, **{"lib/money.proto": proto(other)}))
    value = {"price": {"cents": "12"}, "at": "2026-01-31T12:00:00Z"}
    assert codec.decode(codec.encode(value)) == value
    with pytest.raises(BadSchema, match=r"imports lib/money\.proto"):
        ProtobufCodec(proto(file))


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=30))
def test_any_bytes_are_a_message_or_refused(data: bytes) -> None:
    codec = ProtobufCodec(proto(a_file(("id", 3, ""), ("name", 9, ""))))
    try:
        json.dumps(codec.decode(data))
    except Undecodable as error:
        assert str(error)


class Shelf:
    """A registry of two schemas, of which one refers to the other, and one that refers to itself."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def by_id(self, id_: int, subject: str | None = None, form: str = "") -> dict[str, Any]:
        self.asked.append(id_)
        reference = {"name": "address.json", "subject": "address", "version": 1}
        if id_ == 2:
            return {
                "schemaType": "JSON",
                "schema": "{}",
                "references": [{"name": "x", "subject": "loop", "version": 1}],
            }
        return {"schemaType": "JSON", "schema": json.dumps(PERSON), "references": [reference]}

    def version(self, subject: str, version: str = "latest", form: str = "") -> dict[str, Any]:
        if subject == "loop":
            return {
                "schemaType": "JSON",
                "schema": "{}",
                "references": [{"name": "x", "subject": "loop", "version": 1}],
            }
        return {"schemaType": "JSON", "schema": ADDRESS.text}


def test_a_decoder_asks_for_each_schema_once() -> None:
    shelf = Shelf()
    encoder, decoder = Encoder(1, fetch(shelf, 1)), Decoder(shelf)
    shelf.asked.clear()
    for name in ("a", "b"):
        assert decoder.decode(encoder.encode({"name": name})).value == {"name": name}
    assert shelf.asked == [1]
    with pytest.raises(NotFramed):
        decoder.decode(b"{}")


def test_schemas_that_refer_to_themselves_are_refused() -> None:
    with pytest.raises(SerdeError, match="loop version 1 refers to itself"):
        fetch(Shelf(), 2)
