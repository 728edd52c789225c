"""DescribeProducers (key 61): the idempotent producers that a partition remembers.

Behaviour: one row per producer id with its epoch, last sequence and time, and where its open transaction began.
Versions: 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker.context import RequestContext
from headrace.replica.topic_names import topic_name_problem
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)

if TYPE_CHECKING:
    from headrace.broker.server import Broker

REQUEST = DescribeProducersRequest


def handle(broker: Broker, request: DescribeProducersRequest, context: RequestContext) -> DescribeProducersResponse:
    return DescribeProducersResponse(
        topics=[
            TopicResponse(
                name=topic.name,
                partitions=[_partition(broker, topic.name, index) for index in topic.partition_indexes],
            )
            for topic in request.topics
        ]
    )


def _partition(broker: Broker, topic: str, index: int) -> PartitionResponse:
    problem = topic_name_problem(topic)
    if problem is not None:
        return PartitionResponse(
            partition_index=index, error_code=ErrorCode.INVALID_TOPIC_EXCEPTION, error_message=problem
        )
    partition = broker.replicas.get(topic, index)
    if partition is None:
        code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return PartitionResponse(partition_index=index, error_code=code, error_message=code.message)
    return PartitionResponse(
        partition_index=index,
        active_producers=[
            ProducerState(
                producer_id=producer_id,
                producer_epoch=entry.epoch,
                last_sequence=entry.last_sequence,
                last_timestamp=entry.last_timestamp,
                coordinator_epoch=entry.coordinator_epoch,
                current_txn_start_offset=entry.txn_first_offset,
            )
            for producer_id, entry in partition.log.producers.describe()
        ],
    )
