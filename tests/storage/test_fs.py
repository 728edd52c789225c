"""The file system and the clock that storage stands on."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from headrace.clock import Clock, ManualClock
from headrace.fs import Buffer, Fs
from headrace.storage.descriptors import Folder, OpenFiles, StoredFile


def test_a_manual_clock_moves_by_hand() -> None:
    clock = ManualClock(1000)
    clock.advance(5)
    assert (clock.now_ms(), clock.monotonic()) == (1005, 0.005)
    clock.set(500)
    assert (clock.now_ms(), clock.monotonic()) == (500, 0.005)
    clock.set(1500)
    assert (clock.now_ms(), clock.monotonic()) == (1500, 1.005)
    with pytest.raises(ValueError, match="only advances"):
        clock.advance(-1)
    assert Clock().now_ms() > 1_700_000_000_000


def test_nowait_reads_what_is_cached_and_nothing_else(tmp_path: Path) -> None:
    fs = Fs()
    path = tmp_path / "file"
    path.write_bytes(os.urandom(1 << 20))
    fd = fs.open(str(path), os.O_RDONLY)
    assert bytes(fs.preadv_nowait(fd, 1 << 20, 0)) == path.read_bytes()
    fs.fsync(fd)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    try:
        fs.preadv_nowait(fd, 1 << 20, 0)
    except BlockingIOError as error:
        assert error.errno == errno.EAGAIN
    assert fs.pread(fd, 1 << 20, 0) == path.read_bytes()
    fs.close(fd)


def test_nowait_falls_back_where_the_kernel_has_it_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_bytes(b"content")
    fs = Fs()
    fd = fs.open(str(tmp_path / "file"), os.O_RDONLY)

    def unsupported(*_: object) -> int:
        raise OSError(errno.EOPNOTSUPP, "not here")

    monkeypatch.setattr(os, "preadv", unsupported)
    assert bytes(fs.preadv_nowait(fd, 7, 0)) == b"content"
    fs.close(fd)


def test_files_are_replaced_whole(tmp_path: Path) -> None:
    fs = Fs()
    path, old = tmp_path / "new", tmp_path / "old"
    old.write_bytes(b"something much longer")
    fs.write_file(str(path), b"one", recycle=str(old))
    assert (path.read_bytes(), old.exists()) == (b"one", False)
    fs.write_file(str(path), b"two", recycle=str(old), sync=False)
    assert fs.read_file(str(path)) == b"two"
    assert os.listdir(tmp_path) == ["new"]


def test_a_crash_while_replacing_leaves_the_old_content(tmp_path: Path) -> None:
    class Crashing(Fs):
        def rename(self, source: str, target: str) -> None:
            raise OSError(errno.EIO, "gone")

    (tmp_path / "file").write_bytes(b"old")
    with pytest.raises(OSError, match="gone"):
        Crashing().write_file(str(tmp_path / "file"), b"new")
    assert (tmp_path / "file").read_bytes() == b"old"


def test_a_disk_that_takes_nothing_is_full(tmp_path: Path) -> None:
    class Full(Fs):
        def pwrite(self, fd: int, data: Buffer, position: int) -> int:
            return 0

    fs = Full()
    fd = fs.open(str(tmp_path / "file"), os.O_RDWR | os.O_CREAT)
    with pytest.raises(OSError, match="no more bytes"):
        fs.write_all(fd, b"x", 0)
    fs.close(fd)


def test_locks_keep_others_out(tmp_path: Path) -> None:
    fs = Fs()
    first, second = (fs.open(str(tmp_path / "lock"), os.O_RDWR | os.O_CREAT) for _ in range(2))
    fs.lock(first)
    with pytest.raises(BlockingIOError):
        fs.lock(second)
    fs.close(first)
    fs.lock(second)
    fs.close(second)


@pytest.fixture
def pool_and_files(tmp_path: Path) -> tuple[OpenFiles, list[StoredFile]]:
    pool = OpenFiles(limit=3)
    folder = Folder(str(tmp_path), pool)
    for number in range(6):
        (tmp_path / str(number)).write_bytes(b"x")
    return pool, [StoredFile(folder, str(number)) for number in range(6)]


def test_the_one_unused_for_longest_is_closed(pool_and_files: tuple[OpenFiles, list[StoredFile]]) -> None:
    pool, files = pool_and_files
    for file in files[:3]:
        pool.pin(file)
        pool.unpin(file)
    pool.pin(files[0])
    pool.unpin(files[0])
    pool.pin(files[3])
    assert [file.fd >= 0 for file in files] == [True, False, True, True, False, False]
    assert pool.open_count == 3


def test_a_pinned_file_stays_open_until_the_last_unpin(pool_and_files: tuple[OpenFiles, list[StoredFile]]) -> None:
    pool, files = pool_and_files
    for file in files:
        pool.pin(file)
    assert pool.open_count == 6, "nobody is turned away"
    pool.pin(files[0])
    pool.forget(files[0])
    with pytest.raises(FileNotFoundError):
        pool.pin(files[0])
    pool.unpin(files[0])
    assert os.pread(files[0].fd, 1, 0) == b"x"
    for file in files:
        pool.unpin(file)
    assert files[0].fd == -1
    assert pool.open_count == 3


def test_held_files_do_not_count_and_are_released_once(pool_and_files: tuple[OpenFiles, list[StoredFile]]) -> None:
    pool, files = pool_and_files
    for file in files[:3]:
        pool.hold(file)
    for file in files[3:]:
        pool.pin(file)
        pool.unpin(file)
    assert pool.open_count == 6
    pool.release(files[0])
    pool.release(files[0])
    assert files[0].pins == 0 and pool.open_count == 5
