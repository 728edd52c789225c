"""Bytes that sort as values do."""

from __future__ import annotations

import struct
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.tables import DOUBLE, SIGNED, by_value
from headrace.tables.orders import ordered

numbers = st.one_of(
    st.integers(-(2**100), 2**100), st.integers(-(2**64), 2**64), st.integers(-5, 5), st.floats(allow_nan=False)
)
scalars: dict[str, st.SearchStrategy[Any]] = {
    "numbers": numbers,
    "text": st.text(),
    "bytes": st.binary(),
    "booleans": st.booleans(),
    "decimals": st.one_of(st.decimals(allow_nan=False, allow_infinity=False), st.decimals(-9, 9, places=2)),
    "structs": st.builds(lambda b, a: {"b": b, "a": a}, st.text(max_size=2), st.integers(-99, 99)),
    "tuples": st.tuples(st.text(max_size=3), numbers),
    "nested": st.lists(st.lists(st.binary(max_size=2), max_size=3), max_size=3),
}


@pytest.mark.parametrize("kind", scalars)
def test_values_and_their_bytes_compare_alike(kind: str) -> None:
    def rank(value: Any) -> Any:
        return tuple(value.values()) if kind == "structs" else value

    @given(scalars[kind], scalars[kind])
    def check(one: Any, other: Any) -> None:
        assert (rank(one) < rank(other)) == (ordered(one) < ordered(other))
        assert (one == other) == (ordered(one) == ordered(other))

    check()


def test_kinds_follow_one_another() -> None:
    values = [
        None,
        False,
        True,
        float("-inf"),
        -1.5,
        0,
        1,
        float("inf"),
        Decimal(-1),
        Decimal(0),
        Decimal("0.1"),
        "",
        "a",
        b"",
        b"a",
        [],
        [None],
        [1],
        {},
        {"a": 1},
    ]
    assert sorted(values, key=ordered) == values


@given(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**63), 2**63 - 1))
def test_kafkas_longs_sort_with_their_sign(one: int, other: int) -> None:
    encode = SIGNED.encode
    assert (one < other) == (encode(struct.pack(">q", one)) < encode(struct.pack(">q", other)))


@given(st.floats(allow_nan=False), st.floats(allow_nan=False))
def test_kafkas_doubles_sort_with_their_sign(one: float, other: float) -> None:
    if one != other:
        assert (one < other) == (DOUBLE.encode(struct.pack(">d", one)) < DOUBLE.encode(struct.pack(">d", other)))


def test_what_has_no_order_says_so() -> None:
    with pytest.raises(TypeError, match="no order for set"):
        ordered(set())
    with pytest.raises(ValueError, match="NaN has no order"):
        ordered(Decimal("NaN"))
    with pytest.raises(ValueError, match="this large"):
        ordered(10**400)
    deep: list[Any] = []
    for _ in range(50):
        deep = [deep]
    with pytest.raises(ValueError, match="deeper than"):
        ordered(deep)
    with pytest.raises(ValueError, match="4 or 8 bytes"):
        SIGNED.encode(b"abc")


def test_by_value_decodes_first() -> None:
    order = by_value("text", lambda key: int(key))
    assert order.name == "by_value:text"
    assert sorted([b"10", b"9", b"-3"], key=order.encode) == [b"-3", b"9", b"10"]
