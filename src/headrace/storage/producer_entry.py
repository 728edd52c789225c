"""What a log remembers of one producer: its epoch, its last five batches, its open transaction.

Immutable values: an append makes a new entry and puts it in the old one's place. So a snapshot is a shallow copy of the
map, and taking back an append that was never written is putting the old entry back.
"""

from __future__ import annotations

from typing import NamedTuple

MAX_SEQUENCE = 2**31 - 1
MAX_EPOCH = 2**15 - 1
BATCHES_TO_RETAIN = 5
NO_EPOCH = -1
NO_SEQUENCE = -1


def retreat_sequence(sequence: int, by: int) -> int:
    """Sequences count up to 2^31-1 and go on at 0."""
    return (sequence - by) & MAX_SEQUENCE


class BatchMetadata(NamedTuple):
    """One appended batch, as much as is needed to recognise and answer its duplicate."""

    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int

    @property
    def first_sequence(self) -> int:
        return retreat_sequence(self.last_sequence, self.offset_delta)

    @property
    def first_offset(self) -> int:
        return self.last_offset - self.offset_delta


class ProducerEntry(NamedTuple):
    epoch: int = NO_EPOCH
    batches: tuple[BatchMetadata, ...] = ()
    last_timestamp: int = -1
    coordinator_epoch: int = -1
    txn_first_offset: int = -1

    @property
    def last_sequence(self) -> int:
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE

    @property
    def last_offset(self) -> int:
        return self.batches[-1].last_offset if self.batches else -1

    def find_duplicate(self, epoch: int, base_sequence: int, record_count: int) -> BatchMetadata | None:
        """The retained batch with exactly these sequences, if the producer sent them in this epoch."""
        if epoch != self.epoch:
            return None
        last_sequence = (base_sequence + record_count - 1) & MAX_SEQUENCE
        delta = record_count - 1
        for batch in self.batches:
            if batch.last_sequence == last_sequence and batch.offset_delta == delta:
                return batch
        return None

    def with_marker(self, epoch: int, coordinator_epoch: int, timestamp: int) -> ProducerEntry:
        """After the end of a transaction; a marker of a newer epoch leaves no batch to compare with."""
        batches = self.batches if epoch == self.epoch else ()
        return ProducerEntry(epoch, batches, timestamp, coordinator_epoch, -1)
