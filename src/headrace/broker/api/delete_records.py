"""DeleteRecords (key 21): move the log start offset forward; records before it are gone for readers at once.

Behaviour: -1 means up to the high watermark. Beyond it is OFFSET_OUT_OF_RANGE; a topic that is compacted and not deleted from refuses
with POLICY_VIOLATION, an internal one with INVALID_TOPIC_EXCEPTION.
Versions: 0-2.
Not implemented: waiting for followers; there are none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker.context import RequestContext
from headrace.replica.topic_names import is_internal
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.delete_records import (
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)

if TYPE_CHECKING:
    from headrace.broker.server import Broker

REQUEST = DeleteRecordsRequest
UP_TO_HIGH_WATERMARK = -1


def handle(broker: Broker, request: DeleteRecordsRequest, context: RequestContext) -> DeleteRecordsResponse:
    """A partition that is named more than once is answered once, for what was asked last."""
    offsets: dict[str, dict[int, int]] = {}
    for topic in request.topics:
        for part in topic.partitions:
            offsets.setdefault(topic.name, {})[part.partition_index] = part.offset
    return DeleteRecordsResponse(
        topics=[
            DeleteRecordsTopicResult(
                name=name, partitions=[_delete(broker, name, index, offset) for index, offset in parts.items()]
            )
            for name, parts in offsets.items()
        ]
    )


def _delete(broker: Broker, topic: str, index: int, offset: int) -> DeleteRecordsPartitionResult:
    result = DeleteRecordsPartitionResult(partition_index=index, low_watermark=-1)
    partition = broker.replicas.get(topic, index)
    if partition is None:
        result.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return result
    policy = partition.log.config.cleanup_policy
    target = partition.high_watermark if offset == UP_TO_HIGH_WATERMARK else offset
    if is_internal(topic):
        result.error_code = ErrorCode.INVALID_TOPIC_EXCEPTION
    elif partition.offline:
        result.error_code = ErrorCode.KAFKA_STORAGE_ERROR
    elif policy and "delete" not in policy:
        result.error_code = ErrorCode.POLICY_VIOLATION
    elif not 0 <= target <= partition.high_watermark:
        result.error_code = ErrorCode.OFFSET_OUT_OF_RANGE
    else:
        if target > partition.log_start_offset:
            partition.log.delete_records(target, partition.high_watermark)
        result.low_watermark = partition.log_start_offset
    return result
