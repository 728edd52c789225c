"""OffsetDelete (key 47): forget a group's offsets of some partitions.

Behaviour: topics that a living consumer group subscribes to get GROUP_SUBSCRIBED_TO_TOPIC; partitions that do not exist
UNKNOWN_TOPIC_OR_PARTITION; a partition without an offset is no error.
Versions: 0.
Not implemented: groups of the newer protocol.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING

from headrace.broker.context import RequestContext
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)

if TYPE_CHECKING:
    from headrace.broker.server import Broker

REQUEST = OffsetDeleteRequest


def handle(
    broker: Broker, request: OffsetDeleteRequest, context: RequestContext
) -> OffsetDeleteResponse | Awaitable[OffsetDeleteResponse]:
    unknown = _take_out_unknown(broker, request)
    shard = broker.groups.shard(request.group_id)
    if isinstance(shard, ErrorCode):
        return OffsetDeleteResponse(error_code=shard)
    answer = shard.submit(shard.groups.on_offset_delete, request, context)
    if isinstance(answer, OffsetDeleteResponse):
        return _merged(answer, unknown)
    return _later(answer, unknown)


async def _later(
    answer: Awaitable[OffsetDeleteResponse], unknown: list[OffsetDeleteResponseTopic]
) -> OffsetDeleteResponse:
    return _merged(await answer, unknown)


def _merged(response: OffsetDeleteResponse, unknown: list[OffsetDeleteResponseTopic]) -> OffsetDeleteResponse:
    """An error of the whole request stands alone; else unknown partitions first, one entry per topic."""
    if response.error_code or not unknown:
        return response
    topics = {topic.name: topic for topic in unknown}
    for topic in response.topics:
        known = topics.setdefault(topic.name, topic)
        if known is not topic:
            known.partitions += topic.partitions
    response.topics = list(topics.values())
    return response


def _take_out_unknown(broker: Broker, request: OffsetDeleteRequest) -> list[OffsetDeleteResponseTopic]:
    """Leave only partitions that exist in the request; answers for the others."""
    unknown: list[OffsetDeleteResponseTopic] = []
    existing: list[OffsetDeleteRequestTopic] = []
    for topic in request.topics:
        found = broker.image.topics.get(topic.name)
        count = len(found.partitions) if found is not None else 0
        missing = [each.partition_index for each in topic.partitions if not 0 <= each.partition_index < count]
        if missing:
            unknown.append(_refuse(topic.name, missing))
            topic.partitions = [each for each in topic.partitions if 0 <= each.partition_index < count]
        if topic.partitions:
            existing.append(topic)
    request.topics = existing
    return unknown


def _refuse(name: str, partitions: list[int]) -> OffsetDeleteResponseTopic:
    error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return OffsetDeleteResponseTopic(
        name=name,
        partitions=[OffsetDeleteResponsePartition(partition_index=index, error_code=error) for index in partitions],
    )
