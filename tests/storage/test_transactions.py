"""Transactions in a log: when a marker is taken, what readers of committed records may see, and what is on disk."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest

from headrace.storage import transaction_index
from headrace.storage.config import LogConfig
from headrace.storage.errors import AppendError, OffsetOutOfRange
from headrace.storage.log import Log
from headrace.storage.transaction_index import AbortedTransaction, CorruptTransactionIndex, TransactionIndex
from headrace.wire.batch import encode_batch, write_crc
from headrace.wire.control import encode_marker
from headrace.wire.errors import ErrorCode
from tests.storage.builders import NOW, UnsyncedFs, append, batch, crash, headers, idempotent, new_log, read_all

MAX_EPOCH = 2**15 - 1


@pytest.fixture
def log(tmp_path: Path) -> Any:
    opened = new_log(tmp_path / "t-0")
    yield opened
    opened.drop()


def write(log: Log, producer: int = 1, count: int = 1, epoch: int = 0, sequence: int | None = None) -> Any:
    if sequence is None:
        entry = log.producers.entries.get(producer)
        sequence = entry.last_sequence + 1 if entry is not None and entry.epoch == epoch else 0
    return append(log, idempotent(sequence, count, producer_id=producer, epoch=epoch, is_transactional=True))


def end(
    log: Log, producer: int = 1, commit: bool = True, epoch: int = 0, coordinator: int = 0, version: int = 1
) -> Any:
    marker = memoryview(encode_marker(producer, epoch, commit, coordinator, NOW))
    return append(log, marker, origin="coordinator", transaction_version=version)


def refusal(log: Log, **options: Any) -> ErrorCode:
    before = log.log_end_offset, dict(log.producers.entries), log.last_stable_offset
    with pytest.raises(AppendError) as caught:
        end(log, **options)
    assert before == (log.log_end_offset, log.producers.entries, log.last_stable_offset)
    return caught.value.error_code


# Which markers are taken.


@pytest.mark.parametrize("version", [0, 1, 2])
def test_markers_of_an_older_epoch_are_refused(log: Log, version: int) -> None:
    write(log, epoch=3)
    assert refusal(log, epoch=2, version=version) == ErrorCode.INVALID_PRODUCER_EPOCH
    end(log, epoch=4, version=version)
    assert refusal(log, epoch=3, version=version) == ErrorCode.INVALID_PRODUCER_EPOCH


def test_version_1_ends_a_transaction_with_the_epoch_of_its_records(log: Log) -> None:
    write(log, epoch=3)
    end(log, epoch=3, version=1)
    # A late repetition cannot be told from the end of a transaction without records.
    end(log, epoch=3, version=1)
    assert log.last_stable_offset == log.log_end_offset == 3


def test_version_2_wants_a_newer_epoch_than_that_of_the_records(log: Log) -> None:
    write(log, epoch=3)
    assert refusal(log, epoch=3, version=2) == ErrorCode.INVALID_PRODUCER_EPOCH
    end(log, epoch=4, version=2)
    # The coordinator repeats it after a crash. No harm as long as the next transaction has not begun.
    end(log, epoch=4, version=2)
    write(log, epoch=4)
    assert refusal(log, epoch=4, version=2) == ErrorCode.INVALID_PRODUCER_EPOCH
    assert log.last_stable_offset == 3
    end(log, epoch=5, version=2)


def test_version_2_takes_the_largest_epoch_again(log: Log) -> None:
    write(log, epoch=MAX_EPOCH)
    end(log, epoch=MAX_EPOCH, version=2)
    assert log.last_stable_offset == 2


def test_the_next_transaction_of_version_2_begins_with_sequence_0(log: Log) -> None:
    write(log, count=5, epoch=0)
    end(log, epoch=1, version=2)
    assert append(log, idempotent(0, producer_id=1, epoch=1, is_transactional=True)).first_offset == 6
    with pytest.raises(AppendError) as caught:
        append(log, idempotent(5, producer_id=1, epoch=0, is_transactional=True))
    assert caught.value.error_code == ErrorCode.INVALID_PRODUCER_EPOCH


def test_markers_of_an_older_coordinator_are_refused(log: Log) -> None:
    write(log)
    end(log, coordinator=5)
    write(log)
    assert refusal(log, coordinator=4) == ErrorCode.TRANSACTION_COORDINATOR_FENCED
    end(log, coordinator=5)
    assert log.producers.entries[1].coordinator_epoch == 5
    # The epoch is asked about first.
    write(log)
    end(log, epoch=2, coordinator=5)
    assert refusal(log, epoch=1, coordinator=4) == ErrorCode.INVALID_PRODUCER_EPOCH


def test_a_marker_without_records_is_written_and_remembered(log: Log) -> None:
    assert end(log, producer=9, commit=False, epoch=2, coordinator=1).first_offset == 0
    entry = log.producers.entries[9]
    assert (entry.epoch, entry.coordinator_epoch, entry.batches, entry.txn_first_offset) == (2, 1, (), -1)
    assert log.aborted_transactions(0, 10) == []
    assert log.last_stable_offset == 1
    with pytest.raises(AppendError):
        write(log, producer=9, epoch=1)


@pytest.mark.parametrize("origin", ["coordinator", "replication"])
def test_a_control_batch_that_is_no_marker_is_refused(log: Log, origin: str) -> None:
    broken = encode_marker(1, 0, True, 0, NOW)
    broken[-12:] = b"\xff" * 12
    write_crc(broken)
    with pytest.raises(AppendError) as caught:
        append(log, memoryview(broken), origin=origin)
    assert caught.value.error_code == ErrorCode.INVALID_RECORD
    assert log.log_end_offset == 0 and not log.producers.entries


def test_clients_write_no_markers(log: Log) -> None:
    with pytest.raises(AppendError) as caught:
        append(log, memoryview(encode_marker(1, 0, True, 0, NOW)))
    assert caught.value.error_code == ErrorCode.INVALID_RECORD


def test_followers_take_what_the_leader_took(tmp_path: Path, log: Log) -> None:
    write(log, epoch=0)
    write(log, producer=2)
    end(log, epoch=1, version=2, commit=False)
    end(log, epoch=1, version=2, commit=False, coordinator=3)
    follower = new_log(tmp_path / "f-0")
    data = read_all(log)
    position = 0
    for header in headers(data):
        append(follower, memoryview(bytearray(data[position : position + header.size])), origin="replication")
        position += header.size
    assert follower.producers.entries == log.producers.entries
    assert follower.last_stable_offset == log.last_stable_offset == 1
    assert follower.aborted_transactions(0, 10) == log.aborted_transactions(0, 10) == [(1, 0)]
    emptied = encode_batch([], base_offset=4, is_control=True, producer_id=2, last_offset_delta=0)
    append(follower, memoryview(emptied), origin="replication")
    assert follower.last_stable_offset == 1
    follower.drop()


def test_offsets_in_transactions_open_one(log: Log) -> None:
    """What the group coordinator writes has no sequence numbers."""
    options = {"producer_id": 5, "producer_epoch": 2, "is_transactional": True}
    append(log, batch(**options), origin="coordinator")
    append(log, batch(**options), origin="coordinator")
    assert log.last_stable_offset == 0
    end(log, producer=5, epoch=3, commit=False, version=2)
    assert log.aborted_transactions(0, 3) == [(5, 0)]
    with pytest.raises(AppendError) as caught:
        append(log, batch(**options), origin="coordinator")
    assert caught.value.error_code == ErrorCode.INVALID_PRODUCER_EPOCH


def test_a_marker_under_log_append_time(tmp_path: Path) -> None:
    log = new_log(tmp_path / "t-0", LogConfig(message_timestamp_type="LogAppendTime"))
    append(log, idempotent(0, is_transactional=True), now_ms=NOW + 5)
    append(log, memoryview(encode_marker(7, 0, False, 0, 1)), origin="coordinator", now_ms=NOW + 9)
    assert log.producers.entries[7].last_timestamp == NOW + 9
    entries = log.producers.entries
    crash(log)
    again = new_log(tmp_path / "t-0", log.config)
    assert again.producers.entries == entries
    again.drop()


# The last stable offset.


def test_only_what_is_committed_to_the_log_moves_the_last_stable_offset(log: Log) -> None:
    append(log, batch(2))
    first = log.reserve(idempotent(0, 2, is_transactional=True), leader_epoch=0, now_ms=NOW)
    marker = log.reserve(
        memoryview(encode_marker(7, 0, False, 0, NOW)), leader_epoch=0, now_ms=NOW, origin="coordinator"
    )
    again = log.reserve(idempotent(2, 1, is_transactional=True), leader_epoch=0, now_ms=NOW)
    for reservation in (first, marker, again):
        reservation.write()
    seen = [log.last_stable_offset]
    for reservation in (first, marker, again):
        log.commit(reservation)
        seen.append(log.last_stable_offset)
    # Unstable from the first commit on, stable with the marker's, and not before; then the next transaction.
    assert seen == [2, 2, 5, 5]
    assert log.log_end_offset == 6
    assert log.aborted_transactions(0, 6) == [(7, 2)]


def test_a_marker_that_could_not_be_written_has_not_happened(log: Log) -> None:
    write(log)
    log.reserve(memoryview(encode_marker(1, 0, False, 3, NOW)), leader_epoch=0, now_ms=NOW, origin="coordinator")
    log.abandon()
    assert log.last_stable_offset == 0
    assert log.producers.has_open_transaction(1, 0) and not log.producers.has_open_transaction(1, 1)
    assert log.aborted_transactions(0, 10) == []
    end(log, commit=True)
    assert log.last_stable_offset == 2 and log.aborted_transactions(0, 10) == []


def test_the_last_stable_offset_is_never_below_the_log_start(log: Log) -> None:
    write(log)
    append(log, batch(5))
    log.advance_log_start(3)
    assert log.last_stable_offset == 3
    end(log, commit=False)
    assert log.last_stable_offset == 7


def test_an_expired_producer_can_be_taken_back(tmp_path: Path) -> None:
    """Its timestamps are the client's: they may be older than the time after which producers are forgotten."""
    log = new_log(tmp_path / "t-0", LogConfig(producer_id_expiration_ms=1000))
    log.reserve(idempotent(0, timestamp=NOW - 5000), leader_epoch=0, now_ms=NOW)
    log.producers.expire(NOW, 1000)
    log.abandon()
    assert not log.producers.entries
    log.drop()


# Which aborted transactions readers are told.


def test_aborted_transactions_of_a_range(log: Log) -> None:
    write(log, 1)  # 0
    write(log, 2)  # 1
    end(log, 1, commit=False)  # 2, stable up to 1
    append(log, batch())  # 3
    end(log, 2, commit=False)  # 4, stable up to 5
    write(log, 3)  # 5
    end(log, 3, commit=True)  # 6
    write(log, 4)  # 7
    end(log, 4, commit=False)  # 8
    assert log.aborted_transactions(0, 9) == [(1, 0), (2, 1), (4, 7)]
    assert log.aborted_transactions(0, 1) == [(1, 0)]
    assert log.aborted_transactions(0, 2) == [(1, 0), (2, 1)]
    assert log.aborted_transactions(3, 4) == [(2, 1)]
    assert log.aborted_transactions(4, 5) == [(2, 1)]
    assert log.aborted_transactions(5, 7) == []
    assert log.aborted_transactions(8, 100) == [(4, 7)]
    assert log.aborted_transactions(9, 100) == []


@pytest.mark.parametrize("restart", ["none", "clean", "crash"])
def test_a_transaction_over_many_segments(tmp_path: Path, restart: str) -> None:
    config = LogConfig(segment_bytes=500, index_interval_bytes=100)
    log = new_log(tmp_path / "t-0", config)
    for number in range(30):
        write(log, 1)
        write(log, 2)
        end(log, 2, commit=number % 3 != 0)
    end(log, 1, commit=False)
    assert len(log.segments) > 5
    expected = [(2, number * 3 + 1) for number in range(0, 30, 3)] + [(1, 0)]
    if restart == "clean":
        log.close()
        log = new_log(tmp_path / "t-0", config, clean=True)
    elif restart == "crash":
        crash(log)
        log = new_log(tmp_path / "t-0", config)
    # The one that ends last overlaps every range before it.
    assert log.aborted_transactions(0, 91) == expected
    assert log.aborted_transactions(0, 1) == [(1, 0)]
    assert log.aborted_transactions(40, 41) == [(1, 0)]
    assert log.aborted_transactions(45, 50) == [(2, 46), (1, 0)]
    assert log.aborted_transactions(85, 91, nowait=True) == [(1, 0)]
    log.close()


class DeletingFs(UnsyncedFs):
    """Right before an index of aborted transactions is opened, its segment goes."""

    __slots__ = ("log",)

    def open(self, path: str, flags: int, mode: int = 0o644) -> int:
        log: Log | None = getattr(self, "log", None)
        if path.endswith(".txnindex") and log is not None:
            log.advance_log_start(30)
            log.apply_retention(NOW)
        return super().open(path, flags, mode)


def test_a_reader_that_meets_a_deletion_is_told(tmp_path: Path) -> None:
    fs = DeletingFs()
    log = new_log(tmp_path / "t-0", LogConfig(segment_bytes=300), fs=fs)
    for _ in range(20):
        write(log)
        end(log, commit=False)
    fs.log = log
    with pytest.raises(OffsetOutOfRange):
        log.aborted_transactions(0, 10)
    assert log.log_start_offset == 30
    assert log.aborted_transactions(30, 33) == [(1, 30), (1, 32)]
    log.drop()


# On disk.


def test_the_file_is_kafkas() -> None:
    entry = AbortedTransaction(1 << 40, 100, 120, 90)
    data = transaction_index.encode([entry])
    assert data == struct.pack(">hqqqq", 0, 1 << 40, 100, 120, 90) and len(data) == 34
    assert transaction_index.parse(data, 80).entries == [entry]


@pytest.mark.parametrize(
    "data",
    [
        b"\0" * 33,
        struct.pack(">hqqqq", 1, 1, 10, 20, 21),
        struct.pack(">hqqqq", 0, -1, 10, 20, 21),
        struct.pack(">hqqqq", 0, 1, 21, 20, 21),
        struct.pack(">hqqqq", 0, 1, 1, 9, 10),
        struct.pack(">hqqqq", 0, 1, 10, 20, 22),
        struct.pack(">hqqqq", 0, 1, 10, 20, 21) * 2,
        b"\0" * 34,
    ],
)
def test_what_cannot_be_an_index_is_not_taken_for_one(data: bytes) -> None:
    with pytest.raises(CorruptTransactionIndex):
        transaction_index.parse(data, 10)


def test_searching_a_long_index() -> None:
    """A transaction of every third offset, each decided at once."""
    entries = [AbortedTransaction(1, 3 * n, 3 * n + 1, 3 * n + 2) for n in range(500)]
    index = TransactionIndex(entries)
    for first in (0, 1, 2, 700, 1498, 1499, 5000):
        for upper in (first, first + 1, first + 100, 10_000):
            found, complete = index.collect(first, upper)
            assert found == [e for e in entries if e.last_offset >= first and e.first_offset < upper]
            assert complete == any(e.last_offset >= first and e.last_stable_offset >= upper for e in entries)


def test_there_is_no_file_before_the_first_abort(tmp_path: Path) -> None:
    path = tmp_path / "t-0"
    log = new_log(path)
    write(log)
    end(log, commit=True)
    end(log, commit=False)
    log.flush(NOW)
    assert not list(path.glob("*.txnindex"))
    write(log)
    end(log, commit=False)
    log.flush(NOW)
    (index,) = path.glob("*.txnindex")
    assert index.read_bytes() == struct.pack(">hqqqq", 0, 1, 3, 4, 5)
    write(log)
    end(log, commit=False)
    log.close()
    assert index.read_bytes()[34:] == struct.pack(">hqqqq", 0, 1, 5, 6, 7)


@pytest.mark.parametrize("finished", [True, False])
@pytest.mark.parametrize("clean", [True, False])
def test_every_damaged_byte_of_an_index_is_noticed_or_harmless(tmp_path: Path, clean: bool, finished: bool) -> None:
    path = tmp_path / "t-0"
    log = new_log(path)
    for commit in (False, True, False):
        write(log)
        end(log, commit=commit)
    if finished:
        log.roll(NOW)
        append(log)
    log.close()
    (index,) = path.glob("*.txnindex")
    data = index.read_bytes()
    for damaged in (data[:-1], data + b"\0", data + b"\0" * 34, b"\1" + data[1:], data[34:] + data[:34]):
        index.write_bytes(damaged)
        again = new_log(path, clean=clean, recovery_point=log.log_end_offset)
        assert again.aborted_transactions(0, 10) == [(1, 0), (1, 4)]
        again.close()
        assert index.read_bytes() == data
