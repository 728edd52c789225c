"""Asks the transaction coordinator before the first batch of a transaction goes into a partition.

Without that, a batch that was delayed on its way could open a transaction which the coordinator does not know and nobody
would ever end (KIP-890). Clients that register partitions themselves are verified; for newer ones (Produce 12,
TxnOffsetCommit 5) the partition is added. Owns what is known of verifications under way or failed: one `Guard` per
producer and partition, which a marker or a first batch removes, so that nothing is appended on the strength of an answer
that is out of date.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from headrace.storage.errors import AppendError
from headrace.wire.errors import ErrorCode

if TYPE_CHECKING:
    from headrace.replica.partition import Partition
    from headrace.wire.batch import BatchHeader

MAX_GUARDS = 100_000


class Guard:
    """A verification under way or failed."""

    __slots__ = ("adds", "epoch", "lowest_sequence")

    def __init__(self, epoch: int, sequence: int, adds: bool) -> None:
        self.epoch = epoch
        self.lowest_sequence = sequence
        """A batch that was to be the first and failed comes again; those behind it must not overtake it."""
        self.adds = adds

    def note(self, epoch: int, sequence: int) -> None:
        if epoch > self.epoch:
            self.epoch, self.lowest_sequence = epoch, sequence
        elif epoch == self.epoch:
            self.lowest_sequence = min(self.lowest_sequence, sequence)


class Verifications:
    """The guards of all partitions of this node."""

    __slots__ = ("_enabled", "_guards")

    def __init__(self, enabled: Callable[[], bool]) -> None:
        self._enabled = enabled
        """`transaction.partition.verification.enable`: without it the clients' word is taken."""
        self._guards: dict[tuple[str, int, int], Guard] = {}

    def begin(self, partition: Partition, producer_id: int, epoch: int, sequence: int, adds: bool) -> Guard | None:
        """A guard if the coordinator must be asked first, None if the transaction is open here already or nothing is verified."""
        if not adds and not self._enabled():
            return None
        entry = partition.log.producers.entries.get(producer_id)
        if entry is not None and epoch < entry.epoch:
            raise AppendError(
                ErrorCode.INVALID_PRODUCER_EPOCH,
                f"epoch {epoch} of producer {producer_id} is smaller than the last seen epoch {entry.epoch}",
            )
        if is_open(partition, producer_id, epoch):
            return None
        key = (partition.topic, partition.partition, producer_id)
        guard = self._guards.get(key)
        if guard is None:
            if len(self._guards) >= MAX_GUARDS:
                del self._guards[next(iter(self._guards))]
            guard = self._guards[key] = Guard(epoch, sequence, adds)
        guard.note(epoch, sequence)
        return guard

    def check(self, partition: Partition, producer_id: int, epoch: int, guard: Guard | None) -> None:
        """Right before the append: the answer must still be about the transaction that is open."""
        if is_open(partition, producer_id, epoch) or not self._enabled():
            return
        current = self._guards.get((partition.topic, partition.partition, producer_id))
        if guard is None or guard is not current:
            raise AppendError(ErrorCode.INVALID_TXN_STATE, "the records are not part of an ongoing transaction")

    def check_sequence(self, partition: Partition, header: BatchHeader) -> None:
        """Batches of a transaction must not overtake the one that failed to open it."""
        guard = self._guards.get((partition.topic, partition.partition, header.producer_id))
        if guard is None or is_open(partition, header.producer_id, header.producer_epoch):
            return
        entry = partition.log.producers.entries.get(header.producer_id)
        sequence = header.base_sequence
        if entry is not None and entry.find_duplicate(header.producer_epoch, sequence, header.record_count) is not None:
            return
        unknown = guard.adds and sequence != 0 and (entry is None or not entry.batches)
        if unknown or sequence > guard.lowest_sequence:
            expected = 0 if unknown else guard.lowest_sequence
            raise AppendError(
                ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
                f"sequence {sequence} of producer {header.producer_id}; its transaction begins with {expected}",
            )

    def on_appended(self, partition: Partition, producer_id: int) -> None:
        """The producer's transaction has a first offset now."""
        if self._guards:
            self._guards.pop((partition.topic, partition.partition, producer_id), None)

    def on_marker(self, partition: Partition, producer_id: int, epoch: int) -> None:
        """A transaction ends. With a new epoch for each, a guard of the marker's epoch is about the next transaction."""
        key = (partition.topic, partition.partition, producer_id)
        guard = self._guards.get(key)
        if guard is not None and not (guard.adds and guard.epoch == epoch):
            del self._guards[key]


def is_open(partition: Partition, producer_id: int, epoch: int) -> bool:
    """Whether the producer's transaction has begun in this partition."""
    return partition.log.producers.has_open_transaction(producer_id, epoch)


def client_error(error: ErrorCode, knows_abortable: bool) -> ErrorCode:
    """The coordinator's answer in words that a producer acts on."""
    if error is ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    if error is ErrorCode.TRANSACTION_ABORTABLE and not knows_abortable:
        return ErrorCode.INVALID_TXN_STATE
    return error
