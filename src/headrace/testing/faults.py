"""Disks that misbehave: slow, full, failing or tearing writes, for all files or for those whose path matches.

    fs = ThrottledFs(write_delay_s=0.2, matching="slow-topic-")
    with broker(fs=fs) as b: ...

Each is a real file system with one flaw, which can be switched on and off while the broker runs (`fs.active = True`). `matching` is
a part of the path or a function of it. `fs.hits` counts how often the flaw struck.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Collection

from headrace.fs import Buffer, Fs

Matching = str | Callable[[str], bool]
OPERATIONS = frozenset(("open", "read", "write", "fsync", "rename", "unlink", "truncate"))


class FaultyFs(Fs):
    """Knows the path of every open file, so that a flaw can be bound to some of them. By itself it has none."""

    def __init__(self, *, matching: Matching = "", active: bool = True) -> None:
        super().__init__()
        self.active = active
        self.hits = 0
        self._matches = matching if callable(matching) else (lambda path: matching in path)
        self._paths: dict[int, str] = {}

    def before(self, operation: str, path: str, size: int = 0) -> int:
        """Called ahead of everything on a matching path. May wait or raise; returns how many of `size` bytes may be written."""
        return size

    def _check(self, operation: str, path: str, size: int = 0) -> int:
        return self.before(operation, path, size) if self.active and self._matches(path) else size

    def open(self, path: str, flags: int, mode: int = 0o644) -> int:
        self._check("open", path)
        fd = super().open(path, flags, mode)
        self._paths[fd] = path
        return fd

    def close(self, fd: int) -> None:
        self._paths.pop(fd, None)
        super().close(fd)

    def pread(self, fd: int, length: int, position: int) -> bytes:
        self._check("read", self._paths.get(fd, ""))
        return super().pread(fd, length, position)

    def preadv_nowait(self, fd: int, length: int, position: int) -> Buffer:
        self._check("read", self._paths.get(fd, ""))
        return super().preadv_nowait(fd, length, position)

    def pwrite(self, fd: int, data: Buffer, position: int) -> int:
        allowed = self._check("write", self._paths.get(fd, ""), len(data))
        return super().pwrite(fd, memoryview(data)[:allowed], position)

    def write(self, fd: int, data: Buffer) -> int:
        allowed = self._check("write", self._paths.get(fd, ""), len(data))
        return super().write(fd, memoryview(data)[:allowed])

    def fsync(self, fd: int) -> None:
        self._check("fsync", self._paths.get(fd, ""))
        super().fsync(fd)

    def fdatasync(self, fd: int) -> None:
        self._check("fsync", self._paths.get(fd, ""))
        super().fdatasync(fd)

    def sync_file_system(self, path: str) -> bool:
        self._check("fsync", path)
        return super().sync_file_system(path)

    def rename(self, source: str, target: str) -> None:
        self._check("rename", target)
        super().rename(source, target)

    def unlink(self, path: str) -> None:
        self._check("unlink", path)
        super().unlink(path)

    def truncate(self, fd: int, length: int) -> None:
        self._check("truncate", self._paths.get(fd, ""))
        super().truncate(fd, length)


class ThrottledFs(FaultyFs):
    """A slow disk: every write, fsync or read of a matching file takes at least so long."""

    def __init__(
        self,
        *,
        write_delay_s: float = 0.0,
        fsync_delay_s: float = 0.0,
        read_delay_s: float = 0.0,
        matching: Matching = "",
        active: bool = True,
    ) -> None:
        super().__init__(matching=matching, active=active)
        self.delays_s = {"write": write_delay_s, "fsync": fsync_delay_s, "read": read_delay_s}

    def before(self, operation: str, path: str, size: int = 0) -> int:
        delay = self.delays_s.get(operation, 0.0)
        if delay:
            self.hits += 1
            time.sleep(delay)
        return size

    def preadv_nowait(self, fd: int, length: int, position: int) -> Buffer:
        # A slow disk does not slow the page cache; a file that is slow to read is not in it.
        if self.active and self.delays_s["read"] and self._matches(self._paths.get(fd, "")):
            raise BlockingIOError(errno.EAGAIN, "not in the page cache")
        return super(FaultyFs, self).preadv_nowait(fd, length, position)


class FullDiskFs(FaultyFs):
    """A disk that takes `capacity_bytes` more on matching files and is full then; `free` makes room."""

    def __init__(self, *, capacity_bytes: int = 0, matching: Matching = "", active: bool = True) -> None:
        super().__init__(matching=matching, active=active)
        self.capacity_bytes = capacity_bytes

    def free(self, capacity_bytes: int) -> None:
        self.capacity_bytes = capacity_bytes

    def before(self, operation: str, path: str, size: int = 0) -> int:
        if operation != "write":
            return size
        if self.capacity_bytes <= 0:
            self.hits += 1
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
        allowed = min(size, self.capacity_bytes)
        self.capacity_bytes -= allowed
        return allowed

    def allocate(self, fd: int, length: int) -> None:
        if self.active and length > self.capacity_bytes and self._matches(self._paths.get(fd, "")):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), self._paths.get(fd, ""))
        super().allocate(fd, length)


class FailingFs(FaultyFs):
    """A broken disk: after `after` more of the given operations on matching files, each of them raises."""

    def __init__(
        self,
        *,
        operations: Collection[str] = ("write", "fsync"),
        code: int = errno.EIO,
        after: int = 0,
        torn: bool = False,
        matching: Matching = "",
        active: bool = True,
    ) -> None:
        super().__init__(matching=matching, active=active)
        unknown = set(operations) - OPERATIONS
        assert not unknown, f"no such operations: {unknown}"
        self.operations = frozenset(operations)
        self.code = code
        self.after = after
        self.torn = torn
        """Whether the write that fails first leaves half of its bytes in the file."""

    def before(self, operation: str, path: str, size: int = 0) -> int:
        if operation not in self.operations:
            return size
        if self.after > 0:
            self.after -= 1
            return size
        self.hits += 1
        if self.torn and operation == "write" and size > 1:
            # The rest of this write comes back as another one, and fails.
            self.torn = False
            return size // 2
        raise OSError(self.code, os.strerror(self.code), path)
