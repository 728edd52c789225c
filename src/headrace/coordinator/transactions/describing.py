"""Transactional ids as DescribeTransactions and ListTransactions show them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from headrace.coordinator.transactions.records import by_topic
from headrace.coordinator.transactions.transaction import TransactionalId, TransactionState
from headrace.wire.errors import ErrorCode
from headrace.wire.messages import describe_transactions, list_transactions

STATE_NAMES = {state.label: state for state in TransactionState}


@dataclass(frozen=True, slots=True)
class Filter:
    """Which transactional ids to list; an empty collection lets all pass."""

    states: Collection[str] = ()
    producer_ids: Collection[int] = ()
    longer_than_ms: int = -1

    def passes(self, entry: TransactionalId, now_ms: int) -> bool:
        current = entry.current
        return (
            (not self.producer_ids or current.producer_id in self.producer_ids)
            and (not self.states or current.state.label in self.states)
            and (self.longer_than_ms < 0 or now_ms - current.start_ms > self.longer_than_ms)
        )


def describe(transactional_id: str, entry: TransactionalId | None) -> describe_transactions.TransactionState:
    if entry is None:
        code = ErrorCode.TRANSACTIONAL_ID_NOT_FOUND if transactional_id else ErrorCode.INVALID_REQUEST
        return describe_transactions.TransactionState(transactional_id=transactional_id, error_code=code)
    current = entry.current
    return describe_transactions.TransactionState(
        transactional_id=transactional_id,
        transaction_state=current.state.label,
        transaction_timeout_ms=current.timeout_ms,
        transaction_start_time_ms=current.start_ms,
        producer_id=current.producer_id,
        producer_epoch=current.producer_epoch,
        topics=[
            describe_transactions.TopicData(topic=topic, partitions=indexes)
            for topic, indexes in by_topic(current.partitions).items()
        ],
    )


def listed(entries: Iterable[TransactionalId], wanted: Filter, now_ms: int) -> list[list_transactions.TransactionState]:
    return [
        list_transactions.TransactionState(
            transactional_id=entry.name,
            producer_id=entry.current.producer_id,
            transaction_state=entry.current.state.label,
        )
        for entry in entries
        if wanted.passes(entry, now_ms)
    ]
