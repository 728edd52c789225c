"""The next transaction out of the current one: how each step changes ids, epochs, partitions and times.

Each function gives the record to be written. None of them looks at who asks: that is checked before.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from headrace.coordinator.transactions.transaction import (
    AT_REST,
    FOLLOWS,
    MAX_EPOCH,
    NO_EPOCH,
    NO_PRODUCER_ID,
    TopicPartition,
    Transaction,
    TransactionState,
)

EPOCH_BUMP_FROM = 2
"""The transaction version from which on every transaction ends with a new epoch (KIP-890)."""


def bump_epoch(current: Transaction, last_epoch: int, timeout_ms: int, now_ms: int) -> Transaction:
    """A producer begins anew under the same producer id."""
    return _initialized(
        current, timeout_ms, now_ms, producer_epoch=current.producer_epoch + 1, last_producer_epoch=last_epoch
    )


def repeat_epoch(current: Transaction, timeout_ms: int, now_ms: int) -> Transaction:
    """A producer asks again because the answer with its new epoch was lost."""
    return _initialized(current, timeout_ms, now_ms)


def rotate_producer_id(
    current: Transaction, producer_id: int, timeout_ms: int, now_ms: int, *, keep_last_epoch: bool
) -> Transaction:
    """The epochs are used up: begin anew under another producer id."""
    last_epoch = current.producer_epoch if keep_last_epoch else NO_EPOCH
    return _initialized(
        current, timeout_ms, now_ms, producer_id=producer_id, producer_epoch=0, last_producer_epoch=last_epoch
    )


def _initialized(current: Transaction, timeout_ms: int, now_ms: int, **changes: Any) -> Transaction:
    return _next(
        current,
        TransactionState.EMPTY,
        timeout_ms=timeout_ms,
        partitions=frozenset(),
        start_ms=-1,
        last_update_ms=now_ms,
        **changes,
    )


def add_partitions(
    current: Transaction, partitions: Iterable[TopicPartition], client_version: int, now_ms: int
) -> Transaction:
    return _next(
        current,
        TransactionState.ONGOING,
        partitions=current.partitions.union(partitions),
        start_ms=now_ms if current.state in AT_REST else current.start_ms,
        last_update_ms=now_ms,
        client_version=client_version,
    )


def prepare(current: Transaction, commit: bool, client_version: int, next_producer_id: int, now_ms: int) -> Transaction:
    """Decide the outcome. From version 2 on the markers already carry the next epoch, which fences what comes late."""
    epoch, last_epoch = current.producer_epoch, current.last_producer_epoch
    if client_version >= EPOCH_BUMP_FROM:
        # The highest epoch has no next one; an abort must go through all the same.
        epoch, last_epoch = min(epoch + 1, MAX_EPOCH), epoch
    return _next(
        current,
        TransactionState.PREPARE_COMMIT if commit else TransactionState.PREPARE_ABORT,
        producer_epoch=epoch,
        last_producer_epoch=last_epoch,
        next_producer_id=next_producer_id,
        # A client of version 2 may abort without knowing whether it has begun.
        start_ms=now_ms if current.state in AT_REST else current.start_ms,
        last_update_ms=now_ms,
        client_version=client_version,
    )


def complete(current: Transaction, now_ms: int) -> Transaction:
    """All markers are written. The producer knows the last epoch before an overflow, so that one is kept."""
    changes: dict[str, Any] = {}
    if current.client_version >= EPOCH_BUMP_FROM and current.next_producer_id != NO_PRODUCER_ID:
        changes = {"producer_id": current.next_producer_id, "producer_epoch": 0}
    committed = current.state is TransactionState.PREPARE_COMMIT
    return _next(
        current,
        TransactionState.COMPLETE_COMMIT if committed else TransactionState.COMPLETE_ABORT,
        next_producer_id=NO_PRODUCER_ID,
        partitions=frozenset(),
        last_update_ms=now_ms,
        **changes,
    )


def expire(current: Transaction) -> Transaction:
    """What is pending while the tombstone is on its way; it is never written itself."""
    return _next(current, TransactionState.DEAD, partitions=frozenset())


def _next(current: Transaction, state: TransactionState, **changes: Any) -> Transaction:
    assert current.state in FOLLOWS[state], f"{state.label} cannot follow {current.state.label}"
    return replace(current, state=state, previous_producer_id=current.producer_id, **changes)
