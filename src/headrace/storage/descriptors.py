"""Open files, bounded in number.

A `StoredFile` is opened when somebody pins it and stays open after the last unpin, until the pool holds too many and the
one unused for longest is closed. A pinned file is never closed: that is what makes it safe to read in one thread while
another deletes or rolls. The active segment of every log stays pinned, so that an append never has to open anything.

One lock guards the counters; files are opened outside of it, because opening may wait for a disk.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict

from headrace.fs import Fs

DEFAULT_LIMIT = 1000


class Folder:
    """Where a log's files are. The path changes once, when the log is renamed for deletion."""

    __slots__ = ("files", "fs", "path")

    def __init__(self, path: str, files: OpenFiles) -> None:
        self.path = path
        self.files = files
        self.fs = files.fs

    def join(self, name: str) -> str:
        return f"{self.path}/{name}"


class StoredFile:
    """A file in a folder that may or may not be open right now."""

    __slots__ = ("doomed", "fd", "folder", "held", "name", "pins", "writable")

    def __init__(self, folder: Folder, name: str, *, writable: bool = False) -> None:
        self.folder = folder
        self.name = name
        self.writable = writable
        self.fd = -1
        self.pins = 0
        self.held = False
        self.doomed = False

    @property
    def path(self) -> str:
        return self.folder.join(self.name)


class OpenFiles:
    """The pool."""

    def __init__(self, fs: Fs | None = None, limit: int = DEFAULT_LIMIT) -> None:
        self.fs = fs or Fs()
        self.limit = limit
        self._lock = threading.Lock()
        self._idle: OrderedDict[StoredFile, None] = OrderedDict()
        self._open = 0
        self._held = 0

    @property
    def open_count(self) -> int:
        """How many files are open now, pinned or idle."""
        return self._open

    @property
    def held_count(self) -> int:
        """How many are held open for writing."""
        return self._held

    def pin(self, file: StoredFile) -> int:
        """Opens the file if need be and keeps it open until unpin; FileNotFoundError once it is gone."""
        with self._lock:
            if file.doomed:
                raise FileNotFoundError(file.path)
            if file.fd >= 0:
                if file.pins == 0:
                    self._idle.pop(file, None)
                file.pins += 1
                return file.fd
        return self._open_and_pin(file)

    def _open_and_pin(self, file: StoredFile) -> int:
        fd = self.fs.open(file.path, os.O_RDWR | os.O_CREAT if file.writable else os.O_RDONLY)
        with self._lock:
            if file.doomed:
                opened = -1
                surplus = [fd]
            elif file.fd >= 0:  # another thread was faster
                surplus = [fd]
                if file.pins == 0:
                    self._idle.pop(file, None)
            else:
                file.fd = fd
                self._open += 1
                surplus = self._overflow()
            if not file.doomed:
                file.pins += 1
                opened = file.fd
        self._close_all(surplus)
        if opened < 0:
            raise FileNotFoundError(file.path)
        return opened

    def unpin(self, file: StoredFile) -> None:
        with self._lock:
            file.pins -= 1
            if file.pins > 0:
                return
            if file.doomed:
                surplus = self._take(file)
            else:
                self._idle[file] = None
                surplus = self._overflow()
        self._close_all(surplus)

    def hold(self, file: StoredFile) -> int:
        """A pin for as long as the file is written to; not counted against the limit."""
        fd = self.pin(file)
        with self._lock:
            file.held = True
            self._held += 1
        return fd

    def release(self, file: StoredFile) -> None:
        """The end of a hold. Two threads may both come to it; it ends once."""
        with self._lock:
            if not file.held:
                return
            file.held = False
            self._held -= 1
        self.unpin(file)

    def forget(self, file: StoredFile) -> None:
        """The file is going away: no new pins; closed when the last pin goes."""
        with self._lock:
            file.doomed = True
            self._idle.pop(file, None)
            surplus = self._take(file) if file.pins == 0 else []
        self._close_all(surplus)

    def _take(self, file: StoredFile) -> list[int]:
        if file.fd < 0:
            return []
        fd, file.fd = file.fd, -1
        self._open -= 1
        return [fd]

    def _overflow(self) -> list[int]:
        surplus: list[int] = []
        while self._idle and self._open - self._held > self.limit:
            file, _ = self._idle.popitem(last=False)
            surplus += self._take(file)
        return surplus

    def _close_all(self, fds: list[int]) -> None:
        for fd in fds:
            self.fs.close(fd)
