"""The file system, as storage sees it: one thin method per system call.

Everything storage does to a disk goes through an `Fs`, so that a test can subclass it and make any call slow, short or
failing. It holds no state beyond what it learned about the kernel; all methods may be called from any thread. Errors are
`OSError`, never hidden.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
from collections.abc import Callable

Buffer = bytes | bytearray | memoryview

_RWF_NOWAIT: int = getattr(os, "RWF_NOWAIT", 0)


# A bytearray whose memory is not cleared first: a third of the cost of reading a megabyte that is in the page cache. Nobody
# sees what was in that memory, because a read that does not fill all of it raises.
_uninitialised = ctypes.pythonapi.PyByteArray_FromStringAndSize
_uninitialised.restype = ctypes.py_object
_uninitialised.argtypes = [ctypes.c_char_p, ctypes.c_ssize_t]


def _find_syncfs() -> Callable[[int], int] | None:
    try:
        function = ctypes.CDLL(None, use_errno=True).syncfs
    except (OSError, AttributeError):
        return None
    function.argtypes = [ctypes.c_int]
    function.restype = ctypes.c_int
    return function


class Fs:
    """The real file system."""

    __slots__ = ("_nowait_works", "_syncfs")

    def __init__(self) -> None:
        self._nowait_works = _RWF_NOWAIT != 0 and hasattr(os, "preadv")
        self._syncfs = _find_syncfs()

    def open(self, path: str, flags: int, mode: int = 0o644) -> int:
        return os.open(path, flags | os.O_CLOEXEC, mode)

    def close(self, fd: int) -> None:
        os.close(fd)

    def pread(self, fd: int, length: int, position: int) -> bytes:
        """Up to `length` bytes; fewer only at the end of the file."""
        data = os.pread(fd, length, position)
        if len(data) == length or not data:
            return data
        parts = [data]
        have = len(data)
        while have < length:
            data = os.pread(fd, length - have, position + have)
            if not data:
                break
            parts.append(data)
            have += len(data)
        return b"".join(parts)

    def preadv_nowait(self, fd: int, length: int, position: int) -> Buffer:
        """Like pread, but raises BlockingIOError when not all of it is in the page cache.

        The caller asks only for bytes that are in the file, so fewer bytes than asked for mean the rest is not cached.
        File systems without RWF_NOWAIT are read the plain way: a wait is better than no answer.
        """
        if not self._nowait_works:
            return self.pread(fd, length, position)
        data = _uninitialised(None, length)
        try:
            count = os.preadv(fd, [data], position, _RWF_NOWAIT)
        except OSError as error:
            if error.errno in (errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL):
                self._nowait_works = False
                return self.pread(fd, length, position)
            raise
        if count < length:
            raise BlockingIOError(errno.EAGAIN, "not in the page cache")
        return data

    def pwrite(self, fd: int, data: Buffer, position: int) -> int:
        """One system call; may write less than it was given."""
        return os.pwrite(fd, data, position)

    def write(self, fd: int, data: Buffer) -> int:
        """One system call; may write less than it was given."""
        return os.write(fd, data)

    def fsync(self, fd: int) -> None:
        os.fsync(fd)

    def fdatasync(self, fd: int) -> None:
        os.fdatasync(fd)

    def fsync_dir(self, path: str) -> None:
        """Makes names created, renamed or removed in `path` durable."""
        fd = self.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            self.fsync(fd)
        finally:
            self.close(fd)

    def sync_file_system(self, path: str) -> bool:
        """Flushes the whole file system that holds `path`; False where the kernel does not offer it."""
        if self._syncfs is None:
            return False
        fd = self.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            if self._syncfs(fd) != 0:
                code = ctypes.get_errno()
                raise OSError(code, os.strerror(code), path)
        finally:
            self.close(fd)
        return True

    def rename(self, source: str, target: str) -> None:
        os.rename(source, target)

    def unlink(self, path: str) -> None:
        os.unlink(path)

    def listdir(self, path: str) -> list[str]:
        return os.listdir(path)

    def mkdir(self, path: str, mode: int = 0o755) -> None:
        os.mkdir(path, mode)

    def makedirs(self, path: str, mode: int = 0o755) -> None:
        os.makedirs(path, mode, exist_ok=True)

    def rmdir(self, path: str) -> None:
        os.rmdir(path)

    def stat(self, path: str) -> os.stat_result:
        return os.stat(path)

    def fstat(self, fd: int) -> os.stat_result:
        return os.fstat(fd)

    def exists(self, path: str) -> bool:
        try:
            self.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            return False
        return True

    def truncate(self, fd: int, length: int) -> None:
        os.ftruncate(fd, length)

    def allocate(self, fd: int, length: int) -> None:
        """Reserves disk blocks for the first `length` bytes."""
        os.posix_fallocate(fd, 0, length)

    def lock(self, fd: int) -> None:
        """An exclusive lock on an open file; BlockingIOError when somebody else holds it.

        Two kinds, because they do not see each other: flock keeps out another broker in the same process too, lockf
        is the kind that Java takes.
        """
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        try:
            fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except PermissionError as error:
            raise BlockingIOError(error.errno, error.strerror) from error

    def write_all(self, fd: int, data: Buffer, position: int) -> None:
        """pwrite until everything is written; a full disk surfaces as OSError with the rest unwritten."""
        written = self.pwrite(fd, data, position)
        if written == len(data):
            return
        rest = memoryview(data)
        while written < len(rest):
            count = self.pwrite(fd, rest[written:], position + written)
            if count == 0:
                raise OSError(errno.ENOSPC, "the file system took no more bytes")
            written += count

    def read_file(self, path: str) -> bytes:
        fd = self.open(path, os.O_RDONLY)
        try:
            return self.pread(fd, self.fstat(fd).st_size, 0)
        finally:
            self.close(fd)

    def write_file(self, path: str, data: Buffer, *, sync: bool = True, recycle: str | None = None) -> None:
        """Replaces a file in one step: after a crash it holds the old content or the new, never a mixture.

        `recycle` names a file that is no longer needed: it becomes the new one, which on some file systems is far
        cheaper than making a file and removing another.
        """
        temporary = path + ".tmp"
        if recycle is not None:
            with contextlib.suppress(FileNotFoundError):
                self.rename(recycle, temporary)
        fd = self.open(temporary, os.O_WRONLY | os.O_CREAT)
        try:
            self.write_all(fd, data, 0)
            if self.fstat(fd).st_size > len(data):
                self.truncate(fd, len(data))
            if sync:
                self.fsync(fd)
        finally:
            self.close(fd)
        self.rename(temporary, path)
        if sync:
            self.fsync_dir(os.path.dirname(path) or ".")
