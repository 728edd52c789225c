"""ListOffsets (key 2): offsets by position in time: earliest, latest, the newest timestamp, the first at or after a time.

Behaviour: read_committed readers get the last stable offset for "latest" and nothing beyond it. Look-ups by time decode one
batch and may read from disk, so they run in a thread.
Versions: 1-11.
Not implemented: tiered storage, so the earliest local offset is the log's start, and the tiered look-ups find none.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from headrace.broker.context import RequestContext
from headrace.storage.errors import LogError
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)

if TYPE_CHECKING:
    from headrace.broker.server import Broker
    from headrace.replica.partition import Partition

REQUEST = ListOffsetsRequest
LATEST = -1
EARLIEST = -2
MAX_TIMESTAMP = -3
EARLIEST_LOCAL = -4
LATEST_TIERED = -5
EARLIEST_PENDING_UPLOAD = -6
READ_COMMITTED = 1
NO_EPOCH = -1
NEEDS_VERSION = {MAX_TIMESTAMP: 7, EARLIEST_LOCAL: 8, LATEST_TIERED: 9, EARLIEST_PENDING_UPLOAD: 11}


async def handle(broker: Broker, request: ListOffsetsRequest, context: RequestContext) -> ListOffsetsResponse:
    committed = request.isolation_level == READ_COMMITTED
    asked = Counter((topic.name, part.partition_index) for topic in request.topics for part in topic.partitions)
    topics = []
    for topic in request.topics:
        rows = {}
        for part in topic.partitions:
            index = part.partition_index
            if asked[topic.name, index] > 1:
                rows[index] = _error(index, ErrorCode.INVALID_REQUEST)
                continue
            partition = broker.replicas.get(topic.name, index)
            rows[index] = await _look_up(broker, partition, part, committed, context.api_version)
        if rows:
            topics.append(ListOffsetsTopicResponse(name=topic.name, partitions=list(rows.values())))
    return ListOffsetsResponse(topics=topics)


def _error(index: int, code: ErrorCode) -> ListOffsetsPartitionResponse:
    return ListOffsetsPartitionResponse(partition_index=index, error_code=code, timestamp=-1, offset=-1)


async def _look_up(
    broker: Broker, partition: Partition | None, part: ListOffsetsPartition, committed: bool, version: int
) -> ListOffsetsPartitionResponse:
    index, timestamp = part.partition_index, part.timestamp
    if partition is None:
        return _error(index, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if partition.offline:
        return _error(index, ErrorCode.KAFKA_STORAGE_ERROR)
    epoch = part.current_leader_epoch
    if epoch not in (NO_EPOCH, partition.leader_epoch):
        newer = epoch > partition.leader_epoch
        return _error(index, ErrorCode.UNKNOWN_LEADER_EPOCH if newer else ErrorCode.FENCED_LEADER_EPOCH)
    if timestamp < EARLIEST_PENDING_UPLOAD or version < NEEDS_VERSION.get(timestamp, 0):
        return _error(index, ErrorCode.UNSUPPORTED_VERSION)
    upper = partition.last_stable_offset if committed else partition.high_watermark
    log = partition.log
    if timestamp == LATEST:
        return _found(index, -1, upper, partition.leader_epoch)
    if timestamp in (EARLIEST, EARLIEST_LOCAL):
        start = log.log_start_offset
        return _found(index, -1, start, log.leader_epochs.epoch_for_offset(start))
    if timestamp in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
        return _found(index, -1, -1, -1)
    try:
        if timestamp == MAX_TIMESTAMP:
            found = await broker.run_reader(log.max_timestamp, upper)
        else:
            found = await broker.run_reader(log.offset_for_timestamp, timestamp, upper)
    except LogError as error:
        return _error(index, error.error_code)
    except OSError as error:
        partition.directory.fail(error)
        return _error(index, ErrorCode.KAFKA_STORAGE_ERROR)
    if found is None or found[1] >= upper:
        return _found(index, -1, -1, -1)
    return _found(index, *found)


def _found(index: int, timestamp: int, offset: int, leader_epoch: int | None) -> ListOffsetsPartitionResponse:
    return ListOffsetsPartitionResponse(
        partition_index=index,
        timestamp=timestamp,
        offset=offset,
        leader_epoch=-1 if leader_epoch is None else leader_epoch,
    )
