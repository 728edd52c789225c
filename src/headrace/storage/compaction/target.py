"""A segment being written by compaction: `.log.cleaned` and its indexes, on disk before anybody is told of it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import NamedTuple

from headrace.fs import Buffer, Fs
from headrace.storage import files, transaction_index
from headrace.storage.compaction.source import Pace
from headrace.storage.index import SegmentIndex
from headrace.storage.segment import NO_TIMESTAMP
from headrace.storage.transaction_index import AbortedTransaction

_WRITE_AT = 1024 * 1024


class Cleaned(NamedTuple):
    """A finished segment with the name `.cleaned` that is to take the place of old ones, named by their base offsets."""

    replaces: tuple[int, ...]
    size: int
    max_timestamp: int
    max_timestamp_offset: int
    has_aborted: bool

    @property
    def base_offset(self) -> int:
        return self.replaces[0]

    @property
    def suffixes(self) -> tuple[str, ...]:
        """Of the files that it has."""
        usual = files.LOG, files.OFFSET_INDEX, files.TIME_INDEX
        return (*usual, files.TXN_INDEX) if self.has_aborted else usual


class CleanedSegment:
    def __init__(self, fs: Fs, folder: str, replaces: tuple[int, ...], index_interval_bytes: int, pace: Pace) -> None:
        self._fs = fs
        self._folder = folder
        self._replaces = replaces
        self._interval = index_interval_bytes
        self._pace = pace
        self._index = SegmentIndex()
        self._since_index = 0
        self._buffers: list[Buffer] = []
        self._buffered = 0
        self.size = 0
        self._max_timestamp = NO_TIMESTAMP
        self._max_timestamp_offset = replaces[0]
        self._fd = fs.open(self._path(files.LOG), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)

    def _path(self, suffix: str) -> str:
        return f"{self._folder}/{files.file_name(self._replaces[0], suffix + files.CLEANED)}"

    def append(self, data: Buffer, last_offset: int, max_timestamp: int) -> None:
        """One batch; indexed as one that is appended to a log."""
        base_offset = self._replaces[0]
        if max_timestamp > self._max_timestamp:
            self._max_timestamp, self._max_timestamp_offset = max_timestamp, last_offset
        if self._since_index > self._interval:
            self._index.add(last_offset - base_offset, self.size)
            if self._max_timestamp >= 0:
                self._index.add_time(self._max_timestamp, self._max_timestamp_offset - base_offset)
            self._since_index = 0
        size = len(data)
        self._since_index += size
        self.size += size
        self._buffers.append(data)
        self._buffered += size
        if self._buffered >= _WRITE_AT:
            self._write()

    def _write(self) -> None:
        data = b"".join(self._buffers)
        self._fs.write_all(self._fd, data, self.size - len(data))
        self._buffers, self._buffered = [], 0
        self._pace.spend(len(data))

    def finish(self, aborted: Iterable[AbortedTransaction], modified_ns: int) -> Cleaned:
        """Everything to the disk. The file is as old as the newest it replaces: retention may count from that."""
        self._write()
        if self._max_timestamp >= 0:
            self._index.add_time(self._max_timestamp, self._max_timestamp_offset - self._replaces[0])
        entries = transaction_index.encode(aborted)
        self._write_file(files.OFFSET_INDEX, self._index.offset_bytes(0))
        self._write_file(files.TIME_INDEX, self._index.time_bytes(0))
        if entries:
            self._write_file(files.TXN_INDEX, entries)
        os.utime(self._fd, ns=(modified_ns, modified_ns))
        self._fs.fsync(self._fd)
        self.close()
        return Cleaned(self._replaces, self.size, self._max_timestamp, self._max_timestamp_offset, bool(entries))

    def _write_file(self, suffix: str, data: bytes) -> None:
        fd = self._fs.open(self._path(suffix), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        try:
            self._fs.write_all(fd, data, 0)
            self._fs.fsync(fd)
        finally:
            self._fs.close(fd)

    def close(self) -> None:
        if self._fd >= 0:
            fd, self._fd = self._fd, -1
            self._fs.close(fd)
