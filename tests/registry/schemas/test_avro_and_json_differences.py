"""Differences between Avro schemas and between JSON Schemas: kinds, places, order, and whether they break a reader."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headrace.registry.schemas import Level, Policy, check, parse


def avro(*fields: dict[str, Any], **more: Any) -> str:
    return json.dumps({"type": "record", "name": "R", "fields": list(fields), **more})


A = {"name": "a", "type": "int"}
AVRO = {
    "a field with a default more": (avro(A), avro(A, {"name": "b", "type": "int", "default": 0}), []),
    "a field without a default more": (
        avro(A),
        avro(A, {"name": "b", "type": "int"}),
        ["READER_FIELD_MISSING_DEFAULT_VALUE /fields/1"],
    ),
    "a field less": (avro(A, {"name": "b", "type": "int"}), avro(A), []),
    "a wider type": (avro(A), avro({"name": "a", "type": "long"}), []),
    "a narrower type": (avro({"name": "a", "type": "long"}), avro(A), ["TYPE_MISMATCH /fields/0/type"]),
    "an alias": (avro({"name": "old", "type": "int"}), avro({"name": "new", "type": "int", "aliases": ["old"]}), []),
    "another name": ('{"type":"fixed","name":"F","size":1}', '{"type":"fixed","name":"G","size":1}', ["NAME_MISMATCH /name"]),
    "another size": ('{"type":"fixed","name":"F","size":1}', '{"type":"fixed","name":"F","size":2}', ["FIXED_SIZE_MISMATCH /size"]),
    "a symbol less": (
        '{"type":"enum","name":"E","symbols":["A","B"]}',
        '{"type":"enum","name":"E","symbols":["A"]}',
        ["MISSING_ENUM_SYMBOLS /symbols"],
    ),
    "a symbol less with a default": (
        '{"type":"enum","name":"E","symbols":["A","B"]}',
        '{"type":"enum","name":"E","symbols":["A"],"default":"A"}',
        [],
    ),
    "a branch less": ('["int","string"]', '["int"]', ["MISSING_UNION_BRANCH /1"]),
    "a branch more": ('["int"]', '["int","string"]', []),
}  # fmt: skip


@pytest.mark.parametrize("what", AVRO)
def test_avro(what: str) -> None:
    old, new, expected = (parse("AVRO", AVRO[what][0]), parse("AVRO", AVRO[what][1]), AVRO[what][2])
    assert [str(each) for each in new.differences(old) if not each.compatible] == expected
    assert (not check(new, [old], Level.BACKWARD)) == (not expected)
    assert not check(new, [new], Level.FULL_TRANSITIVE)


def closed(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "additionalProperties": False}


JSON: dict[str, tuple[Any, Any, list[str], bool, bool]] = {
    "an optional property in an open model": (
        {"type": "object", "properties": {}},
        {"type": "object", "properties": {"a": {"type": "string"}}},
        ["OPTIONAL_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL #/properties/a"],
        False,
        True,
    ),
    "an optional property in a closed model": (
        closed(),
        closed(a={"type": "string"}),
        ["OPTIONAL_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL #/properties/a"],
        True,
        True,
    ),
    "a property less in a closed model": (
        closed(a={"type": "string"}),
        closed(),
        ["PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL #/properties/a"],
        False,
        True,
    ),
    "another type": ({"type": "string"}, {"type": "integer"}, ["TYPE_CHANGED #/"], False, False),
    "a tighter bound": (
        {"type": "string", "maxLength": 9},
        {"type": "string", "maxLength": 5},
        ["MAX_LENGTH_DECREASED #/maxLength"],
        False,
        False,
    ),
    "a value more": ({"enum": ["a"]}, {"enum": ["a", "b"]}, ["ENUM_ARRAY_EXTENDED #/enum"], True, True),
    "a value less": ({"enum": ["a", "b"]}, {"enum": ["a"]}, ["ENUM_ARRAY_NARROWED #/enum"], False, False),
}


@pytest.mark.parametrize("what", JSON)
def test_json_schema(what: str) -> None:
    before, after, expected, strict, lenient = JSON[what]
    old, new = parse("JSON", json.dumps(before)), parse("JSON", json.dumps(after))
    assert [str(each) for each in new.differences(old)] == expected
    assert (not check(new, [old], Level.BACKWARD)) == strict
    assert (not check(new, [old], Level.BACKWARD, Policy.LENIENT)) == lenient
    assert not new.differences(new)


def test_levels_look_in_their_direction() -> None:
    small, large = parse("AVRO", avro(A)), parse("AVRO", avro(A, {"name": "b", "type": "int"}))
    assert not check(large, [small], Level.FORWARD)
    assert check(large, [small], Level.BACKWARD)
    assert not check(small, [large], Level.BACKWARD)
    assert check(small, [large], Level.FORWARD)
    assert check(small, [large], Level.FULL)
    assert not check(small, [small, large], Level.FULL)
    assert check(small, [small, large], Level.FULL_TRANSITIVE)
    assert not check(small, [large], Level.NONE)
    assert check(small, [parse("JSON", "{}")], Level.BACKWARD) == ["Incompatible because of different schema type"]
