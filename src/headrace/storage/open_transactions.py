"""The transactions of one log that are not decided yet, for the last stable offset.

Only what is committed to the log counts: a transaction is open from the commit of its first batch to the commit of its
marker. What is judged ahead of that, while batches are still being written, is in `producers`.

Belongs to the owner thread, save that `first_offset` may be read by any: it is a number, replaced whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from headrace.storage.transaction_index import AbortedTransaction


class StartedTransaction(NamedTuple):
    """A batch was the first of a transaction."""

    producer_id: int
    first_offset: int


class CompletedTransaction(NamedTuple):
    """A marker ended a transaction that had records in this log."""

    producer_id: int
    first_offset: int
    last_offset: int
    aborted: bool


class OpenTransactions:
    __slots__ = ("_producers", "first_offset")

    def __init__(self, started: Iterable[StartedTransaction] = ()) -> None:
        # First offset -> producer id. Ascending, because transactions are added in the order of the log.
        self._producers = {
            first_offset: producer_id for producer_id, first_offset in sorted(started, key=_first_offset)
        }
        self.first_offset: int | None = next(iter(self._producers), None)
        """The first offset of the oldest open transaction."""

    def __len__(self) -> int:
        return len(self._producers)

    def __iter__(self) -> Iterator[StartedTransaction]:
        return (StartedTransaction(producer_id, offset) for offset, producer_id in self._producers.items())

    def start(self, transaction: StartedTransaction) -> None:
        self._producers[transaction.first_offset] = transaction.producer_id
        if self.first_offset is None:
            self.first_offset = transaction.first_offset

    def index_entry(self, transaction: CompletedTransaction) -> AbortedTransaction:
        """What the index must hold of an aborted transaction before `complete` lets readers go past it."""
        stable = transaction.last_offset + 1
        for first_offset in self._producers:
            if first_offset != transaction.first_offset:
                stable = first_offset
                break
        return AbortedTransaction(transaction.producer_id, transaction.first_offset, transaction.last_offset, stable)

    def complete(self, transaction: CompletedTransaction) -> None:
        self._producers.pop(transaction.first_offset, None)
        self.first_offset = next(iter(self._producers), None)


def _first_offset(transaction: StartedTransaction) -> int:
    return transaction.first_offset
