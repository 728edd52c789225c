"""OffsetCommit (key 8): store how far a group has read.

Behaviour: members commit in their own generation; without members anybody may, which makes a simple group when there is
none. Partitions that do not exist get UNKNOWN_TOPIC_OR_PARTITION (or UNKNOWN_TOPIC_ID); the others are committed.
Versions: 2-10; 2-4 may bring a retention time of their own, 6 the leader epoch, 7 static members, 10 names topics by id.
Not implemented: groups of the newer protocol (member epochs).
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING

from headrace.broker.context import RequestContext
from headrace.coordinator.committing import refuse_commit
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)

if TYPE_CHECKING:
    from headrace.broker.server import Broker

REQUEST = OffsetCommitRequest

TOPIC_IDS_FROM = 10


def handle(
    broker: Broker, request: OffsetCommitRequest, context: RequestContext
) -> OffsetCommitResponse | Awaitable[OffsetCommitResponse]:
    unknown = _take_out_unknown(broker, request, context.api_version)
    if not request.topics:
        return OffsetCommitResponse(topics=unknown)
    shard = broker.groups.shard(request.group_id)
    if isinstance(shard, ErrorCode):
        return _merged(refuse_commit(request, shard), unknown)
    answer = shard.submit(shard.groups.on_offset_commit, request, context)
    if isinstance(answer, OffsetCommitResponse):
        return _merged(answer, unknown)
    return _later(answer, unknown)


async def _later(
    answer: Awaitable[OffsetCommitResponse], unknown: list[OffsetCommitResponseTopic]
) -> OffsetCommitResponse:
    return _merged(await answer, unknown)


def _merged(response: OffsetCommitResponse, unknown: list[OffsetCommitResponseTopic]) -> OffsetCommitResponse:
    """Unknown partitions first, one entry per topic."""
    if not unknown:
        return response
    topics = {(topic.name, topic.topic_id): topic for topic in unknown}
    for topic in response.topics:
        known = topics.setdefault((topic.name, topic.topic_id), topic)
        if known is not topic:
            known.partitions += topic.partitions
    response.topics = list(topics.values())
    return response


def _take_out_unknown(
    broker: Broker, request: OffsetCommitRequest, api_version: int
) -> list[OffsetCommitResponseTopic]:
    """Leave only partitions that exist in the request, each topic with name and id; answers for the others."""
    image, by_id = broker.image, api_version >= TOPIC_IDS_FROM
    unknown: list[OffsetCommitResponseTopic] = []
    existing: list[OffsetCommitRequestTopic] = []
    for topic in request.topics:
        found = image.topics_by_id.get(topic.topic_id) if by_id else image.topics.get(topic.name)
        if found is None:
            error = ErrorCode.UNKNOWN_TOPIC_ID if by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            unknown.append(_refuse(topic, [each.partition_index for each in topic.partitions], error))
            continue
        topic.name, topic.topic_id = found.name, found.id
        count = len(found.partitions)
        missing = [each.partition_index for each in topic.partitions if not 0 <= each.partition_index < count]
        if missing:
            unknown.append(_refuse(topic, missing, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
            topic.partitions = [each for each in topic.partitions if 0 <= each.partition_index < count]
        if topic.partitions:
            existing.append(topic)
    request.topics = existing
    return unknown


def _refuse(topic: OffsetCommitRequestTopic, partitions: list[int], error: ErrorCode) -> OffsetCommitResponseTopic:
    return OffsetCommitResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        partitions=[OffsetCommitResponsePartition(partition_index=index, error_code=error) for index in partitions],
    )
