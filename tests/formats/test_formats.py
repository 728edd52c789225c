"""Formats in Python: what is written can be read, and what cannot be read says why."""

from __future__ import annotations

import decimal
import math
import struct as packing
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.formats import FORMATS, FormatError, check_serdes
from headrace.plan.plan import Plan, PlanError
from headrace.plan.serdes import KeyWindow, Option, Serde
from headrace.plan.steps import StreamSource
from headrace.plan.types import BIGINT, BOOLEAN, BYTES, DOUBLE, INTEGER, STRING, TIMESTAMP, Array, Decimal, Map, struct
from tests.formats.strategies import examples

VALUE = Serde("json", struct(i=INTEGER, s=STRING, d=DOUBLE, t=TIMESTAMP, e=Decimal(5, 2), x=BYTES, a=Array(INTEGER)))


@settings(max_examples=200, deadline=None)
@given(examples)
def test_what_is_written_can_be_read(example: tuple[Serde, list[Any]]) -> None:
    serde, rows = example
    format_ = FORMATS[serde.format]
    format_.check(serde, is_key=True)
    for row in rows:
        data = format_.encode(row, serde)
        if data is None:
            assert row is None or all(row[name] is None for name in serde.columns.names)
        else:
            assert format_.decode(data, serde) == row


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from([VALUE, Serde("delimited", struct(i=INTEGER, s=STRING)), Serde("kafka", struct(k=BIGINT))]),
    st.binary(max_size=40),
)
def test_any_bytes_are_a_row_or_a_format_error(serde: Serde, data: bytes) -> None:
    try:
        row = FORMATS[serde.format].decode(data, serde)
    except FormatError:
        return
    assert row is not None and tuple(row) == serde.columns.names


@pytest.mark.parametrize(
    ("data", "row"),
    [
        (b'{"i":1,"unknown":{"deep":[1]}}', {"i": 1}),
        (b'{"s":5}', {"s": "5"}),
        (b'{"s":{"a":[1,2.5]}}', {"s": '{"a":[1,2.5]}'}),
        (b'{"e":1.005}', {"e": decimal.Decimal("1.01")}),
        (b'{"e":"2.5"}', {"e": decimal.Decimal("2.50")}),
        (b'{"d":1e999}', {"d": math.inf}),
        (b'{"d":"NaN"}', {"d": "NaN"}),
        (b' {"i":1} trailing', {"i": 1}),
        (b'{"i":1,"i":2}', {"i": 2}),
        (b'{"x":"AQI="}', {"x": b"\1\2"}),
    ],
)
def test_json_is_read(data: bytes, row: dict[str, Any]) -> None:
    found = FORMATS["json"].decode(data, VALUE)
    assert found is not None
    given = {
        name: "NaN" if isinstance(value, float) and math.isnan(value) else value
        for name, value in found.items()
        if value is not None
    }
    assert given == row


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty"),
        (b"{", "no JSON"),
        (b"[]", "expected a JSON object"),
        (b"null", "expected a JSON object"),
        (b'{"i":1.5}', "i is no INTEGER: 1.5"),
        (b'{"i":3000000000}', "i is out of the range of INTEGER"),
        (b'{"i":true}', "i is no INTEGER: true"),
        (b'{"t":1e3}', "t is no TIMESTAMP"),
        (b'{"e":1000}', "e is out of the range of DECIMAL"),
        (b'{"x":"?"}', "x is no BYTES"),
        (b'{"a":[1,"b"]}', "a is no INTEGER"),
        (b"[" * 100_000, "nested too deep"),
        (b'{"i":' + b"9" * 6000 + b"}", "no JSON"),
    ],
)
def test_json_that_cannot_be_read_says_why(data: bytes, reason: str) -> None:
    with pytest.raises(FormatError, match=reason):
        FORMATS["json"].decode(data, VALUE)


def test_a_tombstone_is_no_row() -> None:
    for serde in (
        VALUE,
        Serde("kafka", struct(k=STRING)),
        Serde("delimited", struct(k=STRING)),
        Serde("none", struct()),
    ):
        assert FORMATS[serde.format].decode(None, serde) is None
        assert FORMATS[serde.format].encode(None, serde) is None


def test_kafkas_bytes() -> None:
    def written(type_: Any, value: Any) -> bytes | None:
        return FORMATS["kafka"].encode({"k": value}, Serde("kafka", struct(k=type_)))

    assert written(INTEGER, -2) == b"\xff\xff\xff\xfe"
    assert written(BIGINT, 1) == b"\0\0\0\0\0\0\0\1"
    assert written(DOUBLE, 1.5) == packing.pack(">d", 1.5)
    assert written(BOOLEAN, True) == b"\1"
    assert written(STRING, "é") == "é".encode()
    with pytest.raises(FormatError, match="k is a INTEGER"):
        written(INTEGER, 1 << 40)
    with pytest.raises(FormatError, match="k is a STRING"):
        written(STRING, 5)


def test_windowed_keys_have_kafka_streams_form() -> None:
    time = Serde("kafka", struct(k=STRING), window=KeyWindow.TIME, window_size_ms=10)
    session = Serde("kafka", struct(k=STRING), window=KeyWindow.SESSION)
    row = {"k": "a", "window_start": 5, "window_end": 15}
    assert FORMATS["kafka"].encode(row, time) == b"a" + packing.pack(">q", 5)
    assert FORMATS["kafka"].encode(row, session) == b"a" + packing.pack(">qq", 15, 5)
    with pytest.raises(FormatError, match="ends with 8 bytes"):
        FORMATS["kafka"].decode(b"abc", time)
    with pytest.raises(FormatError, match="window_start"):
        FORMATS["kafka"].encode({"k": "a"}, time)


@pytest.mark.parametrize(
    ("serde", "reason"),
    [
        (Serde("jsn", struct(a=STRING)), "did you mean json"),
        (Serde("json", struct()), "at least one column"),
        (Serde("json", struct(a=Map(INTEGER, STRING))), "STRING keys"),
        (Serde("json", struct(a=STRING, b=STRING), wrapped=False), "not wrapped is one column"),
        (Serde("json", struct(a=STRING), (Option("delimiter", ","),)), "no option 'delimiter'"),
        (Serde("kafka", struct(a=STRING, b=STRING)), "holds one column"),
        (Serde("kafka", struct(a=TIMESTAMP)), "use json"),
        (Serde("delimited", struct(a=Array(STRING))), "use json"),
        (Serde("delimited", struct(a=STRING), (Option("delimiter", '"'),)), "no delimiter"),
        (Serde("none", struct(a=STRING)), "no columns"),
    ],
)
def test_a_serde_that_cannot_be(serde: Serde, reason: str) -> None:
    with pytest.raises(FormatError, match=reason):
        FORMATS.check(serde, is_key=False)
    plan = Plan("p", (StreamSource("s", "t", Serde("none", struct()), serde),))
    with pytest.raises(PlanError, match="step 's': the value: .*" + reason):
        check_serdes(plan)
