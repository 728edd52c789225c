"""OffsetFetch (key 9): how far groups have read.

Behaviour: what was never committed, also for a group that does not exist, is offset -1 without an error. No topics (null)
asks for all that the group has.
Versions: 1-10; 2 can ask for all topics and has an error of its own, 7 can require stable offsets (a partition that an open
transaction has an offset for is UNSTABLE_OFFSET_COMMIT), 8 asks for several groups, 10 names topics by id.
Not implemented: member epochs (version 9), which concern groups of the newer protocol only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker.context import RequestContext
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)
from headrace.wire.schema import ZERO_UUID

if TYPE_CHECKING:
    from headrace.broker.server import Broker

REQUEST = OffsetFetchRequest

GROUP_ERROR_FROM = 2
SEVERAL_GROUPS_FROM = 8
TOPIC_IDS_FROM = 10


def handle(broker: Broker, request: OffsetFetchRequest, context: RequestContext) -> OffsetFetchResponse:
    if context.api_version >= SEVERAL_GROUPS_FROM:
        stable = request.require_stable
        groups = [_fetch(broker, group, context.api_version, stable) for group in request.groups]
        return OffsetFetchResponse(groups=groups)
    topics = None
    if request.topics is not None:
        topics = [
            OffsetFetchRequestTopics(name=topic.name, partition_indexes=topic.partition_indexes)
            for topic in request.topics
        ]
    group = OffsetFetchRequestGroup(group_id=request.group_id, topics=topics)
    return _as_single(_fetch(broker, group, context.api_version, request.require_stable))


def _fetch(
    broker: Broker, group: OffsetFetchRequestGroup, api_version: int, require_stable: bool
) -> OffsetFetchResponseGroup:
    shard = broker.groups.shard(group.group_id)
    if isinstance(shard, ErrorCode):
        return _refuse_group(group, shard, api_version)
    if api_version < TOPIC_IDS_FROM:
        return shard.groups.fetch_offsets(group, require_stable)
    unknown = _take_out_unknown_ids(broker, group)
    response = shard.groups.fetch_offsets(group, require_stable)
    response.topics = [topic for topic in response.topics if _has_id(broker, topic)] + unknown
    return response


def _take_out_unknown_ids(broker: Broker, group: OffsetFetchRequestGroup) -> list[OffsetFetchResponseTopics]:
    """Leave only topics that exist in the request, with their names; answers for the others."""
    unknown: list[OffsetFetchResponseTopics] = []
    if group.topics is None:
        return unknown
    for topic in group.topics:
        found = broker.image.topics_by_id.get(topic.topic_id)
        if found is None:
            unknown.append(_refuse_topic(topic, ErrorCode.UNKNOWN_TOPIC_ID))
        else:
            topic.name = found.name
    group.topics = [topic for topic in group.topics if topic.name]
    return unknown


def _has_id(broker: Broker, topic: OffsetFetchResponseTopics) -> bool:
    """Version 10 can only name topics by id, so offsets of topics that are gone cannot be shown."""
    if topic.topic_id == ZERO_UUID:
        found = broker.image.topics.get(topic.name)
        topic.topic_id = found.id if found is not None else ZERO_UUID
    return topic.topic_id != ZERO_UUID


def _refuse_group(group: OffsetFetchRequestGroup, error: ErrorCode, api_version: int) -> OffsetFetchResponseGroup:
    if api_version >= GROUP_ERROR_FROM:
        return OffsetFetchResponseGroup(group_id=group.group_id, error_code=error)
    topics = [_refuse_topic(topic, error) for topic in group.topics or ()]
    return OffsetFetchResponseGroup(group_id=group.group_id, topics=topics)


def _refuse_topic(topic: OffsetFetchRequestTopics, error: ErrorCode) -> OffsetFetchResponseTopics:
    return OffsetFetchResponseTopics(
        name=topic.name,
        topic_id=topic.topic_id,
        partitions=[
            OffsetFetchResponsePartitions(partition_index=index, committed_offset=-1, metadata="", error_code=error)
            for index in topic.partition_indexes
        ],
    )


def _as_single(group: OffsetFetchResponseGroup) -> OffsetFetchResponse:
    """The one group of a request below version 8, in that version's shape."""
    topics = [
        OffsetFetchResponseTopic(
            name=topic.name,
            partitions=[
                OffsetFetchResponsePartition(
                    partition_index=each.partition_index,
                    committed_offset=each.committed_offset,
                    committed_leader_epoch=each.committed_leader_epoch,
                    metadata=each.metadata,
                    error_code=each.error_code,
                )
                for each in topic.partitions
            ],
        )
        for topic in group.topics
    ]
    return OffsetFetchResponse(topics=topics, error_code=group.error_code)
