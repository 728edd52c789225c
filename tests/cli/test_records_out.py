"""Records in every format. The messages come from a broker in test_consume; here only their content matters."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from headrace.admin.errors import UsageMistake
from headrace.cli.records_out import formatter


@dataclass(frozen=True)
class Record:
    """The part of a confluent-kafka message that formats read."""

    content: dict[str, Any]

    def __getattr__(self, name: str) -> Any:
        return lambda: self.content[name]


def record(key: bytes | None = b"k", value: bytes | None = b"v", headers: Any = None) -> Record:
    timestamp = (1, 1_700_000_000_123)
    return Record(
        {
            "topic": "t",
            "partition": 2,
            "offset": 7,
            "timestamp": timestamp,
            "key": key,
            "value": value,
            "headers": headers,
        }
    )


def shape(name: str, message: Any, **options: Any) -> bytes:
    return formatter(name, colour=options.get("colour", False), json_values=options.get("json_values", False))(message)


def test_raw_is_the_value_and_nothing_else() -> None:
    assert shape("raw", record(value=b"\xff\x00\x1b[31m")) == b"\xff\x00\x1b[31m\n"
    assert shape("raw", record(value=None)) == b"\n"


def test_json_keeps_every_byte() -> None:
    document = json.loads(shape("json", record(key=b"\xff", value=None, headers=[("h", b"1"), ("n", None)])))
    assert document["key_base64"] == "/w=="
    assert "key" not in document
    assert (document["value"], document["headers"]) == (None, [["h", "1"], ["n", None]])
    assert (document["topic"], document["partition"], document["offset"]) == ("t", 2, 7)
    assert (document["timestamp"], document["timestamp_type"]) == (1_700_000_000_123, "CreateTime")


def test_json_values_stay_json_when_asked() -> None:
    assert json.loads(shape("json", record(value=b'{"a":1}')))["value"] == '{"a":1}'
    assert json.loads(shape("json", record(value=b'{"a":1}'), json_values=True))["value"] == {"a": 1}
    assert json.loads(shape("json", record(value=b"no json"), json_values=True))["value"] == "no json"


def test_hex_and_templates() -> None:
    assert shape("hex", record(key=None, value=b"\x01\xff")) == b"2:7\tnull\t01ff\n"
    text = "{topic}/{partition}@{offset} {time} {timestamp} {key}={value} {headers}"
    expected = b"t/2@7 2023-11-14T22:13:20.123Z 1700000000123 k=v h=1,n=\n"
    assert shape(text, record(headers=[("h", b"1"), ("n", None)])) == expected
    assert shape("{key}\\t{value}\\0", record()) == b"k\tv\0"
    assert shape('{"k": "{key}"}', record()) == b'{"k": "k"}\n'


def test_text_for_people_escapes_what_a_terminal_would_obey() -> None:
    line = shape("text", record(key=b"k\x07", value=b"\x1b]0;title\x07\xc2\x9b31m\xff"), colour=True)
    assert b"k\\x07" in line
    assert b"\\x1b]0;title\\x07\\x9b31m\\xff" in line
    assert b"(null)" in shape("text", record(value=None))


@pytest.mark.parametrize("name", ["xml", "{nothing}"])
def test_other_formats_are_refused(name: str) -> None:
    with pytest.raises(UsageMistake):
        shape(name, record())
