"""Rounds of compaction over logs of every kind end as a dictionary would, and keep everything else as it was."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headrace.storage.batches import CorruptLog
from headrace.storage.compaction.walking import LONGEST_KEY
from headrace.storage.config import LogConfig
from headrace.storage.log import Log
from headrace.wire.batch import Record, check_crc, encode_batch
from tests.storage.builders import NOW, append, crash, headers, new_log, read_all
from tests.storage.compaction.rounds import clean, last_values, records_of

COMPACT = frozenset({"compact"})
DAY = 24 * 60 * 60 * 1000


def config(segment_bytes: int = 400, **options: object) -> LogConfig:
    options.setdefault("cleanup_policy", COMPACT)
    return LogConfig(segment_bytes=segment_bytes, index_interval_bytes=100, **options)  # type: ignore[arg-type]


def put(log: Log, *pairs: tuple[bytes, bytes | None], timestamp: int = NOW, **options: object) -> None:
    records = [Record(timestamp=timestamp + at, key=key, value=value) for at, (key, value) in enumerate(pairs)]
    append(log, memoryview(encode_batch(records, **options)), now_ms=timestamp)  # type: ignore[arg-type]


@contextmanager
def temporary() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as path:
        yield Path(path)


keys = st.sampled_from([b"", b"a", b"b", b"c" * 70, b"d" * LONGEST_KEY, b"e" * (LONGEST_KEY + 1), b"f" * 9000])
values = st.one_of(st.none(), st.binary(max_size=90))
batches = st.tuples(
    st.lists(st.tuples(keys, values), min_size=1, max_size=8), st.integers(0, 4), st.integers(-1, 2), st.booleans()
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(st.lists(batches, max_size=30), st.integers(1, 12), st.sampled_from([0, 5, DAY]))
def test_ends_as_a_dictionary(
    written: list[tuple[list[tuple[bytes, bytes | None]], int, int, bool]], max_keys: int, later: int
) -> None:
    with temporary() as path:
        log = new_log(path, config(80_000, delete_retention_ms=5))
        sequences = dict.fromkeys(range(3), 0)
        for number, (pairs, codec, producer, roll) in enumerate(written):
            options: dict[str, object] = {"codec": codec}
            if producer >= 0:
                options |= {"producer_id": producer, "producer_epoch": 0, "base_sequence": sequences[producer]}
                sequences[producer] += len(pairs)
            put(log, *pairs, timestamp=NOW + number * 10, **options)
            if roll:
                log.roll(NOW)
        log.roll(NOW)
        before = {record.offset: record for record in records_of(log)}
        expected = last_values(list(before.values()))
        entries = dict(log.producers.entries)
        end, cleaned_to, now = log.log_end_offset, 0, NOW
        for _ in range(3 + len(written)):
            finished = clean(log, cleaned_to, now_ms=now, max_keys=max_keys)
            assert finished.first_dirty_offset >= cleaned_to
            cleaned_to, now = finished.first_dirty_offset, now + later
            after = records_of(log)
            assert last_values(after) == expected
            assert [before[record.offset] for record in after] == after
            below = [record.key for record in after if record.offset < cleaned_to]
            assert len(below) == len(set(below))
        assert cleaned_to == end == log.log_end_offset
        if later == DAY:
            # Tombstones were met, got their horizon, and it passed.
            assert {record.key for record in records_of(log)} == set(expected)
        check_reads(log)
        log.close()
        for clean_start in (True, False):
            again = new_log(path, config(), clean=clean_start, recovery_point=end)
            assert again.log_end_offset == end
            assert last_values(records_of(again)) == expected
            assert {key: entry.last_sequence for key, entry in again.producers.entries.items()} == {
                key: entry.last_sequence for key, entry in entries.items()
            }
            crash(again)


def check_reads(log: Log) -> None:
    """From every offset on, the first thing read is the first batch that reaches it."""
    data = read_all(log)
    found = headers(data)
    position = 0
    for header in found:
        assert check_crc(data, position)
        position += header.size
    for offset in range(log.log_start_offset, log.log_end_offset):
        part = log.read(offset, 1).data
        wanted = next((header for header in found if header.last_offset >= offset), None)
        assert (headers(part)[:1] or [None])[0] == wanted


def test_a_tombstone_stays_for_its_time(tmp_path: Path) -> None:
    log = new_log(tmp_path, config(delete_retention_ms=100))
    put(log, (b"a", b"1"))
    put(log, (b"b", b"1"), (b"a", None))
    put(log, (b"c", b"1"))
    log.roll(NOW)
    done = clean(log, now_ms=NOW)
    assert [(record.key, record.value) for record in records_of(log)] == [(b"b", b"1"), (b"a", None), (b"c", b"1")]
    with_tombstone = headers(read_all(log))[0]
    assert with_tombstone.delete_horizon_ms == NOW + 100
    assert with_tombstone.max_timestamp == NOW + 1
    assert [record.timestamp for record in records_of(log)] == [NOW, NOW + 1, NOW]
    clean(log, done.first_dirty_offset, now_ms=NOW + 99)
    assert len(records_of(log)) == 3
    clean(log, done.first_dirty_offset, now_ms=NOW + 100)
    assert [record.key for record in records_of(log)] == [b"b", b"c"]
    # The batch keeps its range and its horizon.
    first = headers(read_all(log))[0]
    assert (first.base_offset, first.last_offset, first.record_count) == (1, 2, 1)
    assert first.delete_horizon_ms == NOW + 100
    log.close()


def test_the_last_batch_of_a_producer_stays_without_records(tmp_path: Path) -> None:
    log = new_log(tmp_path, config())
    put(log, (b"a", b"1"), (b"b", b"1"), producer_id=5, producer_epoch=3, base_sequence=0)
    put(log, (b"a", b"2"), producer_id=5, producer_epoch=3, base_sequence=2)
    put(log, (b"a", b"3"), (b"b", b"3"))
    log.roll(NOW)
    clean(log)
    found = [(header.base_offset, header.record_count, header.base_sequence) for header in headers(read_all(log))]
    assert found == [(2, 0, 2), (3, 2, -1)]
    crash(log)
    again = new_log(tmp_path, config())
    put(again, (b"a", b"4"), producer_id=5, producer_epoch=3, base_sequence=3)
    assert again.log_end_offset == 6
    again.close()


def test_the_end_of_what_was_cleaned_stays_known(tmp_path: Path) -> None:
    log = new_log(tmp_path, config(200, delete_retention_ms=0))
    put(log, (b"a", b"1"))
    put(log, (b"a", None))
    log.roll(NOW)
    for _ in range(3):
        clean(log, 2 if _ else None, now_ms=NOW + _)
    last = headers(read_all(log))
    assert [(header.last_offset, header.record_count) for header in last] == [(1, 0)]
    log.close()


def test_keyless_records_go(tmp_path: Path) -> None:
    log = new_log(tmp_path, config(cleanup_policy=frozenset({"delete"})))
    append(log, memoryview(encode_batch([Record(timestamp=NOW, value=b"x"), Record(timestamp=NOW, key=b"k")])))
    append(log, memoryview(encode_batch([Record(timestamp=NOW, value=b"x")])))
    append(log, memoryview(encode_batch([Record(timestamp=NOW, key=b"l", value=b"x")])))
    log.roll(NOW)
    log.config = config()
    clean(log)
    assert [record.key for record in records_of(log)] == [b"k", b"l"]
    log.close()


def test_small_segments_become_one(tmp_path: Path) -> None:
    log = new_log(tmp_path, config(200))
    for number in range(40):
        put(log, (b"k%d" % (number % 3), b"v" * 50), timestamp=NOW + number)
    log.roll(NOW)
    count = len(log.segments)
    cleaned_to = None
    for _ in range(10):
        cleaned_to = clean(log, cleaned_to).first_dirty_offset
    assert count >= 20
    assert len(log.segments) == 4
    names = {path.name for path in tmp_path.iterdir() if path.suffix == ".log"}
    assert len(names) == len(log.segments)
    assert log.offset_for_timestamp(NOW + 39).offset == 39  # type: ignore[union-attr]
    assert log.max_timestamp().offset == 39  # type: ignore[union-attr]
    log.close()


def test_damage_is_not_covered_up(tmp_path: Path) -> None:
    log = new_log(tmp_path, config())
    put(log, (b"a", b"1"), (b"a", b"2"))
    log.roll(NOW)
    path = tmp_path / "00000000000000000000.log"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(CorruptLog, match="CRC"):
        clean(log)
    log.close()


def test_readers_of_the_old_files_go_on(tmp_path: Path) -> None:
    log = new_log(tmp_path, config())
    put(log, (b"a", b"1"))
    put(log, (b"a", b"2"))
    log.roll(NOW)
    old = log.segments[0]
    fd = log.folder.files.pin(old.log)
    clean(log)
    assert log.folder.fs.fstat(fd).st_size == old.size > log.segments[0].size
    log.folder.files.unpin(old.log)
    assert headers(log.read(0, 1000).data)[0].base_offset == 1
    log.close()
