"""Which offsets have outlived offsets.retention.minutes, and which groups go with them.

no protocol type (a simple consumer)  retention counts from each offset's commit
Empty                                 retention counts from when the group became empty
Stable consumer group                 from the commit, and only for topics that nobody subscribes to
anything else                         nothing expires
"""

from __future__ import annotations

from collections.abc import Iterable

from headrace.coordinator import records
from headrace.coordinator.group import ClassicGroup, GroupState
from headrace.coordinator.offsets import OffsetAndMetadata, Offsets
from headrace.coordinator.records import GroupRecord


def expired(groups: Iterable[ClassicGroup], offsets: Offsets, retention_ms: int, now_ms: int) -> list[GroupRecord]:
    """Tombstones for expired offsets and for empty groups that have none left."""
    tombstones: list[GroupRecord] = []
    for group in groups:
        if group.is_being_deleted:
            continue
        expired_offsets, none_left = _expired_offsets(group, offsets, retention_ms, now_ms)
        tombstones += expired_offsets
        if none_left and group.state is GroupState.EMPTY and not offsets.is_awaited(group.group_id):
            tombstones.append(records.group_tombstone(group.group_id))
    return tombstones


def _expired_offsets(
    group: ClassicGroup, offsets: Offsets, retention_ms: int, now_ms: int
) -> tuple[list[GroupRecord], bool]:
    by_topic = offsets.of_group(group.group_id)
    if not by_topic:
        return [], True
    if not _may_expire(group):
        return [], False
    tombstones = []
    kept = 0
    for topic, partitions in by_topic.items():
        if group.is_subscribed_to(topic):
            kept += len(partitions)
            continue
        for index, committed in partitions.items():
            is_expired = committed.is_expired(_base_timestamp_ms(group, committed), retention_ms, now_ms)
            if is_expired and not _is_awaited(group, offsets, topic, index):
                tombstones.append(records.offset_tombstone(group.group_id, topic, index))
            else:
                kept += 1
    return tombstones, kept == 0


def _is_awaited(group: ClassicGroup, offsets: Offsets, topic: str, index: int) -> bool:
    """Whether a newer offset is on its way, to the log or to the end of its transaction: the tombstone would come after it."""
    return offsets.is_in_flight(group.group_id, topic, index) or offsets.pending.is_unstable(
        group.group_id, topic, index
    )


def _may_expire(group: ClassicGroup) -> bool:
    if group.protocol_type is None or group.state is GroupState.EMPTY:
        return True
    return group.uses_consumer_protocol and group.subscribed_topics is not None and group.state is GroupState.STABLE


def _base_timestamp_ms(group: ClassicGroup, committed: OffsetAndMetadata) -> int:
    if group.protocol_type is not None and group.state is GroupState.EMPTY and group.state_timestamp_ms != -1:
        return group.state_timestamp_ms
    return committed.commit_timestamp_ms
