"""Avro as JSON: what people write becomes what fastavro reads, and comes back; what does not fit is told with its place."""

from __future__ import annotations

import contextlib
import io
import json
from typing import Any

import fastavro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.serde.avro import AvroCodec
from headrace.serde.errors import BadSchema, Undecodable, Unfit
from headrace.serde.schemas import Kind, Schema


def avro(schema: Any, **references: Schema) -> Schema:
    return Schema(Kind.AVRO, json.dumps(schema), references)


ORDER = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "note", "type": ["null", "string"], "default": None},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
        {"name": "tags", "type": {"type": "map", "values": "double"}, "default": {}},
        {"name": "state", "type": {"type": "enum", "name": "State", "symbols": ["OPEN", "PAID"]}, "default": "OPEN"},
    ],
}
WRITTEN = {"id": 7, "at": "2026-01-31T12:00:00+00:00", "price": "12.50", "note": "ü", "tags": {"a": 1.5}}


def test_an_order_and_back() -> None:
    codec = AvroCodec(avro(ORDER))
    assert codec.decode(codec.encode(WRITTEN)) == WRITTEN | {"state": "OPEN"}


def test_the_bytes_are_those_of_avro() -> None:
    read = fastavro.schemaless_reader(
        io.BytesIO(AvroCodec(avro(ORDER)).encode(WRITTEN)), fastavro.parse_schema(ORDER), None
    )
    assert isinstance(read, dict)
    assert (read["id"], str(read["price"]), read["at"].year) == (7, "12.50", 2026)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"id": "seven"}, r'\$\.id must be long, not "seven"'),
        ({"id": 2**63}, r"\$\.id: \d+ does not fit into long"),
        ({"id": True}, r"\$\.id must be long, not true"),
        ({"at": "yesterday"}, r'\$\.at: "yesterday" is no timestamp-millis'),
        ({"price": "much"}, r'\$\.price: "much" is no decimal'),
        ({"tags": [1]}, r"\$\.tags must be an object, not \[1\]"),
        ({"state": "LOST"}, r'\$\.state must be one of OPEN, PAID, not "LOST"'),
        ({"colour": 1}, r"has a field 'colour'; shop.Order has id, note"),
        ({"note": 1}, r"\$\.note fits no branch of its union: .*null.*string"),
    ],
)
def test_what_does_not_fit_says_where(change: dict[str, Any], reason: str) -> None:
    with pytest.raises(Unfit, match=reason):
        AvroCodec(avro(ORDER)).encode(WRITTEN | change)


def test_a_missing_field_is_named() -> None:
    with pytest.raises(Unfit, match=r"lacks the field 'at' of shop\.Order"):
        AvroCodec(avro(ORDER)).encode({"id": 1, "price": "1"})


def test_unions_of_records_take_the_first_that_fits_or_the_one_that_is_named() -> None:
    def record(name: str, *fields: str) -> dict[str, Any]:
        return {"type": "record", "name": name, "fields": [{"name": each, "type": "int"} for each in fields]}

    codec = AvroCodec(avro([record("A", "x"), record("B", "x"), record("C", "y"), "string"]))
    assert codec.encode({"x": 1}) == b"\x00\x02"
    assert codec.encode({"B": {"x": 1}}) == b"\x02\x02"
    assert codec.encode({"y": 1}) == b"\x04\x02"
    assert codec.encode("z") == b"\x06\x02z"


def test_references_are_used_by_name_again_and_again() -> None:
    money = avro({"type": "record", "name": "Money", "fields": [{"name": "cents", "type": "long"}]})
    pair = avro(
        {
            "type": "record",
            "name": "Pair",
            "fields": [{"name": "a", "type": "Money"}, {"name": "b", "type": ["null", "Money"]}],
        },
        Money=money,
    )
    codec = AvroCodec(pair)
    assert codec.encode({"a": {"cents": 1}, "b": {"cents": 2}}) == b"\x02\x02\x04"
    assert codec.decode(b"\x02\x02\x04") == {"a": {"cents": 1}, "b": {"cents": 2}}


def test_a_tree_refers_to_itself() -> None:
    tree = {
        "type": "record",
        "name": "Tree",
        "fields": [{"name": "n", "type": "int"}, {"name": "more", "type": {"type": "array", "items": "Tree"}}],
    }
    codec = AvroCodec(avro(tree))
    value = {"n": 1, "more": [{"n": 2, "more": []}]}
    assert codec.decode(codec.encode(value)) == value


def test_a_reader_sees_its_own_fields() -> None:
    reader = avro(
        {"type": "record", "name": "Order", "namespace": "shop", "fields": [{"name": "id", "type": "double"}]}
    )
    assert AvroCodec(avro(ORDER), reader).decode(AvroCodec(avro(ORDER)).encode(WRITTEN)) == {"id": 7.0}


def test_arrays_of_nothing_are_refused() -> None:
    empty = {"type": "record", "name": "E", "fields": [{"name": "n", "type": "null"}]}
    for items in ("null", empty, {"type": "fixed", "name": "F", "size": 0}):
        with pytest.raises(BadSchema, match="endless"):
            AvroCodec(avro({"type": "map", "values": {"type": "array", "items": items}}))
    AvroCodec(avro({"type": "array", "items": ["null", "int"]}))


@pytest.mark.parametrize("text", ["{", '{"type": "recrod"}'])
def test_a_bad_schema_is_told(text: str) -> None:
    with pytest.raises(BadSchema):
        AvroCodec(Schema(Kind.AVRO, text))


SCALARS: dict[str, st.SearchStrategy[Any]] = {
    "null": st.none(),
    "boolean": st.booleans(),
    "int": st.integers(-(2**31), 2**31 - 1),
    "long": st.integers(-(2**63), 2**63 - 1),
    "double": st.floats(allow_nan=False),
    "string": st.text(),
    "bytes": st.binary().map(lambda data: data.decode("latin-1")),
}


@st.composite
def typed(draw: st.DrawFn, depth: int = 3) -> tuple[Any, st.SearchStrategy[Any]]:
    """A schema without unions, and values of it."""
    kind = draw(st.sampled_from([*SCALARS, *(["array", "map", "record"] if depth else [])]))
    if kind in SCALARS:
        return kind, SCALARS[kind]
    if kind == "record":
        fields = [draw(typed(depth - 1)) for _ in range(draw(st.integers(1, 3)))]
        name = f"R{draw(st.integers(0, 10**12))}"
        schema = {
            "type": "record",
            "name": name,
            "fields": [{"name": f"f{number}", "type": each} for number, (each, _) in enumerate(fields)],
        }
        return schema, st.fixed_dictionaries({f"f{number}": values for number, (_, values) in enumerate(fields)})
    inner, values = draw(typed(depth - 1))
    if kind == "map":
        return {"type": "map", "values": inner}, st.dictionaries(st.text(), values, max_size=3)
    return {"type": "array", "items": ["string", inner] if inner == "null" else inner}, st.lists(
        st.text() if inner == "null" else values, max_size=3
    )


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_every_value_comes_back(data: st.DataObject) -> None:
    schema, values = data.draw(typed())
    try:
        codec = AvroCodec(avro(schema))
    except BadSchema as error:
        assert "endless" in str(error) or "redefined" in str(error)
        return
    value = data.draw(values)
    assert codec.decode(codec.encode(value)) == value


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=40))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    codec = AvroCodec(avro(ORDER))
    with contextlib.suppress(Undecodable):
        json.dumps(codec.decode(data))
