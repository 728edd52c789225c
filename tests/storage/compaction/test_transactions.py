"""Transactions in a compacted log: aborted records go at once, markers once nothing is left of what they end."""

from __future__ import annotations

from pathlib import Path

from headrace.storage.config import LogConfig
from headrace.storage.log import Log
from headrace.wire.batch import BatchHeader, Record, encode_batch
from headrace.wire.control import encode_marker
from tests.storage.builders import NOW, append, crash, headers, new_log, read_all
from tests.storage.compaction.rounds import clean

CONFIG = LogConfig(
    segment_bytes=100_000, index_interval_bytes=100, cleanup_policy=frozenset({"compact"}), delete_retention_ms=10
)


class Transactions:
    """A log with one transactional producer after the other."""

    def __init__(self, path: Path) -> None:
        self.log = new_log(path, CONFIG)
        self.sequences: dict[int, int] = {}

    def put(self, producer_id: int, *keys: bytes) -> None:
        records = [Record(timestamp=NOW, key=key, value=b"v") for key in keys]
        sequence = self.sequences.get(producer_id, 0)
        self.sequences[producer_id] = sequence + len(keys)
        batch = encode_batch(
            records, producer_id=producer_id, producer_epoch=0, base_sequence=sequence, is_transactional=True
        )
        append(self.log, memoryview(batch))

    def end(self, producer_id: int, commit: bool) -> None:
        marker = encode_marker(producer_id, 0, commit, 1, NOW)
        append(self.log, memoryview(marker), origin="coordinator")

    def others(self, *keys: bytes) -> None:
        append(self.log, memoryview(encode_batch([Record(timestamp=NOW, key=key, value=b"w") for key in keys])))


def shape(log: Log) -> list[tuple[int, int, bool]]:
    return [(one.base_offset, one.record_count, one.is_control) for one in headers(read_all(log))]


def markers(log: Log) -> list[BatchHeader]:
    return [one for one in headers(read_all(log)) if one.is_control]


def forget_producers(log: Log) -> None:
    """As after producer.id.expiration.ms: nothing needs to stay for their sake."""
    log.producers.entries.clear()


def test_aborted_records_go_and_do_not_hide_others(tmp_path: Path) -> None:
    written = Transactions(tmp_path)
    log = written.log
    written.others(b"a")
    written.put(1, b"a", b"b")
    written.end(1, commit=False)
    written.others(b"c")
    log.roll(NOW)
    forget_producers(log)
    assert log.aborted_transactions(0, 5) == [(1, 1)]
    done = clean(log, now_ms=NOW)
    # The value of `a` from before the transaction is still the last one.
    assert shape(log) == [(0, 1, False), (3, 1, True), (4, 1, False)]
    assert markers(log)[0].delete_horizon_ms is None
    # Somebody may have read the aborted records and not know yet what became of them.
    assert log.aborted_transactions(0, 5) == [(1, 1)]
    done = clean(log, done.first_dirty_offset, now_ms=NOW)
    assert markers(log)[0].delete_horizon_ms == NOW + 10
    assert log.aborted_transactions(0, 5) == []
    done = clean(log, done.first_dirty_offset, now_ms=NOW + 9)
    assert len(markers(log)) == 1
    clean(log, done.first_dirty_offset, now_ms=NOW + 10)
    assert shape(log) == [(0, 1, False), (4, 1, False)]
    log.close()


def test_a_commit_marker_outlives_its_records(tmp_path: Path) -> None:
    written = Transactions(tmp_path)
    log = written.log
    written.put(1, b"a")
    written.end(1, commit=True)
    written.others(b"b")
    log.roll(NOW)
    forget_producers(log)
    done = clean(log, now_ms=NOW)
    assert markers(log)[0].delete_horizon_ms is None
    written.others(b"a")
    log.roll(NOW)
    done = clean(log, done.first_dirty_offset, now_ms=NOW)
    # Its record was there when the round passed by, and is gone now.
    assert shape(log) == [(1, 1, True), (2, 1, False), (3, 1, False)]
    done = clean(log, done.first_dirty_offset, now_ms=NOW)
    assert markers(log)[0].delete_horizon_ms == NOW + 10
    clean(log, done.first_dirty_offset, now_ms=NOW + 10)
    assert markers(log) == []
    log.close()


def test_a_transaction_that_is_aborted_later(tmp_path: Path) -> None:
    """Its records are in a closed segment, its marker is in the one being written."""
    written = Transactions(tmp_path)
    log = written.log
    written.put(1, b"a")
    log.roll(NOW)
    written.others(b"x")
    assert clean(log, stable=0).first_dirty_offset == 0
    assert shape(log)[0] == (0, 1, False)
    written.end(1, commit=False)
    forget_producers(log)
    clean(log)
    # The end of what was cleaned stays known.
    assert shape(log) == [(0, 0, False), (1, 1, False), (2, 1, True)]
    assert log.aborted_transactions(0, 3) == [(1, 0)]
    log.close()


def test_the_state_of_producers_survives(tmp_path: Path) -> None:
    written = Transactions(tmp_path)
    log = written.log
    written.put(1, b"a")
    written.end(1, commit=False)
    written.put(2, b"b")
    written.end(2, commit=True)
    written.others(b"b", b"c")
    log.roll(NOW)
    before = {key: (entry.epoch, entry.last_sequence) for key, entry in log.producers.entries.items()}
    cleaned_to = 0
    for later in range(0, 100, 10):
        cleaned_to = clean(log, cleaned_to, now_ms=NOW + later).first_dirty_offset
    # Of each the batch with its last sequence stays, and with it the marker: without it the transaction would be open.
    assert shape(log) == [(0, 0, False), (1, 1, True), (2, 0, False), (3, 1, True), (4, 2, False)]
    assert log.aborted_transactions(0, 6) == [(1, 0)]
    crash(log)
    for name in tmp_path.glob("*.snapshot"):
        name.unlink()
    again = new_log(tmp_path, CONFIG)
    assert {key: (entry.epoch, entry.last_sequence) for key, entry in again.producers.entries.items()} == before
    assert again.last_stable_offset == 6
    again.close()
