"""One segment: a .log file with its offset, time and transaction index.

Owns the files' names, the number of committed bytes and the largest timestamp. The active segment keeps its indexes in
memory and its .log file open; a finished one opens its files when asked. It does not decide when to roll or what to
delete: the log does.

Threads: `write` runs in a writer thread, the `position_*` and `offset_for_time` searches in reader threads,
`write_indexes` in a background thread. They read `index` once and go on with what they got: the object is append-only
and replaced by None only after its files are complete.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from headrace.fs import Buffer
from headrace.storage import files, index, transaction_index
from headrace.storage.batches import ReadAt
from headrace.storage.config import LogConfig
from headrace.storage.descriptors import Folder, StoredFile
from headrace.storage.index import SegmentIndex
from headrace.storage.transaction_index import AbortedTransaction, TransactionIndex

MAX_RELATIVE_OFFSET = 2**31 - 1
NO_TIMESTAMP = -1
UNKNOWN_TIMESTAMP = -2

_Search = Callable[[index.ReadAt, int, int], int]

_HANDLES = threading.Lock()
_HANDLE_SLOTS = {files.OFFSET_INDEX: "_offset_file", files.TIME_INDEX: "_time_file", files.TXN_INDEX: "_txn_file"}


class Segment:
    __slots__ = (
        "_offset_file",
        "_time_file",
        "_txn_file",
        "aborted",
        "base_offset",
        "bytes_since_index",
        "created_ms",
        "first_timestamp",
        "folder",
        "has_aborted",
        "index",
        "log",
        "max_timestamp",
        "max_timestamp_offset",
        "preallocate",
        "roll_jitter_ms",
        "size",
    )

    def __init__(self, folder: Folder, base_offset: int, *, size: int = 0, created_ms: int = 0) -> None:
        self.folder = folder
        self.base_offset = base_offset
        self.size = size
        self.created_ms = created_ms
        self.log = StoredFile(folder, files.file_name(base_offset, files.LOG), writable=True)
        self.index: SegmentIndex | None = None
        self._offset_file: StoredFile | None = None
        self._time_file: StoredFile | None = None
        self._txn_file: StoredFile | None = None
        # Whether a transaction was aborted in it, and their index while it is written to. Most segments have none.
        self.has_aborted = False
        self.aborted: TransactionIndex | None = None
        # The largest timestamp and the last offset of its batch; unknown until read from the time index.
        self.max_timestamp = UNKNOWN_TIMESTAMP
        self.max_timestamp_offset = base_offset
        # Max timestamp of the first batch, from which segment.ms counts; unknown until there is one or it was read.
        self.first_timestamp = UNKNOWN_TIMESTAMP
        self.bytes_since_index = 0
        self.roll_jitter_ms = 0
        self.preallocate = 0

    @property
    def held(self) -> bool:
        """Whether the .log file is kept open for writing."""
        return self.log.held

    def create(self) -> None:
        """Makes the .log file, for a segment that was only reserved so far."""
        pool = self.folder.files
        fd = pool.hold(self.log)
        if self.folder.fs.fstat(fd).st_size:
            self.folder.fs.truncate(fd, 0)
        if self.preallocate:
            self.folder.fs.allocate(fd, self.preallocate)

    def activate(self, segment_index: SegmentIndex) -> None:
        """Makes this the segment that is written to."""
        if not self.held:
            self.folder.files.hold(self.log)
        if self.max_timestamp == UNKNOWN_TIMESTAMP:
            self.max_timestamp = NO_TIMESTAMP
        self.index = segment_index

    def write(self, batch: Buffer, position: int) -> None:
        """One batch to its reserved place. May be called from a writer thread: the pin keeps the descriptor from being
        closed, and its number from being given to another file, while the log is dropped elsewhere."""
        folder = self.folder
        fd = folder.files.pin(self.log)
        try:
            folder.fs.write_all(fd, batch, position)
        finally:
            folder.files.unpin(self.log)

    def committed(self, position: int, size: int, last_offset: int, max_timestamp: int, interval: int) -> None:
        """The batch at `position` is in the file: index it if the last entry is far enough back."""
        if max_timestamp > self.max_timestamp:
            self.max_timestamp = max_timestamp
            self.max_timestamp_offset = last_offset
        if self.bytes_since_index > interval:
            entries = self.index
            assert entries is not None
            entries.add(last_offset - self.base_offset, position)
            if self.max_timestamp >= 0:
                entries.add_time(self.max_timestamp, self.max_timestamp_offset - self.base_offset)
            self.bytes_since_index = 0
        self.bytes_since_index += size
        self.size = position + size

    def is_index_full(self, config: LogConfig, outstanding: int) -> bool:
        entries = self.index
        if entries is None:
            return False
        limit = config.segment_index_bytes
        return (
            len(entries.offsets) + outstanding >= limit // index.OFFSET_ENTRY_SIZE
            # One time entry is kept for the largest timestamp, written when the segment is finished.
            or len(entries.timestamps) + outstanding >= limit // index.TIME_ENTRY_SIZE - 1
        )

    def add_last_time_entry(self) -> None:
        """A finished or closed segment ends its time index with its largest timestamp."""
        if self.index is not None and self.max_timestamp >= 0:
            self.index.add_time(self.max_timestamp, self.max_timestamp_offset - self.base_offset)

    def add_aborted(self, entry: AbortedTransaction) -> None:
        """An abort marker is in the file. The flag last: a reader that sees it finds the entry."""
        if self.aborted is None:
            self.aborted = TransactionIndex()
        self.aborted.add(entry)
        self.has_aborted = True

    def collect_aborted(
        self, first_offset: int, upper_offset: int, *, nowait: bool = False
    ) -> tuple[list[AbortedTransaction], bool]:
        """Aborted transactions that overlap the range, and whether no later segment can have more of them."""
        entries = self.aborted
        if entries is not None:
            return entries.collect(first_offset, upper_offset)
        handle, size = self._index_file(files.TXN_INDEX), transaction_index.ENTRY_SIZE
        fs, pool = self.folder.fs, self.folder.files
        fd = pool.pin(handle)
        try:
            read = fs.preadv_nowait if nowait else fs.pread
            return transaction_index.search(
                lambda slot, count: transaction_index.decode(read(fd, count * size, slot * size)),
                fs.fstat(fd).st_size // size,
                first_offset,
                upper_offset,
            )
        finally:
            pool.unpin(handle)

    def write_indexes(self, *, sync: bool) -> None:
        """Brings the index files up to date with memory; what is in them already is not written again."""
        entries = self.index
        if entries is None:
            return
        written = entries.offsets_written
        fresh = entries.offset_bytes(max(written, 0))
        self._write_index(files.OFFSET_INDEX, fresh, written * index.OFFSET_ENTRY_SIZE, sync)
        entries.offsets_written = max(written, 0) + len(fresh) // index.OFFSET_ENTRY_SIZE
        written = entries.times_written
        fresh = entries.time_bytes(max(written, 0))
        self._write_index(files.TIME_INDEX, fresh, written * index.TIME_ENTRY_SIZE, sync)
        entries.times_written = max(written, 0) + len(fresh) // index.TIME_ENTRY_SIZE
        self.write_aborted(sync=sync)

    def write_aborted(self, *, sync: bool) -> None:
        """Brings the transaction index file up to date. There is none before the first abort."""
        aborted = self.aborted
        if aborted is None:
            return
        written = aborted.written
        fresh = aborted.entries[max(written, 0) :]
        self._write_index(
            files.TXN_INDEX, transaction_index.encode(fresh), written * transaction_index.ENTRY_SIZE, sync
        )
        aborted.written = max(written, 0) + len(fresh)

    def _write_index(self, suffix: str, fresh: bytes, position: int, sync: bool) -> None:
        if not fresh and position >= 0:
            return
        folder = self.folder
        handle = StoredFile(folder, files.file_name(self.base_offset, suffix), writable=True)
        fd = folder.files.pin(handle)
        try:
            start = max(position, 0)
            if fresh:
                folder.fs.write_all(fd, fresh, start)
            if position < 0 and folder.fs.fstat(fd).st_size > len(fresh):
                folder.fs.truncate(fd, len(fresh))
            if sync:
                folder.fs.fsync(fd)
        finally:
            folder.files.unpin(handle)
            folder.files.forget(handle)

    def deactivate(self) -> None:
        """Writing is over: indexes are read from their files from now on, and the .log file may be closed."""
        self.index = None
        self.aborted = None
        self.folder.files.release(self.log)

    def position_for(self, offset: int, *, nowait: bool = False) -> int:
        """A start of a batch at or before the one that holds `offset`."""
        entries = self.index
        if entries is not None:
            return entries.position_for(offset - self.base_offset)
        return self._search(files.OFFSET_INDEX, index.search_offset, offset - self.base_offset, nowait)

    def position_at_or_before(self, position: int, *, nowait: bool = False) -> int:
        """The last indexed start of a batch that is not past `position`."""
        entries = self.index
        if entries is not None:
            return entries.position_at_or_before(position)
        return self._search(files.OFFSET_INDEX, index.search_position, position, nowait)

    def offset_for_time(self, timestamp: int) -> int:
        """An offset to start from when looking for the first record that is not older than `timestamp`."""
        entries = self.index
        if entries is not None:
            return self.base_offset + entries.offset_for_time(timestamp)
        return self.base_offset + self._search(files.TIME_INDEX, index.search_time, timestamp, False)

    def _search(self, suffix: str, search: _Search, key: int, nowait: bool) -> int:
        handle = self._index_file(suffix)
        fs, pool = self.folder.fs, self.folder.files
        fd = pool.pin(handle)
        try:
            entry_size = index.TIME_ENTRY_SIZE if suffix == files.TIME_INDEX else index.OFFSET_ENTRY_SIZE
            entries = fs.fstat(fd).st_size // entry_size
            read = fs.preadv_nowait if nowait else fs.pread
            return search(lambda length, position: read(fd, length, position), entries, key)
        finally:
            pool.unpin(handle)

    def handle(self, suffix: str) -> StoredFile:
        """One of the segment's files, by the end of its name."""
        return self.log if suffix == files.LOG else self._index_file(suffix)

    def _index_file(self, suffix: str) -> StoredFile:
        """The handle of an index file, made when it is first read: by one of several readers, perhaps while the owner
        deletes the segment. `forget` dooms the log before it looks for handles, under the same lock."""
        with _HANDLES:
            slot = _HANDLE_SLOTS[suffix]
            handle: StoredFile | None = getattr(self, slot)
            if handle is None:
                handle = StoredFile(self.folder, files.file_name(self.base_offset, suffix))
                handle.doomed = self.log.doomed
                setattr(self, slot, handle)
            return handle

    def largest_timestamp(self) -> int:
        """The largest timestamp of any batch; the file's age when no batch has one (retention counts from it)."""
        if self.max_timestamp == UNKNOWN_TIMESTAMP:
            self._load_max_timestamp()
        if self.max_timestamp >= 0:
            return self.max_timestamp
        # Through the open file: its name may be changing.
        fd = self.folder.files.pin(self.log)
        try:
            return self.folder.fs.fstat(fd).st_mtime_ns // 1_000_000
        finally:
            self.folder.files.unpin(self.log)

    def _load_max_timestamp(self) -> None:
        """From the last entry of the time index, which a finished segment ends with."""
        handle, size = self._index_file(files.TIME_INDEX), index.TIME_ENTRY_SIZE
        try:
            fd = self.folder.files.pin(handle)
        except FileNotFoundError:
            self.max_timestamp = NO_TIMESTAMP
            return
        try:
            entries = self.folder.fs.fstat(fd).st_size // size
            data = self.folder.fs.pread(fd, size, (entries - 1) * size) if entries else b""
        finally:
            self.folder.files.unpin(handle)
        if len(data) == size:
            timestamp, relative_offset = index.TIME_ENTRY.unpack(data)
            self.max_timestamp_offset = self.base_offset + relative_offset
            self.max_timestamp = timestamp
        else:
            self.max_timestamp = NO_TIMESTAMP

    def reader(self, fd: int, *, nowait: bool = False) -> ReadAt:
        """Reads from this segment's pinned .log file."""
        read = self.folder.fs.preadv_nowait if nowait else self.folder.fs.pread
        return lambda length, position: read(fd, length, position)

    def forget(self) -> None:
        """No new readers; open files are closed when the last one is done."""
        self.folder.files.forget(self.log)
        with _HANDLES:
            handles = (self._offset_file, self._time_file, self._txn_file)
        for file in handles:
            if file is not None:
                self.folder.files.forget(file)
        self.deactivate()
