"""Produce (key 0): append record batches to partitions.

Behaviour: each partition of a request carries exactly one batch, which is checked by its header and CRC and stored as
sent. acks=0 gets no response; an error then closes the connection, the only way to tell. With one replica acks=1 and
acks=all are the same moment: the batch is in the page cache (or on disk, where flush.messages asks for it). The first
batch of a transaction in a partition waits for the transaction coordinator (`broker/transactional_batches.py`).
The topics in which the coordinators keep their state are INVALID_TOPIC_EXCEPTION, save for clients with Kafka's name for admins.
Versions: 3-13; 0-2 are advertised and refused (see the declaration); 12 adds partitions to transactions by writing to
them; 13 names topics by id.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from headrace.broker.context import RequestContext
from headrace.broker.transactional_batches import TransactionalBatches, Unverified
from headrace.replica.topic_names import INTERNAL_TOPICS
from headrace.storage.errors import AppendError
from headrace.storage.log import Appended
from headrace.storage.validation import NotOneBatch, read_one_batch
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.produce import (
    BatchIndexAndErrorMessage,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)

if TYPE_CHECKING:
    from headrace.broker.server import Broker
    from headrace.replica.partition import Partition

REQUEST = ProduceRequest
TOPIC_IDS = 13
ZSTD_FROM = 7
ATTRIBUTES_AT = 22  # their low byte
CODEC, TRANSACTIONAL = 0x07, 0x10
ZSTD = 4
ADMIN_CLIENT_ID = "__admin_client"
# Kafka does not say where the log starts when a batch fails before anybody looks at its records.
WITHOUT_LOG_START = {
    ErrorCode.CORRUPT_MESSAGE,
    ErrorCode.INVALID_TOPIC_EXCEPTION,
    ErrorCode.MESSAGE_TOO_LARGE,
    ErrorCode.RECORD_LIST_TOO_LARGE,
    ErrorCode.KAFKA_STORAGE_ERROR,
    ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
}


def handle(broker: Broker, request: ProduceRequest, context: RequestContext) -> ProduceResponse | asyncio.Future | None:
    acks = request.acks
    if not -1 <= acks <= 1:
        return _refuse_all(request, ErrorCode.INVALID_REQUIRED_ACKS)
    if request.transactional_id is not None:
        return _produce_in_transaction(broker, request, context)
    return _append_all(broker, request, context, None)


def _produce_in_transaction(
    broker: Broker, request: ProduceRequest, context: RequestContext
) -> ProduceResponse | asyncio.Future | None:
    batches = TransactionalBatches(broker, request, context.api_version)
    error = batches.find(request)
    if error is not ErrorCode.NONE:
        return _refuse_all(request, error)
    verified = batches.verify()
    if verified is None:
        return _append_all(broker, request, context, batches)

    async def when_verified() -> ProduceResponse | None:
        await verified
        answer = _append_all(broker, request, context, batches)
        return await answer if isinstance(answer, asyncio.Future) else answer

    return asyncio.ensure_future(when_verified())


def _append_all(
    broker: Broker, request: ProduceRequest, context: RequestContext, batches: TransactionalBatches | None
) -> ProduceResponse | asyncio.Future | None:
    acks = request.acks
    by_id = context.api_version >= TOPIC_IDS
    topics = broker.replicas.topics_by_id if by_id else broker.replicas.topics
    now_ms = broker.clock.now_ms()
    meters = broker.meters
    waiting: list[asyncio.Future[PartitionProduceResponse]] = []
    responses = []
    failed = False
    for topic in request.topic_data:
        partitions = topics.get(topic.topic_id if by_id else topic.name)
        answers: list = []
        for data in topic.partition_data:
            partition = partitions.get(data.index) if partitions is not None else None
            if partition is None:
                answer = _unknown(data.index, by_id and partitions is None)
            else:
                answer = _append(partition, data, now_ms, meters, context, batches)
            if isinstance(answer, asyncio.Future):
                waiting.append(answer)
            elif answer.error_code:
                failed = True
            answers.append(answer)
        if answers:
            responses.append(
                TopicProduceResponse(name=topic.name, topic_id=topic.topic_id, partition_responses=answers)
            )
    if waiting:
        return asyncio.ensure_future(_when_written(ProduceResponse(responses=responses), acks))
    if acks == 0:
        if failed:
            raise UnreportableError("a Produce request with acks=0 failed")
        return None
    return ProduceResponse(responses=responses)


class UnreportableError(Exception):
    """acks=0 and something went wrong: the connection is closed, so that the client refreshes what it knows."""


def _append(
    partition: Partition,
    data: PartitionProduceData,
    now_ms: int,
    meters,
    context: RequestContext,
    batches: TransactionalBatches | None,
) -> PartitionProduceResponse | asyncio.Future[PartitionProduceResponse]:
    records, version = data.records, context.api_version
    if records is None:
        records = memoryview(b"")
    try:
        if partition.topic in INTERNAL_TOPICS:
            _check_internal(partition.topic, records, context.client_id)
        if len(records) > ATTRIBUTES_AT:
            attributes = records[ATTRIBUTES_AT]
            if attributes & TRANSACTIONAL or version < ZSTD_FROM:
                _check_attributes(attributes, version, batches is not None)
        if batches is None:
            appended = partition.append(records, now_ms)
        else:
            appended = batches.append(partition, records, now_ms)
    except AppendError as error:
        meters.failed_produce_requests += 1
        return _error(data.index, error, partition)
    meters.bytes_in += len(records)
    if isinstance(appended, Appended):
        return _success(data.index, appended)
    return asyncio.ensure_future(_append_later(partition, data.index, appended))


def _check_internal(topic: str, records: memoryview, client_id: str | None) -> None:
    """A coordinator believes what its log says, so only coordinators write there."""
    read_one_batch(records)
    if client_id != ADMIN_CLIENT_ID:
        raise AppendError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"{topic} is written by coordinators only")


def _check_attributes(attributes: int, version: int, has_id: bool) -> None:
    if attributes & TRANSACTIONAL and not has_id:
        # Nobody could end the transaction: readers of committed records would wait for ever.
        raise AppendError(
            ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "a transactional record batch needs a transactional id"
        )
    if version < ZSTD_FROM and attributes & CODEC == ZSTD:
        raise AppendError(
            ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, f"zstd needs version {ZSTD_FROM} of Produce, not {version}"
        )


async def _append_later(
    partition: Partition, index: int, written: asyncio.Future[Appended]
) -> PartitionProduceResponse:
    try:
        return _success(index, await asyncio.shield(written))
    except AppendError as error:
        return _error(index, error, partition)


async def _when_written(response: ProduceResponse, acks: int) -> ProduceResponse | None:
    failed = False
    for topic in response.responses:
        for position, answer in enumerate(topic.partition_responses):
            if isinstance(answer, asyncio.Future):
                answer = topic.partition_responses[position] = await answer
            failed = failed or bool(answer.error_code)
    if acks == 0 and failed:
        raise UnreportableError("a Produce request with acks=0 failed")
    return response if acks else None


def _success(index: int, appended: Appended) -> PartitionProduceResponse:
    return PartitionProduceResponse(
        index=index,
        base_offset=appended.first_offset,
        log_append_time_ms=appended.append_time_ms,
        log_start_offset=appended.log_start_offset,
    )


def _error(index: int, error: AppendError, partition: Partition) -> PartitionProduceResponse:
    without = error.error_code in WITHOUT_LOG_START or isinstance(error, (NotOneBatch, Unverified))
    return PartitionProduceResponse(
        index=index,
        error_code=error.error_code,
        base_offset=-1,
        log_append_time_ms=-1,
        log_start_offset=-1 if without else partition.log_start_offset,
        record_errors=[
            BatchIndexAndErrorMessage(batch_index=i, batch_index_error_message=text) for i, text in error.record_errors
        ],
        error_message=str(error),
    )


def _unknown(index: int, unknown_id: bool) -> PartitionProduceResponse:
    code = ErrorCode.UNKNOWN_TOPIC_ID if unknown_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return PartitionProduceResponse(
        index=index, error_code=code, base_offset=-1, log_append_time_ms=-1, log_start_offset=-1
    )


def _refuse_all(request: ProduceRequest, code: ErrorCode) -> ProduceResponse | None:
    if request.acks == 0:
        raise UnreportableError(f"a Produce request with acks=0 failed: {code.name}")
    return ProduceResponse(
        responses=[
            TopicProduceResponse(
                name=topic.name,
                topic_id=topic.topic_id,
                partition_responses=[
                    PartitionProduceResponse(index=data.index, error_code=code, base_offset=-1, log_append_time_ms=-1)
                    for data in topic.partition_data
                ],
            )
            for topic in request.topic_data
        ]
    )
