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
    from headrace.replica.partition import Partition

REQUEST = OffsetForLeaderEpochRequest
NO_EPOCH = -1


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
    elif current > partition.leader_epoch:
        result.error_code = ErrorCode.UNKNOWN_LEADER_EPOCH
    elif current not in (NO_EPOCH, partition.leader_epoch):
        result.error_code = ErrorCode.FENCED_LEADER_EPOCH
    else:
        result.leader_epoch, result.end_offset = end_offset(partition, part.leader_epoch)
    return result


def end_offset(partition: Partition, epoch: int) -> tuple[int, int]:
    """Where `epoch` ends. The leader's own epoch begins when it becomes the leader, not with its first batch."""
    log = partition.log
    latest, end = log.leader_epochs.latest, log.log_end_offset
    if epoch == partition.leader_epoch:
        return epoch, end
    if NO_EPOCH != epoch < partition.leader_epoch and latest == NO_EPOCH:
        return epoch, end
    if latest < epoch < partition.leader_epoch:
        # Nothing was written since the leader's epoch began, so the last one that was written in ends here.
        return latest, end
    return log.end_offset_for_epoch(epoch)
