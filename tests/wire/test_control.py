"""Transaction markers: the bytes Kafka writes, and every other form in which one may come."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.wire.batch import Record, check_crc, encode_batch, read_header
from headrace.wire.control import MARKER_SIZE, Marker, encode_marker, read_marker
from headrace.wire.errors import WireError
from headrace.wire.records.control import (
    ControlType,
    EndTxnMarker,
    LeaderChangeMessage,
    SnapshotFooterRecord,
    encode_control,
)

INT64, INT32, INT16 = (st.integers(0, 2**bits - 1) for bits in (63, 31, 15))


def control_batch(kind: ControlType, message: object, **options: object) -> bytearray:
    key, value = encode_control(kind, message)  # type: ignore[arg-type]
    record = Record(timestamp=99, key=key, value=value)
    return encode_batch([record], is_control=True, is_transactional=True, **options)  # type: ignore[arg-type]


@settings(max_examples=100)
@given(INT64, INT16, st.booleans(), INT32, INT64)
def test_a_marker_is_an_ordinary_batch(producer_id: int, epoch: int, commit: bool, coordinator: int, now: int) -> None:
    marker = encode_marker(producer_id, epoch, commit, coordinator, now)
    key, value = encode_control(
        ControlType.COMMIT if commit else ControlType.ABORT, EndTxnMarker(coordinator_epoch=coordinator)
    )
    assert marker == encode_batch(
        [Record(timestamp=now, key=key, value=value)],
        producer_id=producer_id, producer_epoch=epoch, is_transactional=True, is_control=True,
    )  # fmt: skip
    assert len(marker) == MARKER_SIZE and check_crc(marker)
    assert read_marker(marker) == Marker(commit, coordinator)


@pytest.mark.parametrize("codec", range(5))
@pytest.mark.parametrize("kind", [ControlType.ABORT, ControlType.COMMIT])
def test_a_marker_in_another_form(kind: ControlType, codec: int) -> None:
    expected = Marker(kind is ControlType.COMMIT, 7)
    message = EndTxnMarker(coordinator_epoch=7)
    assert read_marker(control_batch(kind, message, codec=codec, producer_id=1)) == expected
    # After compaction: counted from a delete horizon.
    assert read_marker(control_batch(kind, message, producer_id=1, delete_horizon_ms=50_000)) == expected
    # From a newer broker: a longer value.
    key, value = encode_control(kind, message)
    newer = Record(key=key, value=b"\0\1" + value[2:] + b"new")
    assert read_marker(encode_batch([newer], is_control=True, producer_id=1)) == expected


def test_an_emptied_marker_says_nothing() -> None:
    empty = encode_batch([], is_control=True, is_transactional=True, producer_id=1, last_offset_delta=0)
    assert read_header(empty).record_count == 0
    assert read_marker(empty) is None


@pytest.mark.parametrize(
    ("kind", "message"),
    [(ControlType.LEADER_CHANGE, LeaderChangeMessage()), (ControlType.SNAPSHOT_FOOTER, SnapshotFooterRecord())],
)
def test_other_control_records_are_no_markers(kind: ControlType, message: object) -> None:
    with pytest.raises(WireError):
        read_marker(control_batch(kind, message, producer_id=1))


def test_no_bytes_are_taken_for_a_marker_by_mistake() -> None:
    marker = encode_marker(1, 0, True, 5, 1)
    for position in range(61, MARKER_SIZE):
        damaged = bytearray(marker)
        damaged[position] ^= 0x55
        # Attributes, time, versions and the coordinator's epoch may be anything.
        if position in (62, 63, 66, 67, 71, 72, 73, 74, 75, 76):
            continue
        with pytest.raises(WireError):
            read_marker(damaged)
