"""Producer state of one log: the guard against duplicates and gaps of idempotent producers.

Owns the map of producers and the open transactions. `check` refuses or recognises a batch, `update` makes it count; both
happen when a batch is *reserved*, so that the next one is judged against it while it is still being written, and `undo`
takes it back when the write failed. It reads and writes no files: `producer_snapshot` has the format, the log has the names.
"""

from __future__ import annotations

from headrace.storage import producer_entry
from headrace.storage.errors import AppendError
from headrace.storage.producer_entry import BatchMetadata, ProducerEntry
from headrace.wire.batch import BatchHeader, Record
from headrace.wire.errors import ErrorCode

_EMPTY = ProducerEntry()


class Producers:
    __slots__ = ("end_offset", "entries", "open_transactions")

    def __init__(self, end_offset: int = 0) -> None:
        self.entries: dict[int, ProducerEntry] = {}
        # First offset of every open transaction -> its producer. Kept for the last stable offset.
        self.open_transactions: dict[int, int] = {}
        # State reflects every batch below this offset.
        self.end_offset = end_offset

    def find_duplicate(self, header: BatchHeader) -> BatchMetadata | None:
        entry = self.entries.get(header.producer_id)
        if entry is None:
            return None
        return entry.find_duplicate(header.producer_epoch, header.base_sequence, header.record_count)

    def check(self, header: BatchHeader, offset: int, *, sequence: bool) -> None:
        """Raises the error Kafka gives for a stale epoch, a gap or a transaction mixed with plain records."""
        entry = self.entries.get(header.producer_id, _EMPTY)
        if header.producer_epoch < entry.epoch:
            raise AppendError(
                ErrorCode.INVALID_PRODUCER_EPOCH,
                f"epoch {header.producer_epoch} of producer {header.producer_id} at offset {offset} is smaller than "
                f"the last seen epoch {entry.epoch}",
            )
        if sequence:
            _check_sequence(header, entry, offset)
        if entry.txn_first_offset >= 0 and not header.is_transactional:
            raise AppendError(
                ErrorCode.INVALID_TXN_STATE,
                f"producer {header.producer_id} has a transaction open since offset {entry.txn_first_offset}, "
                f"but the batch at offset {offset} is not transactional",
            )

    def update(self, header: BatchHeader, base_offset: int, timestamp: int) -> ProducerEntry | None:
        """Makes the batch the producer's newest. Returns the entry it replaced, for `undo`."""
        producer_id, epoch, delta = header.producer_id, header.producer_epoch, header.last_offset_delta
        before = self.entries.get(producer_id)
        entry = before or _EMPTY
        txn_first_offset = entry.txn_first_offset
        if header.is_transactional and txn_first_offset < 0:
            txn_first_offset = base_offset
            self.open_transactions[base_offset] = producer_id
        last_sequence = header.base_sequence
        if last_sequence >= 0:
            last_sequence = producer_entry.advance_sequence(last_sequence, delta)
        batch = BatchMetadata(last_sequence, base_offset + delta, delta, timestamp)
        self.entries[producer_id] = entry.with_batch(epoch, batch, txn_first_offset)
        return before

    def end_transaction(self, header: BatchHeader, marker: Record) -> ProducerEntry | None:
        """A commit or abort marker. Returns the entry it replaced, for `undo`."""
        before = self.entries.get(header.producer_id)
        entry = before or _EMPTY
        self.open_transactions.pop(entry.txn_first_offset, None)
        value = marker.value or b""
        coordinator_epoch = int.from_bytes(value[2:6], "big", signed=True) if len(value) >= 6 else -1
        self.entries[header.producer_id] = entry.with_marker(header.producer_epoch, coordinator_epoch, marker.timestamp)
        return before

    def undo(self, producer_id: int, before: ProducerEntry | None) -> None:
        """Takes back the newest `update` or `end_transaction` of a producer."""
        entry = self.entries.pop(producer_id)
        self.open_transactions.pop(entry.txn_first_offset, None)
        if before is not None:
            self.entries[producer_id] = before
            if before.txn_first_offset >= 0:
                self.open_transactions[before.txn_first_offset] = producer_id

    def load(self, entries: dict[int, ProducerEntry], end_offset: int) -> None:
        """Replaces everything with what a snapshot held."""
        self.entries = entries
        self.open_transactions = {
            entry.txn_first_offset: producer_id for producer_id, entry in entries.items() if entry.txn_first_offset >= 0
        }
        self.end_offset = end_offset

    def expire(self, now_ms: int, expiration_ms: int) -> int:
        """Forgets producers that were idle for too long and have no open transaction; how many those were."""
        expired = [
            producer_id
            for producer_id, entry in self.entries.items()
            if entry.txn_first_offset < 0 and now_ms - entry.last_timestamp >= expiration_ms
        ]
        for producer_id in expired:
            del self.entries[producer_id]
        return len(expired)

    @property
    def first_unstable_offset(self) -> int | None:
        """The first offset of the oldest open transaction."""
        return min(self.open_transactions, default=None)

    def describe(self) -> list[tuple[int, ProducerEntry]]:
        """(producer id, entry) for DescribeProducers."""
        return list(self.entries.items())


def _check_sequence(header: BatchHeader, entry: ProducerEntry, offset: int) -> None:
    first = header.base_sequence
    if header.producer_epoch != entry.epoch:
        # A new epoch starts at 0. A producer nobody remembers may go on where it was: its records may have been deleted.
        if first != 0 and entry.epoch != producer_entry.NO_EPOCH:
            raise AppendError(
                ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
                f"producer {header.producer_id} begins epoch {header.producer_epoch} with sequence {first} at offset "
                f"{offset}; the current epoch is {entry.epoch}",
            )
        return
    last = entry.last_sequence
    if first != last + 1 and not (first == 0 and last == producer_entry.MAX_SEQUENCE):
        raise AppendError(
            ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
            f"sequence {first} of producer {header.producer_id} at offset {offset} does not follow its last sequence {last}",
        )
