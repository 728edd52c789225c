"""AddPartitionsToTxn (key 24): partitions that a transaction is about to write, or whether they are part of it.

Behaviour: one partition that does not exist fails all of its transaction; the others get OPERATION_NOT_ATTEMPTED. So does
one of an internal topic, where no client may write (TOPIC_AUTHORIZATION_FAILED). A partition that is added twice is no error.
Versions: 0-5; clients send 0-3 for one transaction, brokers 4-5 for several, each to be added to or verified.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker.context import RequestContext
from headrace.coordinator.transactions.checks import Producer
from headrace.coordinator.transactions.records import by_topic
from headrace.coordinator.transactions.transaction import TopicPartition
from headrace.replica.topic_names import is_internal
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
)

if TYPE_CHECKING:
    from headrace.broker.server import Broker

REQUEST = AddPartitionsToTxnRequest

KNOWS_FENCED_FROM = 2
SEVERAL_FROM = 4


async def handle(
    broker: Broker, request: AddPartitionsToTxnRequest, context: RequestContext
) -> AddPartitionsToTxnResponse:
    version = context.api_version
    if version < SEVERAL_FROM:
        transaction = AddPartitionsToTxnTransaction(
            transactional_id=request.v3_and_below_transactional_id,
            producer_id=request.v3_and_below_producer_id,
            producer_epoch=request.v3_and_below_producer_epoch,
            topics=request.v3_and_below_topics,
        )
        return AddPartitionsToTxnResponse(
            results_by_topic_v3_and_below=await _add(broker, transaction, client_version=0, version=version)
        )
    results = [
        AddPartitionsToTxnResult(
            transactional_id=each.transactional_id,
            topic_results=await _add(broker, each, client_version=2, version=version),
        )
        for each in request.transactions
    ]
    return AddPartitionsToTxnResponse(results_by_transaction=results)


async def _add(
    broker: Broker, asked: AddPartitionsToTxnTransaction, *, client_version: int, version: int
) -> list[AddPartitionsToTxnTopicResult]:
    partitions = _partitions(asked.topics)
    answers = _refused(broker, partitions, from_client=version < SEVERAL_FROM)
    if answers:
        return _results(answers)
    producer = Producer(asked.producer_id, asked.producer_epoch)
    if asked.verify_only:
        shard = broker.transactions.shard(asked.transactional_id)
        if isinstance(shard, ErrorCode):
            return _results(dict.fromkeys(partitions, shard))
        return _results(shard.transactions.verify_partitions(asked.transactional_id, producer, partitions))
    answer = broker.transactions.add(asked.transactional_id, producer, partitions, client_version)
    error = answer if isinstance(answer, ErrorCode) else await answer
    if error is ErrorCode.PRODUCER_FENCED and version < KNOWS_FENCED_FROM:
        error = ErrorCode.INVALID_PRODUCER_EPOCH
    return _results(dict.fromkeys(partitions, error))


def _partitions(topics: list[AddPartitionsToTxnTopic]) -> list[TopicPartition]:
    return list(dict.fromkeys((topic.name, index) for topic in topics for index in topic.partitions))


def _refused(broker: Broker, partitions: list[TopicPartition], *, from_client: bool) -> dict[TopicPartition, ErrorCode]:
    """Answers for all partitions if one of them does not exist or is not for clients."""
    topics = broker.image.topics
    refused: dict[TopicPartition, ErrorCode] = {}
    for name, index in partitions:
        topic = topics.get(name)
        if from_client and is_internal(name):
            refused[name, index] = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        elif topic is None or not 0 <= index < len(topic.partitions):
            refused[name, index] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if not refused:
        return {}
    return {each: refused.get(each, ErrorCode.OPERATION_NOT_ATTEMPTED) for each in partitions}


def _results(answers: dict[TopicPartition, ErrorCode]) -> list[AddPartitionsToTxnTopicResult]:
    return [
        AddPartitionsToTxnTopicResult(
            name=name,
            results_by_partition=[
                AddPartitionsToTxnPartitionResult(partition_index=index, partition_error_code=answers[name, index])
                for index in indexes
            ],
        )
        for name, indexes in by_topic(answers).items()
    ]
