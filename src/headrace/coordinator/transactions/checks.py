"""Who may do what: the checks before each step, in Kafka's order.

Each function gives the next transaction, or the error code of the answer; NONE where there is nothing left to do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from headrace.coordinator.transactions import transitions
from headrace.coordinator.transactions.transaction import (
    AT_REST,
    MAX_EPOCH,
    NO_EPOCH,
    NO_PRODUCER_ID,
    PREPARED,
    TopicPartition,
    Transaction,
    TransactionalId,
    TransactionState,
    is_epoch_exhausted,
)
from headrace.wire.errors import ErrorCode

NewProducerId = Callable[[], int | None]
"""Gives an id that nobody had before, or None when the next ones are not reserved yet."""

NO_ID_IN_HAND = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
"""What Kafka answers until the next block of producer ids is there: the client tries again."""


@dataclass(frozen=True, slots=True)
class Producer:
    """A producer as it names itself."""

    producer_id: int
    epoch: int


def initialize(
    entry: TransactionalId, producer: Producer | None, timeout_ms: int, new_producer_id: NewProducerId, now_ms: int
) -> Transaction | ErrorCode:
    """InitProducerId of an id without an open transaction. `producer` is what it was before, if it says so."""
    current = entry.current
    if current.is_epoch_exhausted and (producer is None or producer.epoch == current.producer_epoch):
        producer_id = new_producer_id()
        if producer_id is None:
            return NO_ID_IN_HAND
        return transitions.rotate_producer_id(
            current, producer_id, timeout_ms, now_ms, keep_last_epoch=producer is not None
        )
    if producer is not None and current.producer_epoch not in (NO_EPOCH, producer.epoch):
        if producer.epoch == current.last_producer_epoch:
            return transitions.repeat_epoch(current, timeout_ms, now_ms)
        return ErrorCode.PRODUCER_FENCED
    last_epoch = NO_EPOCH if producer is None else current.producer_epoch
    return transitions.bump_epoch(current, last_epoch, timeout_ms, now_ms)


def check_initialize(entry: TransactionalId, producer: Producer | None) -> ErrorCode:
    if entry.pending is not None:
        return ErrorCode.CONCURRENT_TRANSACTIONS
    if producer is not None and not _is_known(entry.current, producer):
        return ErrorCode.PRODUCER_FENCED
    return ErrorCode.CONCURRENT_TRANSACTIONS if entry.current.state in PREPARED else ErrorCode.NONE


def _is_known(current: Transaction, producer: Producer) -> bool:
    """Its id is the current one, or the one before if it may have missed that its epochs ran out; a new id takes all."""
    return (
        current.producer_epoch == NO_EPOCH
        or producer.producer_id == current.producer_id
        or (producer.producer_id == current.previous_producer_id and is_epoch_exhausted(producer.epoch))
    )


def add(
    entry: TransactionalId, producer: Producer, partitions: Sequence[TopicPartition], client_version: int, now_ms: int
) -> Transaction | ErrorCode:
    current = entry.current
    if entry.pending is not None:
        # First of all: the producer may already use the id and epoch that are pending.
        return ErrorCode.CONCURRENT_TRANSACTIONS
    error = _check_producer(current, producer)
    if error is not ErrorCode.NONE:
        return error
    if current.state is TransactionState.ONGOING and current.partitions.issuperset(partitions):
        return ErrorCode.NONE
    return transitions.add_partitions(current, partitions, client_version, now_ms)


def verify(
    entry: TransactionalId, producer: Producer, partitions: Sequence[TopicPartition]
) -> dict[TopicPartition, ErrorCode]:
    """Whether partitions are in the transaction. What is pending does not count: the log has the last word."""
    error = _check_producer(entry.current, producer)
    if error is not ErrorCode.NONE:
        return dict.fromkeys(partitions, error)
    added = entry.current.partitions
    return {each: ErrorCode.NONE if each in added else ErrorCode.TRANSACTION_ABORTABLE for each in partitions}


def _check_producer(current: Transaction, producer: Producer) -> ErrorCode:
    if current.producer_id != producer.producer_id:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    if current.producer_epoch != producer.epoch:
        return ErrorCode.PRODUCER_FENCED
    return ErrorCode.CONCURRENT_TRANSACTIONS if current.state in PREPARED else ErrorCode.NONE


def end_without_bump(entry: TransactionalId, producer: Producer, commit: bool, now_ms: int) -> Transaction | ErrorCode:
    """EndTxn below version 5: the epoch stays, so a repeated request looks like the first one."""
    current = entry.current
    if current.producer_id != producer.producer_id:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    if current.producer_epoch != producer.epoch:
        return ErrorCode.PRODUCER_FENCED
    if entry.pending is not None:
        return ErrorCode.CONCURRENT_TRANSACTIONS
    if current.state is TransactionState.ONGOING:
        return transitions.prepare(current, commit, 0, NO_PRODUCER_ID, now_ms)
    return _ended_already(current, commit)


def end_with_bump(
    entry: TransactionalId,
    producer: Producer,
    commit: bool,
    client_version: int,
    new_producer_id: NewProducerId,
    now_ms: int,
) -> Transaction | ErrorCode:
    """EndTxn from version 5 on: a repeated request is known by its epoch, which is the one before."""
    current = entry.current
    if entry.pending is not None:
        return ErrorCode.CONCURRENT_TRANSACTIONS
    after_overflow = (
        current.previous_producer_id == producer.producer_id
        and producer.epoch == MAX_EPOCH - 1
        and current.producer_epoch == 0
    )
    if current.producer_id != producer.producer_id and not after_overflow:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    is_retry = after_overflow or current.producer_epoch == producer.epoch + 1
    if not _is_epoch_valid(current, producer, is_retry, after_overflow):
        return ErrorCode.PRODUCER_FENCED
    if is_retry:
        return _ended_already(current, commit)
    if current.state in AT_REST and commit:
        return ErrorCode.INVALID_TXN_STATE
    return _prepare_with_bump(current, commit, client_version, new_producer_id, now_ms)


def _is_epoch_valid(current: Transaction, producer: Producer, is_retry: bool, after_overflow: bool) -> bool:
    same = current.producer_epoch == producer.epoch
    if current.state in PREPARED:
        return is_retry and not after_overflow
    if current.state in (TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT):
        return is_retry or same
    return same


def fence(
    entry: TransactionalId, server_version: int, new_producer_id: NewProducerId, now_ms: int
) -> Transaction | ErrorCode:
    """Abort an open transaction against its producer, whose epoch ends with it (Kafka's PREPARE_EPOCH_FENCE).

    Before version 2 the epoch rises in memory at once, and stays risen if the record cannot be written: whether it was
    written after all is not known to a producer that goes on.
    """
    current = entry.current
    assert current.state is TransactionState.ONGOING and entry.pending is None
    if server_version >= transitions.EPOCH_BUMP_FROM:
        return _prepare_with_bump(current, False, server_version, new_producer_id, now_ms)
    epoch = current.producer_epoch if entry.fence_failed else min(current.producer_epoch + 1, MAX_EPOCH)
    entry.current = replace(current, producer_epoch=epoch, last_producer_epoch=NO_EPOCH)
    return transitions.prepare(entry.current, False, 0, NO_PRODUCER_ID, now_ms)


def _prepare_with_bump(
    current: Transaction, commit: bool, client_version: int, new_producer_id: NewProducerId, now_ms: int
) -> Transaction | ErrorCode:
    next_producer_id = new_producer_id() if current.is_epoch_exhausted else NO_PRODUCER_ID
    if next_producer_id is None:
        return NO_ID_IN_HAND
    return transitions.prepare(current, commit, client_version, next_producer_id, now_ms)


def _ended_already(current: Transaction, commit: bool) -> ErrorCode:
    """What a request to end hears when the transaction is not open: fine, if it asks for what was decided."""
    complete = TransactionState.COMPLETE_COMMIT if commit else TransactionState.COMPLETE_ABORT
    prepared = TransactionState.PREPARE_COMMIT if commit else TransactionState.PREPARE_ABORT
    if current.state is complete:
        return ErrorCode.NONE
    return ErrorCode.CONCURRENT_TRANSACTIONS if current.state is prepared else ErrorCode.INVALID_TXN_STATE
