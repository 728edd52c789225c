"""Producer state of one log: the guard against duplicates and gaps of idempotent producers, and against late markers.

Owns the map of producers. `judge` and `check` refuse or recognise a batch, `update` and `end_transaction` make it count;
all happen when a batch is *reserved*, so that the next one is judged against it while it is still being written, and
`undo` takes it back when the write failed. Which transactions are open for readers follows only with the commit:
`transactions`. It reads and writes no files: `producer_snapshot` has the format, the log has the names.
"""

from __future__ import annotations

from headrace.storage import producer_entry
from headrace.storage.errors import AppendError
from headrace.storage.open_transactions import CompletedTransaction, OpenTransactions, StartedTransaction
from headrace.storage.producer_entry import BatchMetadata, ProducerEntry
from headrace.wire.batch import BatchHeader
from headrace.wire.control import Marker
from headrace.wire.errors import ErrorCode

TRANSACTIONAL = 0x10
_EMPTY = ProducerEntry()
# What a named tuple's own constructor comes down to, at half the price; this runs for every batch.
_new = tuple.__new__


class Producers:
    __slots__ = ("end_offset", "entries", "transactions")

    def __init__(self, end_offset: int = 0) -> None:
        self.entries: dict[int, ProducerEntry] = {}
        self.transactions = OpenTransactions()
        # State reflects every batch below this offset.
        self.end_offset = end_offset

    def judge(self, header: BatchHeader, offset: int) -> BatchMetadata | None:
        """A client's batch: the retained batch it is a duplicate of, None if it may be appended, or AppendError."""
        entry = self.entries.get(header[9])
        if entry is None:
            # Nobody remembers this producer; its records may have been deleted, so any sequence will do.
            return None
        epoch, batches, _, _, txn_first_offset = entry
        follows = epoch == header[10] and batches and batches[-1][0] + 1 == header[11]
        if follows and (txn_first_offset < 0 or header[5] & TRANSACTIONAL):
            return None
        if not follows:
            duplicate = entry.find_duplicate(header.producer_epoch, header.base_sequence, header.record_count)
            if duplicate is not None:
                return duplicate
        self.check(header, offset, sequence=True)
        return None

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

    def check_marker(self, header: BatchHeader, marker: Marker, offset: int, transaction_version: int) -> None:
        """Raises the error Kafka gives for a marker that comes too late: of an older epoch, or of an older coordinator.

        With transaction version 2 every transaction ends with an epoch of its own, one above that of its records. So a
        marker of the current epoch belongs to a transaction that has ended. Where none is open it is a repetition and
        does no harm; the largest epoch there is could not be raised (KIP-890).
        """
        entry = self.entries.get(header.producer_id, _EMPTY)
        epoch = header.producer_epoch
        late = epoch < entry.epoch
        if transaction_version >= 2 and epoch == entry.epoch:
            late = entry.txn_first_offset >= 0 and epoch != producer_entry.MAX_EPOCH
        if late:
            raise AppendError(
                ErrorCode.INVALID_PRODUCER_EPOCH,
                f"the marker of epoch {epoch} of producer {header.producer_id} at offset {offset} is not newer than the "
                f"last seen epoch {entry.epoch}",
            )
        if marker.coordinator_epoch < entry.coordinator_epoch:
            raise AppendError(
                ErrorCode.TRANSACTION_COORDINATOR_FENCED,
                f"the marker for producer {header.producer_id} at offset {offset} is of coordinator epoch "
                f"{marker.coordinator_epoch}; there was one of epoch {entry.coordinator_epoch}",
            )

    def update(self, header: BatchHeader, base_offset: int, timestamp: int) -> ProducerEntry | None:
        """Makes the batch the producer's newest. Returns the entry it replaced, for `undo`."""
        _, _, _, _, _, attributes, delta, _, _, producer_id, epoch, sequence, _ = header
        before = self.entries.get(producer_id)
        last_epoch, batches, _, coordinator_epoch, txn_first_offset = before or _EMPTY
        if attributes & TRANSACTIONAL and txn_first_offset < 0:
            txn_first_offset = base_offset
        last_sequence = (sequence + delta) & producer_entry.MAX_SEQUENCE if sequence >= 0 else sequence
        batch = _new(BatchMetadata, (last_sequence, base_offset + delta, delta, timestamp))
        batches = (*batches[1 - producer_entry.BATCHES_TO_RETAIN :], batch) if epoch == last_epoch else (batch,)
        self.entries[producer_id] = _new(
            ProducerEntry, (epoch, batches, timestamp, coordinator_epoch, txn_first_offset)
        )
        return before

    def end_transaction(self, header: BatchHeader, marker: Marker, timestamp: int) -> ProducerEntry | None:
        """A commit or abort marker. Returns the entry it replaced, for `undo`."""
        before = self.entries.get(header.producer_id)
        self.entries[header.producer_id] = (before or _EMPTY).with_marker(
            header.producer_epoch, marker.coordinator_epoch, timestamp
        )
        return before

    def undo(self, producer_id: int, before: ProducerEntry | None) -> None:
        """Takes back the newest `update` or `end_transaction` of a producer."""
        if before is not None:
            self.entries[producer_id] = before
        else:
            # It may have expired meanwhile: a producer's timestamps can be as old as its client likes.
            self.entries.pop(producer_id, None)

    def load(self, entries: dict[int, ProducerEntry], end_offset: int) -> None:
        """Replaces everything with what a snapshot held."""
        self.entries = entries
        self.transactions = OpenTransactions(
            StartedTransaction(producer_id, entry.txn_first_offset)
            for producer_id, entry in entries.items()
            if entry.txn_first_offset >= 0
        )
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

    def has_open_transaction(self, producer_id: int, epoch: int) -> bool:
        """Whether the producer has written in a transaction in this epoch, and no marker has ended it."""
        entry = self.entries.get(producer_id)
        return entry is not None and entry.txn_first_offset >= 0 and entry.epoch == epoch

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


def started(before: ProducerEntry | None, header: BatchHeader, base_offset: int) -> StartedTransaction | None:
    """What a transactional batch began, given the entry it replaced."""
    if before is not None and before.txn_first_offset >= 0:
        return None
    return StartedTransaction(header.producer_id, base_offset)


def completed(
    before: ProducerEntry | None, header: BatchHeader, marker: Marker, offset: int
) -> CompletedTransaction | None:
    """What a marker ended, given the entry it replaced. A marker alone in a log decides about no record."""
    if before is None or before.txn_first_offset < 0:
        return None
    return CompletedTransaction(header.producer_id, before.txn_first_offset, offset, not marker.commit)
