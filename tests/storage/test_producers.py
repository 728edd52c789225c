"""Idempotent producers: duplicates, gaps, epochs, and what survives a restart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headrace.storage import producer_snapshot
from headrace.storage.config import LogConfig
from headrace.storage.errors import AppendError
from headrace.storage.log import Log
from headrace.storage.producer_entry import BatchMetadata, ProducerEntry
from headrace.wire.batch import Record, encode_batch
from headrace.wire.errors import ErrorCode
from tests.storage.builders import NOW, append, batch, crash, idempotent, new_log

MAX_SEQUENCE = 2**31 - 1


@pytest.fixture
def log(tmp_path: Path) -> Any:
    opened = new_log(tmp_path / "t-0")
    yield opened
    opened.drop()


def refused(log: Log, data: memoryview, **options: Any) -> ErrorCode:
    before = (log.log_end_offset, dict(log.producers.entries))
    with pytest.raises(AppendError) as caught:
        append(log, data, **options)
    assert before == (log.log_end_offset, log.producers.entries)
    return caught.value.error_code


def test_the_last_five_batches_are_answered_again(log: Log) -> None:
    for number in range(7):
        append(log, idempotent(number * 2, 2, timestamp=NOW + number))
    for number in range(2, 7):
        again = append(log, idempotent(number * 2, 2, timestamp=NOW + number))
        assert again.duplicate
        assert (again.first_offset, again.last_offset) == (number * 2, number * 2 + 1)
        assert again.append_time_ms == NOW + number + 1
    assert log.log_end_offset == 14
    assert refused(log, idempotent(2, 2)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert refused(log, idempotent(12, 1)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_gaps_are_refused(log: Log) -> None:
    append(log, idempotent(0, 3))
    for sequence in (0, 2, 4, 100):
        assert refused(log, idempotent(sequence, 1)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    append(log, idempotent(3, 1))


def test_an_unknown_producer_may_begin_anywhere(log: Log) -> None:
    # Its earlier records may have been deleted; Kafka has not answered UNKNOWN_PRODUCER_ID since 2.5.
    appended = append(log, idempotent(1234))
    assert appended.first_offset == 0 and not appended.duplicate


def test_sequences_wrap_to_zero(log: Log) -> None:
    append(log, idempotent(MAX_SEQUENCE - 1, 4))
    assert append(log, idempotent(MAX_SEQUENCE - 1, 4)).duplicate
    assert refused(log, idempotent(MAX_SEQUENCE)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    append(log, idempotent(2))
    append(log, idempotent(MAX_SEQUENCE, producer_id=8))
    append(log, idempotent(0, producer_id=8))


def test_epochs(log: Log) -> None:
    append(log, idempotent(0, epoch=3))
    assert refused(log, idempotent(1, epoch=2)) == ErrorCode.INVALID_PRODUCER_EPOCH
    assert refused(log, idempotent(1, epoch=4)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    append(log, idempotent(0, epoch=4))
    assert refused(log, idempotent(1, epoch=3)) == ErrorCode.INVALID_PRODUCER_EPOCH
    assert not append(log, idempotent(1, epoch=4)).duplicate


def test_a_duplicate_of_a_batch_still_being_written_waits_for_it(log: Log) -> None:
    first = log.reserve(idempotent(0, 2), leader_epoch=0, now_ms=NOW)
    again = log.reserve(idempotent(0, 2), leader_epoch=0, now_ms=NOW)
    following = log.reserve(idempotent(2, 1), leader_epoch=0, now_ms=NOW)
    for reservation in (first, again, following):
        reservation.write()
    assert [log.commit(r).first_offset for r in (first, again, following)] == [0, 0, 2]
    assert log.log_end_offset == 3


def test_abandoned_batches_may_come_again(log: Log) -> None:
    append(log, idempotent(0, 2))
    for sequence in (2, 3, 4):
        log.reserve(idempotent(sequence), leader_epoch=0, now_ms=NOW)
    log.abandon()
    assert log.producers.entries[7].last_sequence == 1
    assert append(log, idempotent(2)).first_offset == 2


def test_coordinators_are_checked_for_epochs_only(log: Log) -> None:
    append(log, idempotent(-1, epoch=5), origin="coordinator")
    append(log, idempotent(-1, epoch=5), origin="coordinator")
    assert refused(log, idempotent(-1, epoch=4), origin="coordinator") == ErrorCode.INVALID_PRODUCER_EPOCH


def test_open_transactions_are_tracked(log: Log) -> None:
    append(log, batch(2))
    append(log, idempotent(0, 2, is_transactional=True))
    append(log, idempotent(2, 1, is_transactional=True))
    append(log, idempotent(0, 1, producer_id=9, is_transactional=True))
    assert log.last_stable_offset == 2
    assert refused(log, idempotent(3)) == ErrorCode.INVALID_TXN_STATE
    commit = encode_batch(
        [Record(timestamp=NOW, key=b"\0\0\0\1", value=b"\0\0\0\0\0\5")],
        producer_id=7, producer_epoch=0, is_transactional=True, is_control=True,
    )  # fmt: skip
    append(log, memoryview(commit), origin="coordinator")
    assert log.last_stable_offset == 5
    assert log.producers.entries[7].coordinator_epoch == 5
    path = Path(log.folder.path)
    crash(log)
    again = new_log(path)
    assert again.producers.entries == log.producers.entries
    assert list(again.producers.transactions) == [(9, 5)]
    again.drop()


def test_idle_producers_are_forgotten(tmp_path: Path) -> None:
    log = new_log(tmp_path / "t-0", LogConfig(producer_id_expiration_ms=1000, retention_ms=-1))
    append(log, idempotent(0, producer_id=1, timestamp=NOW))
    append(log, idempotent(0, producer_id=2, timestamp=NOW + 500))
    append(log, idempotent(0, producer_id=3, timestamp=NOW, is_transactional=True))
    log.apply_retention(NOW + 1000)
    assert set(log.producers.entries) == {2, 3}
    log.close()
    assert set(new_log(tmp_path / "t-0", log.config, clean=True, now_ms=NOW + 1600).producers.entries) == {3}


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("segment_bytes", [1 << 20, 500])
def test_state_survives_a_restart(tmp_path: Path, clean: bool, segment_bytes: int) -> None:
    config = LogConfig(segment_bytes=segment_bytes)
    log = new_log(tmp_path / "t-0", config)
    for number in range(20):
        append(log, idempotent(number, producer_id=number % 2, epoch=number % 2) if number < 2 else batch())
        append(log, idempotent(number * 2, 2, producer_id=50))
    if clean:
        log.close()
    else:
        crash(log)
    again = new_log(tmp_path / "t-0", config, clean=clean)
    assert append(again, idempotent(38, 2, producer_id=50)).duplicate
    assert refused(again, idempotent(41, 1, producer_id=50)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert refused(again, idempotent(2, producer_id=1, epoch=0)) == ErrorCode.INVALID_PRODUCER_EPOCH
    append(again, idempotent(40, 1, producer_id=50))
    again.close()


def test_truncation_takes_producer_state_back(tmp_path: Path) -> None:
    log = new_log(tmp_path / "t-0", LogConfig(segment_bytes=500))
    for number in range(40):
        append(log, idempotent(number))
    assert log.truncate_to(13, NOW)
    assert log.producers.entries[7].last_sequence == 12
    append(log, idempotent(13))
    log.close()


def test_snapshot_format() -> None:
    entries = {
        1: ProducerEntry(3, (BatchMetadata(10, 110, 4, NOW),), NOW, 2, 100),
        2: ProducerEntry(0, (), NOW, -1, -1),
    }
    data = producer_snapshot.encode(entries)
    assert producer_snapshot.decode(data) == entries
    assert len(data) == 10 + 2 * 46
    for position in range(len(data)):
        damaged = bytearray(data)
        damaged[position] ^= 0x40
        with pytest.raises(producer_snapshot.CorruptSnapshot):
            producer_snapshot.decode(bytes(damaged))
    for length in range(len(data)):
        with pytest.raises(producer_snapshot.CorruptSnapshot):
            producer_snapshot.decode(data[:length])
