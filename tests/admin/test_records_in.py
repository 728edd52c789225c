"""Lines and JSON become records; what cannot is named with its line."""

from __future__ import annotations

import json

import pytest

from headrace.admin.errors import Problem
from headrace.admin.records_in import LineFormat, json_lines, lines


def test_lines_lose_only_their_line_ends() -> None:
    records = list(lines([b"one\n", b" two \r\n", b"\n", b"last"], LineFormat()))
    assert [record.value for record in records] == [b"one", b" two ", b"", b"last"]
    assert all(record.key is None for record in records)


def test_keys_nulls_and_what_all_share() -> None:
    form = LineFormat(key_separator=":", null_marker="NULL", headers=(("h", b"1"),), partition=2, timestamp_ms=5)
    first, second = lines([b"a:b:c\n", b"a:NULL\n"], form)
    assert (first.key, first.value, first.headers) == (b"a", b"b:c", [("h", b"1")])
    assert (second.key, second.value, second.partition, second.timestamp_ms) == (b"a", None, 2, 5)


def test_a_line_without_its_separator_is_named() -> None:
    with pytest.raises(Problem, match="Line 2 has no key separator '='"):
        list(lines([b"a=b\n", b"nothing\n"], LineFormat(key_separator="=")))


def test_json_records() -> None:
    text = [
        {"key": "k", "value": {"a": [1, "ü"]}, "headers": {"x": "1", "n": None}, "partition": 1, "timestamp": 7},
        {"value": None, "headers": [["x", "1"], ["x", "2"]]},
        {"value": "plain", "key_base64": "/w=="},
        {
            "topic": "t",
            "partition": 0,
            "offset": 9,
            "timestamp": 1,
            "timestamp_type": "CreateTime",
            "key": None,
            "value": "v",
        },
    ]
    records = list(json_lines([json.dumps(one).encode() for one in text] + [b"\n"], LineFormat()))
    assert records[0].value == '{"a":[1,"ü"]}'.encode()
    assert (records[0].headers, records[0].partition, records[0].timestamp_ms) == ([("x", b"1"), ("n", None)], 1, 7)
    assert (records[1].value, records[1].headers) == (None, [("x", b"1"), ("x", b"2")])
    assert (records[2].key, records[3].value) == (b"\xff", b"v")


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "Line 1 is not JSON"),
        ("[1]", "has no field 'value'"),
        ('{"vaule": 1}', "has no field 'value'"),
        ('{"value": 1, "keyy": 2}', "unknown field 'keyy'"),
        ('{"value": 1, "headers": [1]}', "headers must be"),
        ('{"value": 1, "headers": 7}', "headers must be"),
        ('{"value": 1, "partition": "x"}', "partition must be a whole number"),
        ('{"value": 1, "timestamp": true}', "timestamp must be a whole number"),
        ('{"value_base64": "%"}', "value_base64 is not base64"),
    ],
)
def test_json_that_is_no_record_is_refused(line: str, problem: str) -> None:
    with pytest.raises(Problem, match=problem):
        list(json_lines([line.encode()], LineFormat()))
