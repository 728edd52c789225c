"""The aborted transactions of one segment, for readers who must not see them.

A .txnindex file holds an entry for each abort marker in the segment, in the order of the markers, in Kafka's format:

     0  version             int16 (0)
     2  producer id         int64
    10  first offset        int64, of the transaction: it may lie in an earlier segment
    18  last offset         int64, of the marker
    26  last stable offset  int64, once the marker was written; no transaction that ends later begins below it

There is no file until there is an abort. `TransactionIndex` is the index of the segment being written: a list that the
owner appends to, so a reader in another thread may search below the length it saw first. Finished segments are searched
where they lie.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from typing import NamedTuple

from headrace.storage.errors import LogError
from headrace.wire.errors import ErrorCode

ENTRY = struct.Struct(">hqqqq")
ENTRY_SIZE = ENTRY.size
VERSION = 0
# How many entries are read at once. One is rarely enough and more than these are rarely wanted.
_CHUNK = 32

# (first slot, number of entries) -> those entries
ReadEntries = Callable[[int, int], "list[AbortedTransaction]"]


class CorruptTransactionIndex(Exception):
    """A .txnindex file that cannot be what was written; it is rebuilt from the log."""


class AbortedTransaction(NamedTuple):
    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class TransactionIndex:
    __slots__ = ("entries", "written")

    def __init__(self, entries: Iterable[AbortedTransaction] = (), written: int = 0) -> None:
        self.entries = list(entries)
        # How many entries are in the file already; -1 when the file is to be written from the start.
        self.written = written

    @property
    def last_offset(self) -> int:
        """The offset of the last marker that it knows of."""
        return self.entries[-1].last_offset if self.entries else -1

    def add(self, entry: AbortedTransaction) -> None:
        assert entry.last_offset > self.last_offset, "markers come in order"
        self.entries.append(entry)

    def cut(self, offset: int) -> None:
        """Drops entries of markers at or above an offset, in memory."""
        keep = sum(entry.last_offset < offset for entry in self.entries)
        if keep < len(self.entries):
            del self.entries[keep:]
            self.written = -1

    def collect(self, first_offset: int, upper_offset: int) -> tuple[list[AbortedTransaction], bool]:
        entries = self.entries
        return search(lambda slot, count: entries[slot : slot + count], len(entries), first_offset, upper_offset)


def search(
    read: ReadEntries, count: int, first_offset: int, upper_offset: int
) -> tuple[list[AbortedTransaction], bool]:
    """The transactions that overlap [first_offset, upper_offset), and whether no later segment can have more."""
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        if read(middle, 1)[0].last_offset < first_offset:
            low = middle + 1
        else:
            high = middle
    found: list[AbortedTransaction] = []
    while low < count:
        for entry in read(low, min(_CHUNK, count - low)):
            if entry.first_offset < upper_offset:
                found.append(entry)
            if entry.last_stable_offset >= upper_offset:
                return found, True
        low += _CHUNK
    return found, False


def encode(entries: Iterable[AbortedTransaction]) -> bytes:
    return b"".join(ENTRY.pack(VERSION, *entry) for entry in entries)


def decode(data: bytes | bytearray | memoryview) -> list[AbortedTransaction]:
    """Entries read by a search in a file that was checked when the log was opened."""
    entries: list[AbortedTransaction] = []
    for version, *fields in ENTRY.iter_unpack(data):
        if version != VERSION:
            raise LogError(ErrorCode.KAFKA_STORAGE_ERROR, f"a transaction index has an entry of version {version}")
        entries.append(AbortedTransaction(*fields))
    return entries


def parse(data: bytes, base_offset: int) -> TransactionIndex:
    """A whole file; CorruptTransactionIndex unless every entry can be one of the segment that begins at `base_offset`."""
    if len(data) % ENTRY_SIZE:
        raise CorruptTransactionIndex("the length is not a multiple of the size of an entry")
    entries: list[AbortedTransaction] = []
    last = base_offset - 1
    for version, producer_id, first_offset, last_offset, last_stable_offset in ENTRY.iter_unpack(data):
        if version != VERSION or producer_id < 0 or not 0 <= first_offset <= last_offset:
            raise CorruptTransactionIndex(f"entry {len(entries)} is not one of an aborted transaction")
        if last_offset <= last or last_stable_offset > last_offset + 1:
            raise CorruptTransactionIndex(f"entry {len(entries)} is out of order")
        last = last_offset
        entries.append(AbortedTransaction(producer_id, first_offset, last_offset, last_stable_offset))
    return TransactionIndex(entries, len(entries))
