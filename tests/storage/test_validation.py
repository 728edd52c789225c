"""Batches that are not appended, and the error each gets."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest

from headrace.storage.config import LogConfig
from headrace.storage.errors import AppendError
from headrace.storage.log import Log
from headrace.wire.batch import Record, decode_records, encode_batch, read_header, write_crc
from headrace.wire.errors import ErrorCode
from tests.storage.builders import NOW, append, batch, new_log


@pytest.fixture
def log(tmp_path: Path) -> Any:
    opened = new_log(tmp_path / "t-0")
    yield opened
    opened.close()


def refused(log: Log, data: memoryview, **options: Any) -> AppendError:
    before = (log.log_end_offset, log.size, dict(log.producers.entries))
    with pytest.raises(AppendError) as caught:
        append(log, data, **options)
    assert before == (log.log_end_offset, log.size, log.producers.entries)
    return caught.value


def changed(position: int, layout: str, value: int, *, crc: bool = True, **options: Any) -> memoryview:
    data = bytearray(batch(3, **options))
    struct.pack_into(layout, data, position, value)
    if crc:
        write_crc(data)
    return memoryview(data)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (memoryview(bytearray()), ErrorCode.INVALID_RECORD),
        (memoryview(bytearray(30)), ErrorCode.INVALID_RECORD),
        (memoryview(bytearray(batch())[:40]), ErrorCode.INVALID_RECORD),
        (memoryview(bytearray(batch())[:65]), ErrorCode.INVALID_RECORD),
        (memoryview(bytearray(batch()) + bytearray(batch())), ErrorCode.INVALID_RECORD),
        (memoryview(bytearray(batch()) + b"\0"), ErrorCode.INVALID_RECORD),
        (changed(16, ">b", 0, crc=False), ErrorCode.INVALID_RECORD),
        (changed(16, ">b", 1, crc=False), ErrorCode.INVALID_RECORD),
        (changed(16, ">b", 3, crc=False), ErrorCode.CORRUPT_MESSAGE),
        (changed(16, ">b", -1, crc=False), ErrorCode.CORRUPT_MESSAGE),
        (changed(8, ">i", 10, crc=False), ErrorCode.CORRUPT_MESSAGE),
        (changed(17, ">I", 12345, crc=False), ErrorCode.CORRUPT_MESSAGE),
        (changed(70, ">b", 99, crc=False), ErrorCode.CORRUPT_MESSAGE),
        (changed(23, ">i", 1), ErrorCode.INVALID_RECORD),
        (changed(23, ">i", -1), ErrorCode.INVALID_RECORD),
        (changed(57, ">i", 0), ErrorCode.INVALID_RECORD),
        (changed(21, ">h", 5), ErrorCode.UNSUPPORTED_COMPRESSION_TYPE),
        (changed(21, ">h", 0x20), ErrorCode.INVALID_RECORD),
        (changed(21, ">h", 0x10), ErrorCode.INVALID_RECORD),
        (changed(21, ">h", 0x08), ErrorCode.INVALID_TIMESTAMP),
        (changed(53, ">i", -1, producer_id=1, producer_epoch=0, base_sequence=0), ErrorCode.INVALID_RECORD),
        (batch(base_offset=1), ErrorCode.INVALID_RECORD),
    ],
)
def test_header(log: Log, data: memoryview, code: ErrorCode) -> None:
    assert refused(log, data).error_code == code


def test_size(tmp_path: Path) -> None:
    data = batch(10)
    log = new_log(tmp_path / "t-0", LogConfig(max_message_bytes=len(data) - 1))
    assert refused(log, batch(10)).error_code == ErrorCode.MESSAGE_TOO_LARGE
    log.config = LogConfig(max_message_bytes=len(data), segment_bytes=len(data) - 1)
    assert refused(log, batch(10)).error_code == ErrorCode.RECORD_LIST_TOO_LARGE
    log.config = LogConfig(max_message_bytes=len(data), segment_bytes=len(data))
    append(log, batch(10))
    log.close()


def test_timestamps_from_the_future_are_named(log: Log) -> None:
    hour = 3_600_000
    append(log, batch(timestamp=NOW + hour))
    records = [Record(timestamp=NOW), Record(timestamp=NOW + hour + 1), Record(timestamp=NOW + 2 * hour)]
    error = refused(log, memoryview(encode_batch(records)))
    assert error.error_code == ErrorCode.INVALID_TIMESTAMP
    assert [record.batch_index for record in error.record_errors] == [1, 2]


def test_timestamps_from_the_past(tmp_path: Path) -> None:
    log = new_log(tmp_path / "t-0", LogConfig(message_timestamp_before_max_ms=1000))
    append(log, batch(timestamp=NOW - 1000))
    # The header cannot tell: its base timestamp is that of the first record, not of the oldest.
    records = [Record(timestamp=NOW), Record(timestamp=NOW - 1001)]
    error = refused(log, memoryview(encode_batch(records, codec=4)))
    assert error.error_code == ErrorCode.INVALID_TIMESTAMP
    assert [record.batch_index for record in error.record_errors] == [1]
    append(log, memoryview(encode_batch([Record(timestamp=-1)])))
    log.close()


def test_log_append_time_is_set_by_the_broker(tmp_path: Path) -> None:
    log = new_log(tmp_path / "t-0", LogConfig(message_timestamp_type="LogAppendTime"))
    appended = append(log, batch(2, timestamp=5), now_ms=NOW + 7)
    assert appended.append_time_ms == NOW + 7
    data = log.read(0, 1000).data
    assert read_header(data).max_timestamp == NOW + 7
    assert [record.timestamp for record in decode_records(data)] == [NOW + 7] * 2
    assert refused(log, changed(21, ">h", 0x08)).error_code == ErrorCode.INVALID_TIMESTAMP
    log.close()


@pytest.mark.parametrize("codec", range(5))
def test_compacted_topics_want_keys(tmp_path: Path, codec: int) -> None:
    log = new_log(tmp_path / "t-0", LogConfig(cleanup_policy=frozenset({"compact"})))
    append(log, batch(3, codec=codec))
    records = [Record(timestamp=NOW, key=b"k"), Record(timestamp=NOW, value=b"v"), Record(timestamp=NOW)]
    error = refused(log, memoryview(encode_batch(records, codec=codec)))
    assert error.error_code == ErrorCode.INVALID_RECORD
    assert [record.batch_index for record in error.record_errors] == [1, 2]
    # What the broker writes itself is not judged.
    append(log, memoryview(encode_batch(records, codec=codec)), origin="coordinator")
    log.close()


def test_validate_records_finds_what_a_header_hides(tmp_path: Path) -> None:
    data = bytearray(batch(3))
    data[61] = 0x7F
    write_crc(data)
    log = new_log(tmp_path / "t-0")
    append(log, memoryview(bytearray(data)))
    log.config = LogConfig(validate_records=True)
    assert refused(log, memoryview(data)).error_code == ErrorCode.INVALID_RECORD
    log.close()


def test_a_replicated_batch_must_continue_the_log(log: Log) -> None:
    append(log, batch(3))
    assert refused(log, batch(base_offset=2), origin="replication").error_code == ErrorCode.INVALID_RECORD
    damaged = memoryview(bytearray(batch(base_offset=3)))
    damaged[-1] ^= 1
    assert refused(log, damaged, origin="replication").error_code == ErrorCode.CORRUPT_MESSAGE
    appended = append(log, batch(base_offset=5, leader_epoch=8), origin="replication")
    assert (appended.first_offset, log.leader_epochs.latest) == (5, 8)
