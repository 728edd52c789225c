"""What a transaction coordinator hands to its shell: records to append, markers to write, answers to send."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from headrace.coordinator.result import Completion, Token
from headrace.coordinator.transactions.records import TransactionRecord
from headrace.coordinator.transactions.transaction import TopicPartition
from headrace.wire.errors import ErrorCode


@dataclass(frozen=True, slots=True)
class Markers:
    """The end of a transaction, to be written into partitions. Written twice, a marker does no harm."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    commit: bool
    coordinator_epoch: int
    transaction_version: int
    partitions: tuple[TopicPartition, ...]
    attempt: int = 0
    """How often some of them could not be written: the shell waits before it tries again."""


@dataclass(slots=True)
class Result:
    """The outcome of one step.

    `completions` depend on nothing that is written. The shell sends them, starts to write `markers`, appends the records
    as one batch, and calls `TransactionCoordinator.settle` exactly once when that has ended; with no records right away.
    What settles is a result again.
    """

    records: list[TransactionRecord] = field(default_factory=list)
    completions: list[Completion] = field(default_factory=list)
    markers: list[Markers] = field(default_factory=list)
    settles: list[Settle] = field(default_factory=list)

    def complete(self, token: Token, response: Any) -> None:
        self.completions.append((token, response))

    def take(self, other: Result) -> None:
        """Add what another step wants done."""
        self.records += other.records
        self.completions += other.completions
        self.markers += other.markers
        self.settles += other.settles


Settle = Callable[[ErrorCode, int], Result]
"""Called with NONE when the records are in the log, or with the reason why not, and with the time."""


def answer(token: Token, response: Any) -> Result:
    """A result that is an answer and nothing else."""
    return Result(completions=[(token, response)])
