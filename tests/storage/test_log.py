"""Appending, reading, rolling: the log as its callers see it."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from headrace.storage.config import LogConfig
from headrace.storage.errors import LogError, OffsetOutOfRange
from headrace.storage.segment import MAX_RELATIVE_OFFSET
from headrace.wire.batch import decode_records
from headrace.wire.errors import ErrorCode
from tests.storage.builders import NOW, append, batch, headers, new_log, read_all

SMALL = LogConfig(segment_bytes=2000, index_interval_bytes=100)


def test_offsets_and_epoch_are_written_into_the_batch(tmp_path: Path) -> None:
    log = new_log(tmp_path / "t-0")
    first = append(log, batch(3), leader_epoch=4)
    second = append(log, batch(2), leader_epoch=4)
    assert (first.first_offset, first.last_offset, second.first_offset, second.last_offset) == (0, 2, 3, 4)
    stored = headers(log.read(0, 1 << 20).data)
    assert [(h.base_offset, h.partition_leader_epoch) for h in stored] == [(0, 4), (3, 4)]
    assert [record.offset for record in decode_records(log.read(3, 1 << 20).data)] == [3, 4]
    log.close()


def test_a_read_starts_with_the_batch_that_holds_the_offset(tmp_path: Path) -> None:
    log = new_log(tmp_path / "t-0", SMALL)
    for _ in range(60):
        append(log, batch(3))
    for offset in range(log.log_end_offset):
        for hints in (True, False):
            if not hints:
                log.hints.clear()
            first = headers(log.read(offset, 200).data)[0]
            assert first.base_offset <= offset <= first.last_offset
    assert len(log.segments) > 2
    log.close()


@pytest.mark.parametrize("max_bytes", [1, 100, 333, 1000, 5000])
@pytest.mark.parametrize("nowait", [True, False])
def test_slices_are_whole_batches_within_the_limit(tmp_path: Path, max_bytes: int, nowait: bool) -> None:
    log = new_log(tmp_path / "t-0", SMALL)
    sizes = [len(batch(count)) for count in (1, 7, 2, 9, 3) * 12]
    for count in (1, 7, 2, 9, 3) * 12:
        append(log, batch(count))
    offset, seen = 0, 0
    while offset < log.log_end_offset:
        data = log.read(offset, max_bytes, nowait=nowait).data
        found = headers(data)
        assert len(data) <= max_bytes or len(found) == 1
        seen += len(found)
        offset = found[-1].last_offset + 1
    assert seen == len(sizes)
    log.close()


def test_the_first_batch_is_left_out_when_it_does_not_fit_and_need_not(tmp_path: Path) -> None:
    log = new_log(tmp_path / "t-0")
    append(log, batch(100))
    assert len(log.read(0, 50, min_one_batch=False).data) == 0
    assert len(log.read(0, 50).data) == len(batch(100))
    log.close()


def test_nothing_at_or_above_the_upper_offset_is_read(tmp_path: Path) -> None:
    log = new_log(tmp_path / "t-0", SMALL)
    for _ in range(30):
        append(log, batch(2))
    for upper in range(61):
        data = log.read(0, 1 << 20, upper_offset=upper).data
        assert all(header.last_offset < upper for header in headers(data))
        if upper >= 2 and upper <= log.segments[1].base_offset:
            assert headers(data)[-1].last_offset == upper // 2 * 2 - 1
    assert len(log.read(60, 100).data) == 0
    log.close()


def test_offsets_outside_of_the_log_are_refused(tmp_path: Path) -> None:
    log = new_log(tmp_path / "t-0")
    append(log, batch(5))
    log.advance_log_start(2)
    for offset in (0, 1, 6):
        with pytest.raises(OffsetOutOfRange):
            log.read(offset, 100)
    assert headers(log.read(2, 100).data)[0].base_offset == 0
    log.close()


def test_rolls_by_size_and_leaves_nothing_out(tmp_path: Path) -> None:
    log = new_log(tmp_path / "t-0", SMALL)
    for _ in range(50):
        append(log, batch(4))
    assert len(log.segments) > 3
    assert all(segment.size <= 2000 for segment in log.segments)
    assert [h.base_offset for h in headers(read_all(log))] == list(range(0, 200, 4))
    assert log.recovery_point == log.active.base_offset, "finished segments are flushed"
    log.close()


def test_rolls_by_the_time_between_first_and_new_batch(tmp_path: Path) -> None:
    log = new_log(tmp_path / "t-0", LogConfig(segment_ms=1000))
    append(log, batch(timestamp=NOW))
    append(log, batch(timestamp=NOW + 1000), now_ms=NOW + 5000)
    assert len(log.segments) == 1
    append(log, batch(timestamp=NOW + 1001))
    assert len(log.segments) == 2
    log.close()


def test_rolls_by_the_clock_when_batches_have_no_timestamp(tmp_path: Path) -> None:
    log = new_log(tmp_path / "t-0", LogConfig(segment_ms=1000))
    append(log, batch(timestamp=-1, step=0))
    append(log, batch(timestamp=-1, step=0), now_ms=NOW + 1000)
    assert len(log.segments) == 1
    append(log, batch(timestamp=-1, step=0), now_ms=NOW + 1001)
    assert len(log.segments) == 2
    log.close()


def test_rolls_when_an_index_is_full(tmp_path: Path) -> None:
    log = new_log(tmp_path / "t-0", LogConfig(segment_index_bytes=40, index_interval_bytes=0))
    for number in range(20):
        append(log, batch(timestamp=NOW + number))
    assert len(log.segments) > 5
    log.close()
    assert all(path.stat().st_size <= 40 for path in (tmp_path / "t-0").glob("*.timeindex"))


def test_rolls_when_relative_offsets_run_out(tmp_path: Path) -> None:
    log = new_log(tmp_path / "t-0")
    append(log, batch())
    far = memoryview(bytearray(batch(1, base_offset=MAX_RELATIVE_OFFSET)))
    append(log, far, origin="replication")
    assert len(log.segments) == 1
    append(log, memoryview(bytearray(batch(1, base_offset=MAX_RELATIVE_OFFSET + 1))), origin="replication")
    assert [s.base_offset for s in log.segments] == [0, MAX_RELATIVE_OFFSET + 1]
    assert headers(log.read(5, 1000).data)[0].base_offset == MAX_RELATIVE_OFFSET
    log.close()


def test_several_reservations_are_committed_in_order(tmp_path: Path) -> None:
    log = new_log(tmp_path / "t-0", LogConfig(segment_bytes=300, index_interval_bytes=0))
    reservations = [log.reserve(batch(2), leader_epoch=0, now_ms=NOW) for _ in range(10)]
    assert log.log_end_offset == 0
    for reservation in reversed(reservations):
        reservation.write()
    for number, reservation in enumerate(reservations):
        appended = log.commit(reservation)
        assert appended.first_offset == number * 2
        assert log.log_end_offset == number * 2 + 2
    assert len(log.segments) > 2
    assert len(headers(read_all(log))) == 10
    log.close()
    again = new_log(tmp_path / "t-0", clean=True)
    assert again.log_end_offset == 20
    again.close()


def test_a_commit_out_of_order_is_our_own_mistake(tmp_path: Path) -> None:
    log = new_log(tmp_path / "t-0")
    _, second = (log.reserve(batch(), leader_epoch=0, now_ms=NOW) for _ in range(2))
    with pytest.raises(AssertionError):
        log.commit(second)
    log.drop()


def test_readers_in_threads_see_only_whole_committed_batches(tmp_path: Path) -> None:
    log = new_log(tmp_path / "t-0", LogConfig(segment_bytes=20_000, index_interval_bytes=500), limit=2)
    failures: list[BaseException] = []
    stop = threading.Event()

    def read_in_circles(step: int) -> None:
        offset = 0
        try:
            while not stop.is_set() or offset < log.log_end_offset:
                data = log.read(offset, 3000 + step).data
                for header in headers(data):
                    assert header.base_offset <= offset <= header.last_offset or header.base_offset == offset
                    offset = header.last_offset + 1
                if offset >= log.log_end_offset and not stop.is_set():
                    offset = max(0, offset - 500 * step)
                    offset -= offset % 5
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=read_in_circles, args=(step,)) for step in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(1500):
        append(log, batch(5))
    stop.set()
    for thread in threads:
        thread.join()
    assert failures == []
    assert log.folder.files.open_count <= 2 + 1 + 3
    log.close()
    assert log.folder.files.open_count == 0


def test_flush_counts_messages_and_time(tmp_path: Path) -> None:
    log = new_log(tmp_path / "t-0", LogConfig(flush_messages=5, flush_ms=1000))
    assert not append(log, batch(4)).flush_due
    assert append(log, batch(1)).flush_due
    assert not log.flush_due(NOW + 999)
    assert log.flush_due(NOW + 1000)
    log.flush(NOW + 1000)
    assert log.recovery_point == 5
    assert not log.flush_due(NOW + 5000)
    assert not append(log, batch(4)).flush_due
    log.close()


def test_preallocated_files_are_cut_to_what_they_hold(tmp_path: Path) -> None:
    log = new_log(tmp_path / "t-0", LogConfig(preallocate=True, segment_bytes=4000))
    for _ in range(30):
        append(log, batch(5))
    sizes = [segment.size for segment in log.segments]
    log.close()
    files = sorted((tmp_path / "t-0").glob("*.log"))
    assert [file.stat().st_size for file in files] == sizes


def test_a_closed_log_is_no_empty_log(tmp_path: Path) -> None:
    log = new_log(tmp_path / "t-0")
    append(log)
    reservation = log.reserve(batch(), leader_epoch=0, now_ms=NOW)
    log.drop()
    with pytest.raises(FileNotFoundError):
        reservation.write()
    for attempt in (lambda: log.read(0, 100), lambda: append(log)):
        with pytest.raises(LogError) as caught:
            attempt()
        assert caught.value.error_code == ErrorCode.KAFKA_STORAGE_ERROR
    log.flush()
    log.close()


def test_deleting_flushing_rolling_and_reading_at_once(tmp_path: Path) -> None:
    """Background jobs and readers in threads of their own while the owner appends and deletes."""
    jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
    failures: list[BaseException] = []

    def work() -> None:
        while (job := jobs.get()) is not None:
            try:
                job()
            except BaseException as error:
                failures.append(error)

    def read() -> None:
        try:
            while not done.is_set():
                with contextlib.suppress(OffsetOutOfRange):
                    start = log.log_start_offset
                    assert headers(log.read(start, 2000).data)[0].base_offset <= max(start, log.log_start_offset)
                    log.offset_for_timestamp(NOW)
        except BaseException as error:
            failures.append(error)

    done = threading.Event()
    config = LogConfig(segment_bytes=1000, index_interval_bytes=100, retention_bytes=3000, file_delete_delay_ms=0)
    log = new_log(tmp_path / "t-0", config, defer=jobs.put)
    append(log, batch(4))
    threads = [threading.Thread(target=work), threading.Thread(target=work), threading.Thread(target=read)]
    for thread in threads:
        thread.start()
    for number in range(1500):
        append(log, batch(4))
        if number % 5 == 0:
            jobs.put(log.flush)
        if number % 7 == 0:
            log.apply_retention(NOW)
    done.set()
    for _ in range(2):
        jobs.put(None)
    for thread in threads:
        thread.join()
    log.apply_retention(NOW)
    jobs.put(None)
    work()  # what was deferred after the threads had gone
    assert failures == []
    end = log.log_end_offset
    log.close()
    assert log.folder.files.open_count == 0
    again = new_log(tmp_path / "t-0", config, clean=True)
    assert again.log_end_offset == end
    assert again.log_start_offset == log.log_start_offset
    again.close()
