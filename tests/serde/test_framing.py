"""The registry's framing, and the place of a Protobuf message in it."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.serde.errors import NotFramed, Undecodable
from headrace.serde.framing import frame, read_indexes, unframe, write_indexes


@given(st.integers(0, 2**32 - 1), st.binary())
def test_a_frame_comes_apart(schema_id: int, payload: bytes) -> None:
    assert unframe(frame(schema_id, payload)) == (schema_id, payload)


@pytest.mark.parametrize("data", [b"", b"\0\0\0\0", b"\1\0\0\0\1x", b'{"a": 1}'])
def test_other_bytes_are_not_framed(data: bytes) -> None:
    with pytest.raises(NotFramed):
        unframe(data)


@given(st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=20), st.binary())
def test_indexes_come_back(indexes: list[int], rest: bytes) -> None:
    assert read_indexes(write_indexes(indexes) + rest) == (indexes, rest)


def test_the_first_message_is_one_byte() -> None:
    assert write_indexes([0]) == b"\0"
    assert write_indexes([1, 0]) == b"\x04\x02\x00"  # as Confluent's documentation has it


@given(st.binary(max_size=12))
def test_any_indexes_are_read_or_refused(data: bytes) -> None:
    with contextlib.suppress(Undecodable):
        read_indexes(data)
