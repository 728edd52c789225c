"""OffsetForLeaderEpoch (key 23): where the records of a leader epoch end, so that a consumer notices a truncated log.

Behaviour: the largest epoch not above the one asked for, and the offset where it ends; -1 and -1 when there is none. A stale or unknown
current leader epoch is fenced.
Versions: 2-4.
Not implemented: nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker.context import RequestContext
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
)

if TYPE_CHECKING:
    from headrace.broker.server import Broker

REQUEST = OffsetForLeaderEpochRequest


def handle(
    broker: Broker, request: OffsetForLeaderEpochRequest, context: RequestContext
) -> OffsetForLeaderEpochResponse:
    return OffsetForLeaderEpochResponse(
        topics=[
            OffsetForLeaderTopicResult(
                topic=topic.topic, partitions=[_end_offset(broker, topic.topic, part) for part in topic.partitions]
            )
            for topic in request.topics
        ]
    )


def _end_offset(broker: Broker, topic: str, part: OffsetForLeaderPartition) -> EpochEndOffset:
    result = EpochEndOffset(partition=part.partition)
    partition = broker.replicas.get(topic, part.partition)
    current = part.current_leader_epoch
    if partition is None:
        result.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    elif partition.offline:
        result.error_code = ErrorCode.KAFKA_STORAGE_ERROR
    elif 0 <= current < partition.leader_epoch:
        result.error_code = ErrorCode.FENCED_LEADER_EPOCH
    elif current > partition.leader_epoch:
        result.error_code = ErrorCode.UNKNOWN_LEADER_EPOCH
    else:
        result.leader_epoch, result.end_offset = partition.log.end_offset_for_epoch(part.leader_epoch)
    return result
