"""The two sparse indexes of a segment, in memory and on disk.

    .index      (relative offset: int32, position: int32)      8 bytes an entry, ascending in both
    .timeindex  (timestamp: int64, relative offset: int32)    12 bytes an entry, ascending in both

Big-endian. An offset entry names the *last* offset of a batch and the position where that batch starts; a time entry
says that no batch up to that offset has a larger timestamp. Offsets are relative to the segment's base offset.

`SegmentIndex` is the pair for the segment being written: four parallel arrays, only ever appended to by the owner, so a
reader in another thread may search below the length it saw first. The functions at the end search index files of
finished segments where they lie, a few bytes at a time.
"""

from __future__ import annotations

import struct
import sys
from array import array
from bisect import bisect_right
from collections.abc import Callable

OFFSET_ENTRY = struct.Struct(">II")
TIME_ENTRY = struct.Struct(">qI")
OFFSET_ENTRY_SIZE = OFFSET_ENTRY.size
TIME_ENTRY_SIZE = TIME_ENTRY.size

# (length, position) -> that many bytes of the index file
ReadAt = Callable[[int, int], bytes | bytearray | memoryview]


class CorruptIndex(Exception):
    """An index file that cannot be what was written; it is rebuilt from the log."""


class SegmentIndex:
    __slots__ = (
        "offsets",
        "offsets_written",
        "positions",
        "time_offsets",
        "times_written",
        "timestamps",
    )

    def __init__(self) -> None:
        self.offsets = array("I")
        self.positions = array("I")
        self.timestamps = array("q")
        self.time_offsets = array("I")
        # How many entries of each are in the files already; -1 when the files are to be written from the start.
        self.offsets_written = -1
        self.times_written = -1

    def add(self, relative_offset: int, position: int) -> None:
        # Positions last: a reader takes its length, so it never sees an entry without its offset.
        self.offsets.append(relative_offset)
        self.positions.append(position)

    def add_time(self, timestamp: int, relative_offset: int) -> None:
        """Adds an entry unless the index already says as much."""
        if not self.timestamps or timestamp > self.timestamps[-1]:
            self.timestamps.append(timestamp)
            self.time_offsets.append(relative_offset)

    def position_for(self, relative_offset: int) -> int:
        """Where to start looking for an offset: the start of a batch at or before the one that holds it."""
        slot = bisect_right(self.offsets, relative_offset, 0, len(self.positions)) - 1
        return self.positions[slot] if slot >= 0 else 0

    def position_at_or_before(self, position: int) -> int:
        """The last known start of a batch that is not past `position`."""
        slot = bisect_right(self.positions, position) - 1
        return self.positions[slot] if slot >= 0 else 0

    def offset_for_time(self, timestamp: int) -> int:
        """A relative offset up to which every timestamp is smaller than `timestamp`, save those of its own batch."""
        slot = bisect_right(self.timestamps, timestamp, 0, len(self.time_offsets)) - 1
        return self.time_offsets[slot] if slot >= 0 else 0

    def cut(self, relative_offset: int) -> None:
        """Drops entries at or above an offset, in memory; the files are rewritten from the start."""
        keep = bisect_right(self.offsets, relative_offset - 1)
        del self.offsets[keep:]
        del self.positions[keep:]
        keep = bisect_right(self.time_offsets, relative_offset - 1)
        del self.timestamps[keep:]
        del self.time_offsets[keep:]
        self.offsets_written = -1
        self.times_written = -1

    def offset_bytes(self, start: int = 0) -> bytes:
        count = len(self.positions)
        pairs = array("I", bytes(8 * (count - start)))
        pairs[0::2] = self.offsets[start:count]
        pairs[1::2] = self.positions[start:count]
        return _big_endian(pairs).tobytes()

    def time_bytes(self, start: int = 0) -> bytes:
        count = len(self.time_offsets)
        pack = TIME_ENTRY.pack
        return b"".join(map(pack, self.timestamps[start:count], self.time_offsets[start:count]))


def parse(offset_data: bytes, time_data: bytes) -> SegmentIndex:
    """Both index files read whole. Zero entries after a crash and lengths out of step are CorruptIndex."""
    if len(offset_data) % OFFSET_ENTRY_SIZE or len(time_data) % TIME_ENTRY_SIZE:
        raise CorruptIndex("the length is not a multiple of the size of an entry")
    index = SegmentIndex()
    pairs = _big_endian(array("I", offset_data))
    index.offsets = pairs[0::2]
    index.positions = pairs[1::2]
    if not _ascending(index.offsets) or not _ascending(index.positions):
        raise CorruptIndex("entries of the offset index are not in order")
    for timestamp, relative_offset in TIME_ENTRY.iter_unpack(time_data):
        index.timestamps.append(timestamp)
        index.time_offsets.append(relative_offset)
    if not _ascending(index.timestamps) or not _ascending(index.time_offsets):
        raise CorruptIndex("entries of the time index are not in order")
    index.offsets_written = len(index.offsets)
    index.times_written = len(index.timestamps)
    return index


def _big_endian(values: array[int]) -> array[int]:
    if sys.byteorder == "little":
        values.byteswap()
    return values


def _ascending(values: array[int]) -> bool:
    return all(map(int.__lt__, values, values[1:]))


def search_offset(read: ReadAt, entries: int, relative_offset: int) -> int:
    """`SegmentIndex.position_for`, on a file."""
    low, high, position = 0, entries, 0
    while low < high:
        middle = (low + high) // 2
        found, at = OFFSET_ENTRY.unpack(read(OFFSET_ENTRY_SIZE, middle * OFFSET_ENTRY_SIZE))
        if found <= relative_offset:
            low, position = middle + 1, at
        else:
            high = middle
    return position


def search_position(read: ReadAt, entries: int, position: int) -> int:
    """`SegmentIndex.position_at_or_before`, on a file."""
    low, high, best = 0, entries, 0
    while low < high:
        middle = (low + high) // 2
        _, at = OFFSET_ENTRY.unpack(read(OFFSET_ENTRY_SIZE, middle * OFFSET_ENTRY_SIZE))
        if at <= position:
            low, best = middle + 1, at
        else:
            high = middle
    return best


def search_time(read: ReadAt, entries: int, timestamp: int) -> int:
    """`SegmentIndex.offset_for_time`, on a file."""
    low, high, best = 0, entries, 0
    while low < high:
        middle = (low + high) // 2
        found, relative_offset = TIME_ENTRY.unpack(read(TIME_ENTRY_SIZE, middle * TIME_ENTRY_SIZE))
        if found <= timestamp:
            low, best = middle + 1, relative_offset
        else:
            high = middle
    return best
