"""The first offset of every leader epoch in a log: `leader-epoch-checkpoint`.

Text, one "<epoch> <start offset>" a line after a version and a count. Both grow together; an entry that contradicts
older ones replaces them. Held in memory; the log writes the file before it calls anything flushed.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

UNDEFINED_EPOCH = -1
UNDEFINED_OFFSET = -1


class LeaderEpochs:
    __slots__ = ("dirty", "entries")

    def __init__(self, entries: Iterable[tuple[int, int]] = ()) -> None:
        self.entries: tuple[tuple[int, int], ...] = ()
        for epoch, start_offset in entries:
            self.assign(epoch, start_offset)
        self.dirty = False

    @property
    def latest(self) -> int:
        return self.entries[-1][0] if self.entries else UNDEFINED_EPOCH

    def assign(self, epoch: int, start_offset: int) -> None:
        """Batches from `start_offset` on carry `epoch`, unless an entry already says so."""
        if epoch < 0 or start_offset < 0:
            return
        entries = self.entries
        if entries and entries[-1][0] == epoch and entries[-1][1] <= start_offset:
            return
        kept = tuple(entry for entry in entries if entry[0] < epoch and entry[1] < start_offset)
        self.entries = (*kept, (epoch, start_offset))
        self.dirty = True

    def truncate_from_end(self, end_offset: int) -> None:
        """The log now ends at `end_offset`."""
        kept = tuple(entry for entry in self.entries if entry[1] < end_offset)
        if len(kept) != len(self.entries):
            self.entries = kept
            self.dirty = True

    def truncate_from_start(self, start_offset: int) -> None:
        """The log now starts at `start_offset`; the epoch it lies in starts there."""
        older = [entry for entry in self.entries if entry[1] <= start_offset]
        if older and (len(older) > 1 or older[-1][1] != start_offset):
            self.entries = ((older[-1][0], start_offset), *self.entries[len(older) :])
            self.dirty = True

    def end_offset_for(self, epoch: int, log_end_offset: int) -> tuple[int, int]:
        """(largest epoch not above the one asked for, where it ends), or (-1, -1) if there is no saying."""
        if epoch == UNDEFINED_EPOCH or not self.entries:
            return UNDEFINED_EPOCH, UNDEFINED_OFFSET
        if epoch == self.latest:
            return epoch, log_end_offset
        slot = bisect_right(self.entries, (epoch, 2**63))
        if slot == len(self.entries):
            return UNDEFINED_EPOCH, UNDEFINED_OFFSET
        end_offset = self.entries[slot][1]
        return (epoch if slot == 0 else self.entries[slot - 1][0]), end_offset

    def epoch_for_offset(self, offset: int) -> int:
        """The epoch in which the record at `offset` was written, or -1."""
        epoch = UNDEFINED_EPOCH
        for candidate, start_offset in self.entries:
            if start_offset > offset:
                break
            epoch = candidate
        return epoch
