"""DescribeTopicPartitions (key 75): topics and partitions page by page, in the order of names.

Behaviour: all topics for an empty list. A page holds at most as many partitions as the request and max.request.partition.size.limit
allow, and the cursor says where the next one starts.
Versions: 0.
Not implemented: authorization, so every operation is allowed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker.context import RequestContext
from headrace.broker.nodes import TOPIC_OPERATIONS
from headrace.replica.image import NO_LEADER, PartitionImage, TopicImage
from headrace.replica.topic_names import is_internal, topic_name_problem
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)

if TYPE_CHECKING:
    from headrace.broker.server import Broker

REQUEST = DescribeTopicPartitionsRequest


def handle(
    broker: Broker, request: DescribeTopicPartitionsRequest, context: RequestContext
) -> DescribeTopicPartitionsResponse:
    cursor = request.cursor
    names = {topic.name for topic in request.topics}
    if cursor is not None and (cursor.partition_index < 0 or (names and cursor.topic_name not in names)):
        return _refused(request)
    everything = not names
    start, first = (cursor.topic_name, cursor.partition_index) if cursor is not None else ("", 0)
    left = max(min(request.response_partition_limit, broker.settings["max.request.partition.size.limit"]), 1)
    response = DescribeTopicPartitionsResponse()
    for name in sorted(name for name in (broker.image.topics if everything else names) if name >= start):
        if left == 0:
            response.next_cursor = Cursor(topic_name=name, partition_index=0)
            break
        topic = broker.image.topics.get(name)
        if topic is None:
            response.topics.append(_missing(name))
            continue
        begin = first if name == start else 0
        page = topic.partitions[begin : begin + left]
        response.topics.append(_topic(broker, topic, page))
        left -= len(page)
        if begin + len(page) < len(topic.partitions):
            response.next_cursor = Cursor(topic_name=name, partition_index=begin + len(page))
            break
    return response


def _refused(request: DescribeTopicPartitionsRequest) -> DescribeTopicPartitionsResponse:
    """A cursor that points nowhere; the API has no error of its own, so every topic carries it."""
    return DescribeTopicPartitionsResponse(
        topics=[
            DescribeTopicPartitionsResponseTopic(error_code=ErrorCode.INVALID_REQUEST, name=topic.name)
            for topic in request.topics
        ]
    )


def _missing(name: str) -> DescribeTopicPartitionsResponseTopic:
    invalid = topic_name_problem(name) is not None
    return DescribeTopicPartitionsResponseTopic(
        error_code=ErrorCode.INVALID_TOPIC_EXCEPTION if invalid else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        name=name,
        is_internal=is_internal(name),
        topic_authorized_operations=TOPIC_OPERATIONS,
    )


def _topic(
    broker: Broker, topic: TopicImage, partitions: tuple[PartitionImage, ...]
) -> DescribeTopicPartitionsResponseTopic:
    return DescribeTopicPartitionsResponseTopic(
        name=topic.name,
        topic_id=topic.id,
        is_internal=is_internal(topic.name),
        partitions=[_partition(broker, topic, partition) for partition in partitions],
        topic_authorized_operations=TOPIC_OPERATIONS,
    )


def _partition(
    broker: Broker, topic: TopicImage, partition: PartitionImage
) -> DescribeTopicPartitionsResponsePartition:
    hosted = broker.replicas.get(topic.name, partition.partition)
    offline = [broker.node_id] if hosted is not None and hosted.offline else []
    leader = NO_LEADER if partition.leader in offline else partition.leader
    return DescribeTopicPartitionsResponsePartition(
        error_code=ErrorCode.LEADER_NOT_AVAILABLE if leader == NO_LEADER else ErrorCode.NONE,
        partition_index=partition.partition,
        leader_id=leader,
        leader_epoch=partition.leader_epoch,
        replica_nodes=list(partition.replicas),
        isr_nodes=list(partition.isr),
        eligible_leader_replicas=list(partition.elr),
        last_known_elr=list(partition.last_known_elr),
        offline_replicas=offline,
    )
