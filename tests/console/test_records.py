"""Records as pages show them, as files hold them, and with their masked fields hidden."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.admin.errors import Problem
from headrace.console.exporting import record_file, table_file
from headrace.console.masking import MASK, Masking
from headrace.console.records import NOT_JSON, Record, as_hex, as_json, as_text, as_tree, preview
from headrace.console.topic.importing import parsed


def record(value: bytes | None, key: bytes | None = None, headers: tuple[tuple[str, bytes | None], ...] = ()) -> Record:
    return Record("t", 1, 5, 1_700_000_000_000, "CreateTime", key, value, headers)


def test_previews_are_one_bounded_line() -> None:
    assert preview(b"a\n  b\tc") == "a b c"
    assert preview(None) == "null"
    assert preview(b"\xff\x00") == "0xff00"
    assert preview(b"x" * 500) == "x" * 200 + "…"
    assert preview("\u202eevil".encode()) == "\\u202eevil"
    assert preview("é".encode() * 2000).endswith("…")


@given(st.binary(max_size=300))
def test_any_bytes_can_be_shown(content: bytes) -> None:
    for text in (preview(content), as_text(content), as_hex(content)):
        assert isinstance(text, str)
    parsed_json = as_json(content)
    if parsed_json is not NOT_JSON:
        assert as_tree(parsed_json) is not None


def test_numbers_keep_their_digits() -> None:
    (node,) = as_tree(as_json(b'{"id": 12345678901234567890, "p": 1.10}'))[:1]
    assert node["label"] == "id: 12345678901234567890"
    assert as_tree(as_json(b'{"p": 1.10}'))[0]["label"] == "p: 1.10"


def test_a_huge_tree_is_cut_and_deep_ones_are_text() -> None:
    nodes = as_tree(as_json(json.dumps(list(range(5000))).encode()))
    assert nodes[-1]["label"] == "… more" and len(nodes) < 2_100
    assert as_json(b"[" * 100_000) is NOT_JSON
    assert as_text(b"[" * 10).startswith("[")


def test_hex_has_offsets_and_letters() -> None:
    assert as_hex(b"AB\x00" + b"z" * 14).splitlines() == [
        "00000000  41 42 00 7a 7a 7a 7a 7a 7a 7a 7a 7a 7a 7a 7a 7a  AB.zzzzzzzzzzzzz",
        "00000010  7a                                               z",
    ]


def test_masked_fields_are_gone_from_the_bytes() -> None:
    masking = Masking(["Email", "card"])
    hidden = masking.apply(
        record(b'{"email":"a@b","deep":[{"card":{"n":1}}],"id":1}', b'{"EMAIL": 1}', (("card", b"1"), ("x", b"2")))
    )
    assert json.loads(hidden.value or b"") == {"email": MASK, "deep": [{"card": MASK}], "id": 1}
    assert hidden.key is not None and b"1" not in hidden.key
    assert hidden.headers == (("card", MASK.encode()), ("x", b"2"))
    assert masking.apply(record(b"plain text")).value == b"plain text"
    assert masking.apply(record(None)).value is None


@pytest.mark.parametrize(
    "content", [b"\x00\x00\x00\x00\x01\x06a@b", b'{"email": "a@b"', b"[" * 2000, b'{"email":"a@b"}' + b" " * (1 << 20)]
)
def test_what_cannot_be_looked_into_is_hidden_as_a_whole(content: bytes) -> None:
    shown = Masking(["email"]).apply(record(content)).value
    assert shown is not None and b"a@b" not in shown and b"[[" not in shown


RECORDS = [
    record(b'{"a": "x,\\n\\"y\\""}', b"k", (("h", b"1"), ("n", None))),
    record(None, b"gone"),
    record(b"\xff\xfe", b"\x00\xff"),
    record('ünï, "quoted"\nline'.encode()),
]


@pytest.mark.parametrize("form", ["JSONL", "CSV"])
def test_what_is_exported_can_be_imported(form: str) -> None:
    back = parsed(f"records.{form.lower()}", record_file(RECORDS, form), keep_partitions=True)
    assert [(one.key, one.value, one.headers) for one in back] == [
        (one.key, one.value, list(one.headers)) for one in RECORDS
    ]
    assert [(one.partition, one.timestamp_ms) for one in back] == [(1, 1_700_000_000_000)] * 4
    assert parsed("f.jsonl", record_file(RECORDS, "JSONL"), keep_partitions=False)[0].partition is None


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.jsonl", b'{"value": "x"}\nnonsense\n', "Line 2 is not JSON"),
        ("a.jsonl", b"", "There is no record"),
        ("a.jsonl", b'{"valeu": 1}', "has no field 'value'"),
        ("a.csv", b"a,b\n1,2\n", "has no field 'value'"),
        ("a.csv", b"value,partition\nx,one\n", "partition must be a whole number"),
        ("a.csv", b'value\n"open\n', "is not CSV"),
        ("a.csv", b"value\n\xff\n", "not UTF-8"),
        ("a.csv", b"value,headers\nx,{\n", "headers are not JSON"),
    ],
)
def test_a_file_that_is_wrong_says_where(name: str, content: bytes, said: str) -> None:
    with pytest.raises(Problem, match=said):
        parsed(name, content, keep_partitions=False)


def test_tables_as_files() -> None:
    rows = [{"a": 1, "b": "x,y", "c": None}, {"a": 2, "b": [1], "c": "z"}]
    assert table_file(["a", "b", "c"], rows, "CSV") == b'a,b,c\n1,"x,y",\n2,[1],z\n'
    assert table_file(["a"], rows, "JSONL") == b'{"a":1}\n{"a":2}\n'
