"""The transactional batches of one Produce request: which of them the transaction coordinator lets in."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TYPE_CHECKING

from headrace.broker.verification import Guard, client_error, is_open
from headrace.storage.errors import AppendError
from headrace.storage.log import Appended
from headrace.wire.batch_header import HEADER_SIZE, BatchHeader, read_header
from headrace.wire.errors import ErrorCode, WireError
from headrace.wire.messages.produce import ProduceRequest

if TYPE_CHECKING:
    from headrace.broker.server import Broker
    from headrace.replica.partition import Partition

ADDS_FROM = 12
"""Writing to a partition adds it to the transaction; before, clients have added it and are verified."""
ABORTABLE_FROM = 11
TOPIC_IDS = 13
_COORDINATOR_ELSEWHERE = {
    ErrorCode.NETWORK_EXCEPTION,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
}


class Unverified(AppendError):
    """The coordinator does not let a batch in."""


class TransactionalBatches:
    """`find` them, `verify` them, then `append` each of them."""

    def __init__(self, broker: Broker, request: ProduceRequest, version: int) -> None:
        self._broker = broker
        self._transactional_id = request.transactional_id or ""
        self._version = version
        self._adds = version >= ADDS_FROM
        self._found: list[tuple[Partition, BatchHeader]] = []
        self._guards: dict[Partition, Guard] = {}
        self._refused: dict[Partition, AppendError] = {}

    def find(self, request: ProduceRequest) -> ErrorCode:
        """Look at the headers. A request is of one producer."""
        by_id = self._version >= TOPIC_IDS
        replicas = self._broker.replicas
        topics = replicas.topics_by_id if by_id else replicas.topics
        for topic in request.topic_data:
            partitions = topics.get(topic.topic_id if by_id else topic.name) or {}
            for data in topic.partition_data:
                header = _transactional_header(data.records)
                partition = partitions.get(data.index)
                if header is not None and partition is not None:
                    self._found.append((partition, header))
        producers = {(header.producer_id, header.producer_epoch) for _, header in self._found}
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING if len(producers) > 1 else ErrorCode.NONE

    def verify(self) -> Awaitable[None] | None:
        """Ask the coordinator about partitions where the transaction has not begun. None when the answer is there."""
        verifications = self._broker.verifications
        for partition, header in self._found:
            try:
                guard = verifications.begin(
                    partition, header.producer_id, header.producer_epoch, header.base_sequence, self._adds
                )
            except AppendError as error:
                self._refused[partition] = Unverified(error.error_code, str(error))
                continue
            if guard is not None:
                self._guards[partition] = guard
        if not self._guards:
            return None
        _, header = self._found[0]
        answer = self._broker.transactions.add_partitions(
            self._transactional_id,
            header.producer_id,
            header.producer_epoch,
            [(each.topic, each.partition) for each in self._guards],
            verify_only=not self._adds,
        )
        if not isinstance(answer, dict):
            return self._verify_later(answer)
        self._take(answer)
        return None

    async def _verify_later(self, answer: Awaitable[dict[tuple[str, int], ErrorCode]]) -> None:
        self._take(await answer)

    def _take(self, answer: dict[tuple[str, int], ErrorCode]) -> None:
        for partition in self._guards:
            error = answer.get((partition.topic, partition.partition), ErrorCode.NONE)
            if error is not ErrorCode.NONE:
                self._refused[partition] = self._refusal(error)

    def _refusal(self, error: ErrorCode) -> AppendError:
        """What may pass is answered with an error that every client retries without asking for metadata first."""
        code = client_error(error, self._version >= ABORTABLE_FROM)
        passes = code in _COORDINATOR_ELSEWHERE or (code is ErrorCode.CONCURRENT_TRANSACTIONS and not self._adds)
        if passes:
            return Unverified(
                ErrorCode.NOT_ENOUGH_REPLICAS, f"the coordinator of the transaction cannot say now: {code.name}"
            )
        if code is ErrorCode.INVALID_TXN_STATE:
            return Unverified(code, "the partition was not added to the transaction")
        return Unverified(code, code.message)

    def append(self, partition: Partition, records: memoryview, now_ms: int) -> Appended | asyncio.Future[Appended]:
        """As `Partition.append`, of what the coordinator has let in and while its answer holds."""
        refused = self._refused.get(partition)
        if refused is not None:
            raise refused
        header = _transactional_header(records)
        if header is None:
            return partition.append(records, now_ms)
        appended = partition.append(records, now_ms, check=lambda: self._check(partition, header))
        if partition in self._guards:
            self._note_begun(partition, header, appended)
        return appended

    def _check(self, partition: Partition, header: BatchHeader) -> None:
        """Right before the batch gets its place: it may have waited for others, and a marker have come meanwhile."""
        verifications = self._broker.verifications
        verifications.check(partition, header.producer_id, header.producer_epoch, self._guards.get(partition))
        verifications.check_sequence(partition, header)

    def _note_begun(
        self, partition: Partition, header: BatchHeader, appended: Appended | asyncio.Future[Appended]
    ) -> None:
        """The transaction has begun in this partition, or will have once the batch's turn has come."""
        if isinstance(appended, Appended) or is_open(partition, header.producer_id, header.producer_epoch):
            self._broker.verifications.on_appended(partition, header.producer_id)
        else:
            appended.add_done_callback(lambda done: self._begun_later(partition, header, done))

    def _begun_later(self, partition: Partition, header: BatchHeader, done: asyncio.Future[Appended]) -> None:
        if not done.cancelled() and done.exception() is None:
            self._broker.verifications.on_appended(partition, header.producer_id)


def _transactional_header(records: memoryview | None) -> BatchHeader | None:
    """The header of a producer's transactional batch. What is malformed is left for the log to refuse."""
    if records is None or len(records) < HEADER_SIZE:
        return None
    try:
        header = read_header(records)
    except WireError:
        return None
    return header if header.is_transactional and header.producer_id >= 0 else None
