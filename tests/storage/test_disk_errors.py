"""Disks that are full or fail: the error comes out, and what was committed before is what the log still holds."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from headrace.fs import Buffer, Fs
from headrace.storage.config import LogConfig
from tests.storage.builders import NOW, append, batch, crash, headers, idempotent, new_log, read_all


class BadFs(Fs):
    """Takes `room` more bytes, then no more; fsync and opening fail on demand."""

    def __init__(self) -> None:
        super().__init__()
        self.room: int | None = None
        self.fail_fsync = False
        self.fail_open = False
        self.short = 0

    def pwrite(self, fd: int, data: Buffer, position: int) -> int:
        if self.short:
            data = memoryview(data)[: self.short]
        if self.room is None:
            return super().pwrite(fd, data, position)
        if self.room == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written = super().pwrite(fd, memoryview(data)[: self.room], position)
        self.room -= written
        return written

    def fsync(self, fd: int) -> None:
        if self.fail_fsync:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        super().fsync(fd)

    def open(self, path: str, flags: int, mode: int = 0o644) -> int:
        if self.fail_open:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return super().open(path, flags, mode)


@pytest.mark.parametrize("room", [0, 1, 11, 60, 70])
@pytest.mark.parametrize("segment_bytes", [1 << 20, 100])
def test_a_full_disk_takes_nothing_back(tmp_path: Path, room: int, segment_bytes: int) -> None:
    fs = BadFs()
    log = new_log(tmp_path, LogConfig(segment_bytes=segment_bytes), fs=fs)
    for sequence in range(3):
        append(log, idempotent(sequence))
    before = read_all(log)
    fs.room = room
    with pytest.raises(OSError, match="No space left"):
        append(log, idempotent(3))
    assert read_all(log) == before
    assert log.log_end_offset == 3
    assert log.producers.entries[7].last_sequence == 2
    fs.room = None
    assert append(log, idempotent(3)).first_offset == 3
    assert len(headers(read_all(log))) == 4
    log.close()
    again = new_log(tmp_path, clean=True)
    assert again.log_end_offset == 4
    again.close()


@pytest.mark.parametrize("room", [0, 1, 61, 70])
def test_a_crash_after_a_failed_write_leaves_no_trace_of_it(tmp_path: Path, room: int) -> None:
    fs = BadFs()
    log = new_log(tmp_path, fs=fs)
    append(log)
    before = read_all(log)
    fs.room = room
    with pytest.raises(OSError, match="No space left"):
        append(log, batch(5))
    crash(log)
    again = new_log(tmp_path)
    assert read_all(again) == before
    again.close()


def test_a_shorter_batch_after_a_failed_one_leaves_no_garbage(tmp_path: Path) -> None:
    fs = BadFs()
    log = new_log(tmp_path, fs=fs)
    append(log)
    fs.room = 400
    with pytest.raises(OSError, match="No space left"):
        append(log, batch(50))
    fs.room = None
    append(log)
    log.close()
    assert len(headers((tmp_path / "00000000000000000000.log").read_bytes())) == 2


def test_short_writes_are_completed(tmp_path: Path) -> None:
    fs = BadFs()
    log = new_log(tmp_path, LogConfig(index_interval_bytes=0, segment_bytes=500), fs=fs)
    fs.short = 7
    for _ in range(10):
        append(log)
    assert len(headers(read_all(log))) == 10
    log.close()
    again = new_log(tmp_path, clean=True)
    assert len(headers(read_all(again))) == 10
    again.close()


def test_a_failed_fsync_leaves_the_recovery_point(tmp_path: Path) -> None:
    fs = BadFs()
    log = new_log(tmp_path, fs=fs)
    append(log)
    fs.fail_fsync = True
    with pytest.raises(OSError, match="Input/output error"):
        log.flush()
    assert log.recovery_point == 0
    fs.fail_fsync = False
    log.flush()
    assert log.recovery_point == 1
    log.close()


def test_rolling_needs_a_descriptor(tmp_path: Path) -> None:
    fs = BadFs()
    log = new_log(tmp_path, LogConfig(segment_bytes=100), fs=fs)
    append(log)
    fs.fail_open = True
    with pytest.raises(OSError, match="Too many open files"):
        append(log)
    assert log.log_end_offset == 1
    fs.fail_open = False
    assert append(log).first_offset == 1
    log.close()


def test_outstanding_writes_are_taken_back_together(tmp_path: Path) -> None:
    fs = BadFs()
    log = new_log(tmp_path, LogConfig(segment_bytes=250), fs=fs)
    append(log, idempotent(0))
    reservations = [log.reserve(idempotent(n), leader_epoch=0, now_ms=NOW) for n in range(1, 8)]
    reservations[0].write()
    log.commit(reservations[0])
    fs.room = 100
    with pytest.raises(OSError, match="No space left"):
        for reservation in reservations[1:]:
            reservation.write()
    log.abandon()
    fs.room = None
    assert log.log_end_offset == 2
    for sequence in range(2, 10):
        assert append(log, idempotent(sequence)).first_offset == sequence
    log.close()
    assert log.folder.files.open_count == 0
    again = new_log(tmp_path, clean=True)
    assert [header.base_offset for header in headers(read_all(again))] == list(range(10))
    again.close()
