"""OffsetCommit, TxnOffsetCommit and OffsetDelete: who may change a group's offsets, and with which records."""

from __future__ import annotations

from headrace.coordinator import records
from headrace.coordinator.config import GroupConfig
from headrace.coordinator.group import ClassicGroup, GroupState
from headrace.coordinator.offsets import DEFAULT_RETENTION, OffsetAndMetadata, Offsets
from headrace.coordinator.records import GroupRecord
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from headrace.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from headrace.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from headrace.wire.schema import ZERO_UUID

GROUP_ID_NOT_FOUND_FROM = 9


def check_commit(group: ClassicGroup | None, request: OffsetCommitRequest, api_version: int) -> ErrorCode:
    """A member commits in its own generation. Anybody else may commit only while the group has no members."""
    generation_id = request.generation_id_or_member_epoch
    if group is None:
        if generation_id < 0:
            return ErrorCode.NONE  # replaying its first offset creates the group
        known = api_version >= GROUP_ID_NOT_FOUND_FROM
        return ErrorCode.GROUP_ID_NOT_FOUND if known else ErrorCode.ILLEGAL_GENERATION
    if generation_id < 0 and group.state is GroupState.EMPTY:
        return ErrorCode.NONE
    if generation_id < 0 and not request.member_id and request.group_instance_id is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    error = group.check_member(request.member_id, request.group_instance_id)
    if error is not ErrorCode.NONE:
        return error
    if generation_id != group.generation_id:
        return ErrorCode.ILLEGAL_GENERATION
    if group.state is GroupState.COMPLETING_REBALANCE:
        return ErrorCode.REBALANCE_IN_PROGRESS
    return ErrorCode.NONE


def commit(
    request: OffsetCommitRequest, config: GroupConfig, now_ms: int
) -> tuple[list[GroupRecord], OffsetCommitResponse]:
    """The records of an accepted commit, and its answer once they are written."""
    committed: list[GroupRecord] = []
    topics = []
    for topic in request.topics:
        partitions = []
        for partition in topic.partitions:
            error = ErrorCode.NONE
            if _is_too_large(partition.committed_metadata, config.offset_metadata_max_bytes):
                error = ErrorCode.OFFSET_METADATA_TOO_LARGE
            else:
                committed.append(_record(request, topic, partition, now_ms))
            partitions.append(
                OffsetCommitResponsePartition(partition_index=partition.partition_index, error_code=error)
            )
        topics.append(OffsetCommitResponseTopic(name=topic.name, topic_id=topic.topic_id, partitions=partitions))
    return committed, OffsetCommitResponse(topics=topics)


def _record(
    request: OffsetCommitRequest, topic: OffsetCommitRequestTopic, partition: OffsetCommitRequestPartition, now_ms: int
) -> GroupRecord:
    offset = OffsetAndMetadata.from_request(partition, topic.topic_id, request.retention_time_ms, now_ms)
    return records.offset_commit(request.group_id, topic.name, partition.partition_index, offset)


def _is_too_large(metadata: str | None, limit: int) -> bool:
    """Kafka counts UTF-16 units: at most two per code point."""
    if metadata is None or len(metadata) * 2 <= limit:
        return False
    return len(metadata.encode("utf-16-le", "surrogatepass")) // 2 > limit


def refuse_commit(request: OffsetCommitRequest, error: ErrorCode) -> OffsetCommitResponse:
    """The whole request failed: OffsetCommit can only say so per partition."""
    return OffsetCommitResponse(
        topics=[
            OffsetCommitResponseTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=[
                    OffsetCommitResponsePartition(partition_index=each.partition_index, error_code=error)
                    for each in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def check_txn_commit(group: ClassicGroup | None, request: TxnOffsetCommitRequest) -> ErrorCode:
    """Fenced by generation and member, if the client names them (from version 3 on it does); the group's state is no
    obstacle, as the producer must be able to finish while its group rebalances."""
    generation_id = request.generation_id
    if group is None:
        return ErrorCode.NONE if generation_id < 0 else ErrorCode.ILLEGAL_GENERATION
    if generation_id < 0 and group.state is GroupState.EMPTY:
        return ErrorCode.NONE
    if generation_id < 0 and not request.member_id and request.group_instance_id is None:
        return ErrorCode.NONE
    error = group.check_member(request.member_id, request.group_instance_id)
    if error is ErrorCode.NONE and generation_id != group.generation_id:
        return ErrorCode.ILLEGAL_GENERATION
    return error


def txn_commit(
    request: TxnOffsetCommitRequest, config: GroupConfig, now_ms: int
) -> tuple[list[GroupRecord], TxnOffsetCommitResponse]:
    """The records of an accepted commit inside a transaction, and its answer once they are written."""
    committed: list[GroupRecord] = []
    response = refuse_txn_commit(request, ErrorCode.NONE)
    for topic, answers in zip(request.topics, response.topics, strict=True):
        for partition, answer in zip(topic.partitions, answers.partitions, strict=True):
            if _is_too_large(partition.committed_metadata, config.offset_metadata_max_bytes):
                answer.error_code = ErrorCode.OFFSET_METADATA_TOO_LARGE
            else:
                offset = OffsetAndMetadata.from_request(partition, ZERO_UUID, DEFAULT_RETENTION, now_ms)
                committed.append(records.offset_commit(request.group_id, topic.name, partition.partition_index, offset))
    return committed, response


def refuse_txn_commit(request: TxnOffsetCommitRequest, error: ErrorCode) -> TxnOffsetCommitResponse:
    """The same answer for every partition."""
    return TxnOffsetCommitResponse(
        topics=[
            TxnOffsetCommitResponseTopic(
                name=topic.name,
                partitions=[
                    TxnOffsetCommitResponsePartition(partition_index=each.partition_index, error_code=error)
                    for each in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def check_delete(group: ClassicGroup | None) -> ErrorCode:
    """Offsets of a living group may only go when its subscription, which must not name the topic, is known."""
    if group is None:
        return ErrorCode.GROUP_ID_NOT_FOUND
    if group.state is not GroupState.EMPTY and not group.uses_consumer_protocol:
        return ErrorCode.NON_EMPTY_GROUP
    return ErrorCode.NONE


def delete(
    group: ClassicGroup, request: OffsetDeleteRequest, offsets: Offsets
) -> tuple[list[GroupRecord], OffsetDeleteResponse]:
    removed: list[GroupRecord] = []
    topics = [_delete_topic(group, topic, offsets, removed) for topic in request.topics]
    return removed, OffsetDeleteResponse(topics=topics)


def _delete_topic(
    group: ClassicGroup, topic: OffsetDeleteRequestTopic, offsets: Offsets, removed: list[GroupRecord]
) -> OffsetDeleteResponseTopic:
    subscribed = group.is_subscribed_to(topic.name)
    partitions = []
    for partition in topic.partitions:
        error = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC if subscribed else ErrorCode.NONE
        partitions.append(OffsetDeleteResponsePartition(partition_index=partition.partition_index, error_code=error))
        tombstone = None if subscribed else offsets.tombstone(group.group_id, topic.name, partition.partition_index)
        if tombstone is not None:
            removed.append(tombstone)
    return OffsetDeleteResponseTopic(name=topic.name, partitions=partitions)
