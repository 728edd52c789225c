"""Transactional ids that nobody has used for long: forgotten, some at a time, by records without a value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from headrace.coordinator.transactions import transitions
from headrace.coordinator.transactions.records import TransactionRecord
from headrace.coordinator.transactions.result import Result
from headrace.coordinator.transactions.transaction import AT_REST, TransactionalId
from headrace.wire.errors import ErrorCode

TOMBSTONES_PER_BATCH = 2000
CHARACTERS_PER_BATCH = 128 * 1024
"""Of the names, which make up most of a batch and may be long: at most half a megabyte, below max.message.bytes."""


def expire(entries: Iterable[TransactionalId], latest_ms: int) -> list[Result]:
    """Have those forgotten that were last changed at `latest_ms` or before. Never one with an open transaction."""
    expired = [
        entry
        for entry in entries
        if entry.pending is None and entry.current.state in AT_REST and entry.current.last_update_ms <= latest_ms
    ]
    return [_tombstones(some) for some in _batches(expired)]


def _batches(entries: Iterable[TransactionalId]) -> Iterator[list[TransactionalId]]:
    some: list[TransactionalId] = []
    characters = 0
    for entry in entries:
        characters += len(entry.name)
        if some and (len(some) == TOMBSTONES_PER_BATCH or characters > CHARACTERS_PER_BATCH):
            yield some
            some, characters = [], len(entry.name)
        some.append(entry)
    if some:
        yield some


def _tombstones(entries: Sequence[TransactionalId]) -> Result:
    for entry in entries:
        entry.pending = transitions.expire(entry.current)

    def settle(error: ErrorCode, now_ms: int) -> Result:
        if error is not ErrorCode.NONE:
            for entry in entries:
                entry.pending = None
        return Result()

    return Result(records=[TransactionRecord(entry.name, None) for entry in entries], settles=[settle])
