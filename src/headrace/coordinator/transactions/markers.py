"""Markers of a prepared transaction: which are still to be written, and what their outcome means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from headrace.coordinator.transactions.result import Markers
from headrace.coordinator.transactions.transaction import TopicPartition, TransactionalId, TransactionState
from headrace.wire.errors import ErrorCode

DONE = (
    ErrorCode.NONE,
    # The partition could not have taken the producer's records either.
    ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT,
    ErrorCode.UNSUPPORTED_VERSION,
)


def markers_of(entry: TransactionalId, coordinator_epoch: int) -> Markers:
    current = entry.current
    return Markers(
        transactional_id=entry.name,
        producer_id=current.producer_id,
        producer_epoch=current.producer_epoch,
        commit=current.state is TransactionState.PREPARE_COMMIT,
        coordinator_epoch=coordinator_epoch,
        transaction_version=current.client_version,
        partitions=tuple(sorted(current.partitions)),
    )


def after_writing(
    entry: TransactionalId, markers: Markers, errors: Mapping[TopicPartition, ErrorCode]
) -> Markers | None:
    """Take out the partitions that are done, and give the markers to write again, if there are any.

    A coordinator that has been replaced writes nothing more: its successor has read the same log.
    """
    done = {each for each in markers.partitions if errors.get(each) in DONE}
    entry.current = replace(entry.current, partitions=entry.current.partitions - done)
    left = tuple(each for each in markers.partitions if each not in done)
    if not left or any(errors.get(each) is ErrorCode.TRANSACTION_COORDINATOR_FENCED for each in left):
        return None
    return replace(markers, partitions=left, attempt=markers.attempt + 1)
