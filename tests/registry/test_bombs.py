"""Schemas that are meant to harm: an answer in 4xx for little processor time, and the registry serves others meanwhile."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from tests.registry.rest import Rest

CPU_S = 1.0
"""Of the whole process, with the broker and this test in it."""


def nested(opening: str, middle: str, closing: str, depth: int) -> str:
    return opening * depth + middle + closing * depth


def avro_laughs(levels: int) -> str:
    """Each record holds unions of the next one many times."""
    schema: Any = "int"
    for level in reversed(range(levels)):
        first = {"name": "f0", "type": {"type": "array", "items": schema}}
        name = schema["name"] if isinstance(schema, dict) else schema
        more = [{"name": f"f{i}", "type": {"type": "map", "values": name}} for i in range(1, 8)]
        schema = {"type": "record", "name": f"R{level}", "fields": [first, *more]}
    return json.dumps(schema)


def json_laughs(levels: int, leaf: str) -> str:
    definitions: dict[str, Any] = {f"d{n}": {"allOf": [{"$ref": f"#/definitions/d{n + 1}"}] * 8} for n in range(levels)}
    definitions[f"d{levels}"] = {"type": leaf}
    return json.dumps({"definitions": definitions, "$ref": "#/definitions/d0"})


REFUSED = {
    "deep arrays in Avro": ("AVRO", nested('{"type":"array","items":', '"int"', "}", 10_000)),
    "deep records in Avro": ("AVRO", nested('{"type":"map","values":[', '"int"', "]}", 5_000)),
    "deep JSON": ("JSON", nested('{"not":', "{}", "}", 50_000)),
    "deep lists": ("JSON", nested('{"allOf":[', "{}", "]}", 50_000)),
    "a number without end": ("JSON", '{"maximum": 1' + "0" * 500_000 + "}"),
    "deep messages": ("PROTOBUF", "syntax = 'proto3';" + nested("message A {", "", "}", 50_000)),
    "deep literals": ("PROTOBUF", "option (a) = " + nested("{a:", "1", "}", 50_000) + ";"),
    "nothing but brackets": ("PROTOBUF", "(" * 900_000),
    "too many words": ("PROTOBUF", "message A {" + "int32 a = 1;" * 75_000 + "}"),
    "an escape without end": ("PROTOBUF", 'option a = "' + "\\" * 400_001 + '";'),
    "not a descriptor": ("PROTOBUF", "CgA" * 300_000),
}


@pytest.mark.parametrize("what", REFUSED)
def test_bombs_are_refused(rest: Rest, what: str) -> None:
    schema_type, text = REFUSED[what]
    began = time.process_time()
    answer = rest.post("/subjects/bomb/versions", {"schema": text, "schemaType": schema_type})
    assert (answer.status, answer.code) == (422, 42201), what
    assert time.process_time() - began < CPU_S + 0.5
    assert len(answer.body["message"]) < 20_000


HARMLESS = {
    "a regular expression that never ends": ("JSON", '{"type":"string","pattern":"' + "(a+)+" * 50 + '$"}'),
    "a circle of references": (
        "JSON",
        '{"definitions":{"a":{"$ref":"#/definitions/a"}},"properties":{"x":{"$ref":"#/definitions/a"}}}',
    ),
    "laughs in JSON": ("JSON", json_laughs(30, "string")),
    "laughs in Avro": ("AVRO", avro_laughs(12)),
}


@pytest.mark.parametrize("what", HARMLESS)
def test_what_only_looks_like_one_takes_no_time_either(rest: Rest, what: str) -> None:
    """They may be taken or refused; what counts is that it is soon, also when a second version is held against the first."""
    schema_type, text = HARMLESS[what]
    subject = what.replace(" ", "-")
    for version in (text, text.replace("string", "integer").replace('"int"', '"long"')):
        began = time.process_time()
        answer = rest.post(f"/subjects/{subject}/versions", {"schema": version, "schemaType": schema_type})
        assert answer.status in (200, 409, 422), what
        assert time.process_time() - began < CPU_S + 0.5


def test_references_do_not_multiply(rest: Rest) -> None:
    """Sixty schemas, each of which refers to all before it."""
    references: list[dict[str, Any]] = []
    for number in range(60):
        fields = [{"name": f"f{n}", "type": f"L{n}"} for n in range(number)]
        schema = json.dumps({"type": "record", "name": f"L{number}", "fields": fields})
        began = time.process_time()
        answer = rest.post(f"/subjects/laugh{number}/versions", {"schema": schema, "references": references})
        assert answer.status in (200, 422)
        assert time.process_time() - began < CPU_S + 0.5
        references.append({"name": f"L{number}", "subject": f"laugh{number}", "version": 1})
