"""Deleting from the front, cutting from the end."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.storage.config import LogConfig
from headrace.storage.errors import OffsetOutOfRange
from headrace.storage.log import Log
from tests.storage.builders import NOW, append, batch, headers, idempotent, new_log, read_all

HOUR = 3_600_000


def fill(path: Path, config: LogConfig, batches: int = 20, step_ms: int = HOUR) -> Log:
    """Segments of two batches each, an hour between batches."""
    log = new_log(path, config)
    for number in range(batches):
        append(log, batch(timestamp=NOW + number * step_ms), now_ms=NOW + number * step_ms)
    return log


def config(**options: object) -> LogConfig:
    return LogConfig(segment_bytes=2 * len(batch()), **options)  # type: ignore[arg-type]


def test_by_time(tmp_path: Path) -> None:
    log = fill(tmp_path, config(retention_ms=5 * HOUR))
    now = NOW + 19 * HOUR
    assert log.apply_retention(now) == 7
    # The newest record of the first segment left is five hours old, not more.
    assert (log.log_start_offset, log.segments[0].base_offset) == (14, 14)
    with pytest.raises(OffsetOutOfRange):
        log.read(13, 100)
    assert [h.base_offset for h in headers(read_all(log))] == list(range(14, 20))
    assert log.leader_epochs.entries == ((0, 14),)
    log.close()


def test_the_active_segment_goes_too_and_offsets_go_on(tmp_path: Path) -> None:
    log = fill(tmp_path, config(retention_ms=HOUR))
    assert log.apply_retention(NOW + 100 * HOUR) == 10
    assert (log.log_start_offset, log.log_end_offset, log.size, len(log.segments)) == (20, 20, 0, 1)
    assert log.apply_retention(NOW + 200 * HOUR) == 0
    assert append(log, batch(timestamp=NOW + 200 * HOUR), now_ms=NOW + 200 * HOUR).first_offset == 20
    log.close()
    again = new_log(tmp_path, clean=True)
    assert (again.log_start_offset, again.log_end_offset) == (20, 21)
    again.close()


def test_for_ever(tmp_path: Path) -> None:
    log = fill(tmp_path, config(retention_ms=-1))
    assert log.apply_retention(NOW + 10**6 * HOUR) == 0
    log.config = config(retention_ms=HOUR, cleanup_policy=frozenset({"compact"}))
    assert log.apply_retention(NOW + 10**6 * HOUR) == 0
    log.close()


def test_by_size(tmp_path: Path) -> None:
    size = len(batch())
    log = fill(tmp_path, config(retention_ms=-1, retention_bytes=6 * size + 1))
    assert log.apply_retention(NOW) == 6
    assert log.size == 8 * size, "a segment goes only if what is left is still large enough"
    log.config = config(retention_ms=-1, retention_bytes=0)
    log.apply_retention(NOW)
    assert (log.size, log.log_start_offset) == (0, 20)
    log.close()


def test_nothing_beyond_the_high_watermark(tmp_path: Path) -> None:
    log = fill(tmp_path, config(retention_ms=HOUR))
    assert log.apply_retention(NOW + 100 * HOUR, high_watermark=5) == 2
    assert log.log_start_offset == 4
    log.close()


def test_nothing_that_is_being_written_to(tmp_path: Path) -> None:
    log = fill(tmp_path, config(retention_ms=HOUR))
    reservation = log.reserve(batch(timestamp=NOW), leader_epoch=0, now_ms=NOW)
    assert log.apply_retention(NOW + 100 * HOUR) == 9
    reservation.write()
    assert log.commit(reservation).first_offset == 20
    log.close()


def test_batches_without_timestamps_are_as_old_as_their_file(tmp_path: Path) -> None:
    log = new_log(tmp_path, config(retention_ms=HOUR))
    for _ in range(4):
        append(log, batch(timestamp=-1, step=0))
    written_ms = int((tmp_path / "00000000000000000000.log").stat().st_mtime * 1000)
    assert log.apply_retention(written_ms + HOUR - 1000) == 0
    assert log.apply_retention(written_ms + HOUR + 5000) == 2
    log.close()


def test_delete_records(tmp_path: Path) -> None:
    log = fill(tmp_path, config(retention_ms=-1, cleanup_policy=frozenset({"compact"})))
    assert log.delete_records(7, high_watermark=20) == 7
    assert log.delete_records(3, high_watermark=20) == 7
    assert headers(log.read(7, 100).data)[0].base_offset == 7
    with pytest.raises(OffsetOutOfRange):
        log.read(6, 100)
    with pytest.raises(OffsetOutOfRange):
        log.delete_records(21, high_watermark=20)
    assert log.apply_retention(NOW) == 3
    assert log.segments[0].base_offset == 6
    assert log.delete_records(-1, high_watermark=20) == 20
    log.close()


def test_files_are_renamed_at_once_and_removed_later(tmp_path: Path) -> None:
    log = fill(tmp_path, config(retention_ms=HOUR, file_delete_delay_ms=1000))
    for sequence in range(4):
        append(log, idempotent(sequence, timestamp=NOW + 19 * HOUR), now_ms=NOW + 19 * HOUR)
    now = NOW + 19 * HOUR
    count = log.apply_retention(now)
    deleted = sorted(tmp_path.glob("*.deleted"))
    # .log, .index and .timeindex of each, .snapshot of all but the first, where there is none.
    assert len(deleted) == count * 4 - 1
    assert log.apply_retention(now + 999) == 0
    assert sorted(tmp_path.glob("*.deleted")) == deleted
    log.apply_retention(now + 1000)
    assert not list(tmp_path.glob("*.deleted"))
    log.close()


def test_a_reader_of_a_deleted_segment_finishes(tmp_path: Path) -> None:
    log = fill(tmp_path, config(retention_ms=HOUR))
    view = log.segments
    fd = log.folder.files.pin(view[0].log)
    log.apply_retention(NOW + 100 * HOUR)
    assert len(log.folder.fs.pread(fd, 10, 0)) == 10
    log.folder.files.unpin(view[0].log)
    with pytest.raises(FileNotFoundError):
        log.folder.files.pin(view[0].log)
    log.close()


@pytest.mark.parametrize("offset", range(0, 61, 3))
def test_truncation(tmp_path: Path, offset: int) -> None:
    log = new_log(tmp_path, LogConfig(segment_bytes=600, index_interval_bytes=100))
    for number in range(20):
        append(log, batch(3, timestamp=NOW + number * 10), leader_epoch=number // 5)
    whole = read_all(log)
    assert log.truncate_to(offset, NOW) == (offset < 60)
    assert log.log_end_offset == offset
    left = headers(read_all(log))
    assert [h.base_offset for h in left] == list(range(0, offset, 3))
    assert all(start < max(offset, 1) for _, start in log.leader_epochs.entries)
    if offset:
        found = log.max_timestamp()
        assert found is not None and found.offset == offset - 1
    append(log, batch(3, timestamp=NOW + 500), leader_epoch=7)
    log.close()
    again = new_log(tmp_path, log.config, clean=True)
    assert read_all(again).startswith(whole[: sum(h.size for h in left)])
    assert again.log_end_offset == offset + 3
    assert again.offset_for_timestamp(NOW + 300) == (NOW + 500, offset, 7)
    again.close()


def test_truncation_inside_a_batch_drops_it(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    append(log, batch(3))
    append(log, batch(3))
    log.truncate_to(4, NOW)
    assert [h.base_offset for h in headers(read_all(log))] == [0]
    assert append(log, batch()).first_offset == 4
    log.close()


def test_truncation_before_the_first_segment(tmp_path: Path) -> None:
    log = fill(tmp_path, config(retention_ms=HOUR))
    log.apply_retention(NOW + 10 * HOUR)
    log.truncate_to(2, NOW)
    assert (log.log_start_offset, log.log_end_offset, log.size) == (2, 2, 0)
    assert append(log).first_offset == 2
    log.close()
