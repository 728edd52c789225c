"""Whatever bytes come in, a decoder gives a message or a WireError, and takes no more memory than the bytes justify."""

from __future__ import annotations

import random
import tracemalloc

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headrace.wire import frame
from headrace.wire.apis import APIS
from headrace.wire.errors import WireError
from headrace.wire.schema import Message
from headrace.wire.varint import uvarint
from tests.wire import fuzz
from tests.wire.strategies import EVERY_MESSAGE, EVERY_RECORD, name_of, structs

FEW = settings(max_examples=5, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck))
MANY = settings(FEW, max_examples=1000)
EVERYTHING = EVERY_MESSAGE + EVERY_RECORD


def decodes_or_refuses(cls: type[Message], version: int, data: bytes) -> Message | None:
    """The one thing that is promised for any bytes; any other exception fails the test."""
    try:
        return cls.decode(data, version)
    except WireError:
        return None


@pytest.mark.parametrize("case", EVERYTHING, ids=name_of)
def test_cut_or_changed_messages(case: tuple[type[Message], int]) -> None:
    cls, version = case

    @FEW
    @given(structs(cls, version), st.integers(0, 1 << 32))
    def check(message: Message, seed: int) -> None:
        chance = random.Random(seed)
        data = message.encode(version)
        assert cls.decode(data, version) == message
        assert cls.decode(memoryview(bytearray(data)), version) == message
        for end in range(len(data)) if len(data) < 100 else chance.sample(range(len(data)), 60):
            assert decodes_or_refuses(cls, version, data[:end]) is None
        assert decodes_or_refuses(cls, version, data + b"\0") is None
        for _ in range(20):
            changed = bytearray(data or b"\0")
            for _ in range(chance.randint(1, 3)):
                changed[chance.randrange(len(changed))] = chance.choice((0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)))
            decoded = decodes_or_refuses(cls, version, bytes(changed))
            if decoded is not None:
                again = decoded.encode(version)
                assert cls.decode(again, version).encode(version) == again

    check()


@pytest.mark.parametrize("case", EVERYTHING, ids=name_of)
def test_cut_at_every_byte(case: tuple[type[Message], int]) -> None:
    cls, version = case
    data = fuzz.example(cls).encode(version)  # type: ignore[attr-defined]
    for end in range(len(data)):
        assert decodes_or_refuses(cls, version, data[:end]) is None


@MANY
@given(st.sampled_from(EVERYTHING), st.binary(max_size=200))
def test_any_bytes(case: tuple[type[Message], int], data: bytes) -> None:
    decodes_or_refuses(*case, data)


@MANY
@given(
    st.binary(max_size=60)
    | st.tuples(st.sampled_from(sorted(APIS)), st.binary(max_size=40)).map(lambda t: bytes((0, t[0])) + t[1])
)
def test_any_request_header(data: bytes) -> None:
    try:
        header, position = frame.parse_request_header(memoryview(data))
    except WireError:
        return
    assert 0 < position <= len(data)
    assert header.client_id is None or isinstance(header.client_id, str)


@pytest.mark.parametrize("case", EVERYTHING, ids=name_of)
def test_hostile_lengths_cost_no_memory(case: tuple[type[Message], int]) -> None:
    """A length of two billion at every place where there can be one."""
    cls, version = case
    cls.decoder(version)
    lengths = (uvarint(0x7FFFFFFF), b"\x7f\xff\xff\xff", b"\x7f\xff", b"\xff" * 5, b"\x80\x80\x80\x80\x08")
    tracemalloc.start()
    try:
        for length in lengths:
            for before in range(40):
                decodes_or_refuses(cls, version, b"\x01" * before + length)
                decodes_or_refuses(cls, version, bytes(before) + length + bytes(100))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 200_000


@pytest.mark.parametrize("case", EVERY_MESSAGE, ids=name_of)
def test_memory_is_a_small_multiple_of_the_input(case: tuple[type[Message], int]) -> None:
    """Bytes of 1, 2, 3 and so on give the largest structures for their size: many elements with little in each."""
    cls, version = case
    cls.decoder(version)
    size = 4000
    for filler in (b"\0", b"\1", b"\2", b"\x05", b"\0\0\0\1", b"\0\1"):
        for start in (
            b"",
            uvarint(size // 4),
            (size // 20).to_bytes(4, "big"),
            b"\0\0" + (size // 9).to_bytes(4, "big"),
        ):
            data = start + filler * (size // len(filler))
            tracemalloc.start()
            try:
                decodes_or_refuses(cls, version, data)
                peak = tracemalloc.get_traced_memory()[1]
            finally:
                tracemalloc.stop()
            assert peak < 64 * size


def test_unknown_tagged_fields_are_skipped() -> None:
    from headrace.wire.messages.heartbeat import HeartbeatRequest

    message = HeartbeatRequest(group_id="g", generation_id=7, member_id="m")
    data = message.encode(4)
    assert data.endswith(b"\0")
    tagged = data[:-1] + b"\x02\x05\x03abc" + uvarint(300) + b"\0"
    assert HeartbeatRequest.decode(tagged, 4) == message


def test_padded_varints_are_read_and_null_stays_null() -> None:
    from headrace.wire.messages.heartbeat import HeartbeatRequest

    data = HeartbeatRequest(group_id="g").encode(4)
    assert data.startswith(b"\x02g")
    assert HeartbeatRequest.decode(b"\x82\x00g" + data[2:], 4).group_id == "g"
    with pytest.raises(WireError, match="group_id is null"):
        HeartbeatRequest.decode(b"\x80\x00" + data[2:], 4)
