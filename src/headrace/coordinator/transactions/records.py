"""The records of `__transaction_state`, in the versions that Kafka 4.3 writes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from headrace.coordinator.transactions.transaction import (
    NO_PRODUCER_ID,
    TopicPartition,
    Transaction,
    TransactionState,
)
from headrace.wire.errors import WireError
from headrace.wire.records import transaction as wire
from headrace.wire.schema import Buffer


class TransactionRecord(NamedTuple):
    """What becomes of a transactional id; without a transaction it is forgotten."""

    transactional_id: str
    transaction: Transaction | None

    def encode(self, transaction_version: int) -> tuple[bytes, bytes | None]:
        """Key and value for the cluster's transaction version: tagged fields came with version 1."""
        key = wire.encode_key(wire.TransactionLogKey(transactional_id=self.transactional_id))
        if self.transaction is None:
            return key, None
        version = 1 if transaction_version >= 1 else 0
        return key, wire.encode_value(_value(self.transaction, version), version)


def decode(key: Buffer, value: Buffer | None) -> TransactionRecord | None:
    """A record of the log; None for a key that only a newer version understands."""
    try:
        transactional_id = wire.decode_key(key).transactional_id
    except wire.UnknownKey:
        return None
    if value is None:
        return TransactionRecord(transactional_id, None)
    return TransactionRecord(transactional_id, _transaction(wire.decode_value(value)))


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    topics: dict[str, list[int]] = {}
    for topic, index in sorted(partitions):
        topics.setdefault(topic, []).append(index)
    return topics


def _value(transaction: Transaction, version: int) -> wire.TransactionLogValue:
    partitions = [
        wire.PartitionsSchema(topic=topic, partition_ids=indexes)
        for topic, indexes in by_topic(transaction.partitions).items()
    ]
    tagged = version >= 1
    return wire.TransactionLogValue(
        producer_id=transaction.producer_id,
        previous_producer_id=transaction.previous_producer_id if tagged else NO_PRODUCER_ID,
        next_producer_id=transaction.next_producer_id if tagged else NO_PRODUCER_ID,
        producer_epoch=transaction.producer_epoch,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_status=transaction.state,
        transaction_partitions=None if transaction.state is TransactionState.EMPTY else partitions,
        transaction_last_update_timestamp_ms=transaction.last_update_ms,
        transaction_start_timestamp_ms=transaction.start_ms,
        client_transaction_version=transaction.client_version if tagged else 0,
    )


def _transaction(value: wire.TransactionLogValue) -> Transaction:
    try:
        state = TransactionState(value.transaction_status)
    except ValueError as error:
        raise WireError(f"transaction record with unknown state {value.transaction_status}") from error
    return Transaction(
        producer_id=value.producer_id,
        timeout_ms=value.transaction_timeout_ms,
        state=state,
        producer_epoch=value.producer_epoch,
        previous_producer_id=value.previous_producer_id,
        next_producer_id=value.next_producer_id,
        partitions=frozenset(
            (each.topic, index) for each in value.transaction_partitions or () for index in each.partition_ids
        ),
        start_ms=value.transaction_start_timestamp_ms,
        last_update_ms=value.transaction_last_update_timestamp_ms,
        client_version=value.client_transaction_version,
    )
