"""Each faulty disk has its one flaw, on the files it was asked for, while it is switched on."""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path

import pytest

from headrace.testing.faults import FailingFs, FaultyFs, FullDiskFs, ThrottledFs

CREATE = os.O_RDWR | os.O_CREAT


def test_without_a_flaw_it_is_a_file_system(tmp_path: Path) -> None:
    fs = FaultyFs()
    path = str(tmp_path / "a")
    fs.write_file(path, b"content")
    assert fs.read_file(path) == b"content"
    fs.rename(path, path + "b")
    fs.unlink(path + "b")
    assert fs.listdir(str(tmp_path)) == []


def test_a_slow_disk(tmp_path: Path) -> None:
    fs = ThrottledFs(write_delay_s=0.05, fsync_delay_s=0.05, matching="crawling")
    slow, fast = (fs.open(str(tmp_path / name), CREATE) for name in ("crawling", "fast"))
    begin = time.monotonic()
    fs.pwrite(fast, b"x", 0)
    fs.fsync(fast)
    assert time.monotonic() - begin < 0.05
    fs.pwrite(slow, b"x", 0)
    fs.fsync(slow)
    assert time.monotonic() - begin >= 0.1
    assert fs.hits == 2
    fs.active = False
    fs.pwrite(slow, b"x", 0)
    assert fs.hits == 2
    for fd in (slow, fast):
        fs.close(fd)


def test_slow_reads_are_not_in_the_page_cache(tmp_path: Path) -> None:
    fs = ThrottledFs(read_delay_s=0.01)
    fd = fs.open(str(tmp_path / "a"), CREATE)
    fs.pwrite(fd, b"content", 0)
    with pytest.raises(BlockingIOError):
        fs.preadv_nowait(fd, 7, 0)
    assert fs.pread(fd, 7, 0) == b"content"
    fs.close(fd)


def test_a_full_disk_takes_what_fits_and_more_when_there_is_room(tmp_path: Path) -> None:
    fs = FullDiskFs(capacity_bytes=10)
    fd = fs.open(str(tmp_path / "a"), CREATE)
    with pytest.raises(OSError, match="No space left") as caught:
        fs.write_all(fd, b"x" * 25, 0)
    assert caught.value.errno == errno.ENOSPC
    assert fs.fstat(fd).st_size == 10
    with pytest.raises(OSError, match="No space left"):
        fs.allocate(fd, 100)
    fs.free(100)
    fs.write_all(fd, b"y" * 25, 0)
    assert fs.fstat(fd).st_size == 25
    fs.close(fd)


def test_a_failing_disk(tmp_path: Path) -> None:
    fs = FailingFs(operations=["write"], after=1, matching=lambda path: path.endswith(".log"))
    log, other = (fs.open(str(tmp_path / name), CREATE) for name in ("a.log", "a.index"))
    assert fs.pwrite(log, b"first", 0) == 5
    with pytest.raises(OSError) as caught:
        fs.pwrite(log, b"second", 5)
    assert caught.value.errno == errno.EIO
    assert fs.pwrite(other, b"fine", 0) == 4
    fs.fsync(log)
    for fd in (log, other):
        fs.close(fd)
    with pytest.raises(AssertionError, match="no such operations"):
        FailingFs(operations=["wriet"])


def test_a_torn_write_leaves_half(tmp_path: Path) -> None:
    fs = FailingFs(operations=["write"], torn=True)
    fd = fs.open(str(tmp_path / "a"), CREATE)
    with pytest.raises(OSError):
        fs.write_all(fd, b"0123456789", 0)
    assert fs.pread(fd, 10, 0) == b"01234"
    fs.close(fd)
