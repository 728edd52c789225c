"""A transactional id: the state of its transaction as the log has it, and the change that is on its way there."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

TopicPartition = tuple[str, int]

NO_PRODUCER_ID = -1
NO_EPOCH = -1
MAX_EPOCH = 32767


class TransactionState(IntEnum):
    """Kafka's states by the numbers in the log."""

    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    DEAD = 6
    PREPARE_EPOCH_FENCE = 7

    @property
    def label(self) -> str:
        """The name that clients see, such as PrepareCommit."""
        return "".join(word.capitalize() for word in self.name.split("_"))


_State = TransactionState
PREPARED = (_State.PREPARE_COMMIT, _State.PREPARE_ABORT)
"""The outcome is decided, and markers are being written."""
AT_REST = (_State.EMPTY, _State.COMPLETE_COMMIT, _State.COMPLETE_ABORT)
"""No transaction is open: a new one may begin, and the id may expire."""

FOLLOWS: dict[TransactionState, tuple[TransactionState, ...]] = {
    _State.EMPTY: AT_REST,
    _State.ONGOING: (_State.ONGOING, *AT_REST),
    _State.PREPARE_COMMIT: (_State.ONGOING,),
    _State.PREPARE_ABORT: (_State.ONGOING, *AT_REST),
    _State.COMPLETE_COMMIT: (_State.PREPARE_COMMIT,),
    _State.COMPLETE_ABORT: (_State.PREPARE_ABORT,),
    _State.DEAD: AT_REST,
    _State.PREPARE_EPOCH_FENCE: (_State.ONGOING,),
}
"""From which states each one may be reached. The fence is passed within one step and never written."""


@dataclass(frozen=True, slots=True)
class Transaction:
    """One record of `__transaction_state`, and the last epoch, which is not written."""

    producer_id: int
    timeout_ms: int
    state: TransactionState = TransactionState.EMPTY
    producer_epoch: int = NO_EPOCH
    last_producer_epoch: int = NO_EPOCH
    """The epoch before the latest bump that the producer itself asked for: it may ask again."""
    previous_producer_id: int = NO_PRODUCER_ID
    next_producer_id: int = NO_PRODUCER_ID
    """Takes over when the prepared transaction is complete, because the epochs of the current one are used up."""
    partitions: frozenset[TopicPartition] = frozenset()
    start_ms: int = -1
    last_update_ms: int = -1
    client_version: int = 0
    """The transaction version by which the client works: 2 gives every transaction an epoch of its own."""

    @property
    def is_epoch_exhausted(self) -> bool:
        """The highest epoch is kept back, so that the last producer can always be fenced."""
        return is_epoch_exhausted(self.producer_epoch)


def is_epoch_exhausted(epoch: int) -> bool:
    return epoch >= MAX_EPOCH - 1


class TransactionalId:
    """`current` is in the log; `pending` is on its way there and keeps other changes out meanwhile."""

    __slots__ = ("current", "fence_failed", "name", "pending")

    def __init__(self, name: str, current: Transaction) -> None:
        self.name = name
        self.current = current
        self.pending: Transaction | None = None
        self.fence_failed = False
        """A fence bumped the epoch in memory and could not be written: the next one does not bump it again."""
