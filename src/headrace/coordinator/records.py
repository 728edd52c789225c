"""The records of `__consumer_offsets`, in the versions that Kafka 4.3 writes.

    key:   int16 record type (0 and 1 offset commit, 2 group metadata) | key fields
    value: int16 version | value fields, or null for a tombstone

Other record types (the newer group protocols) are skipped on replay: nothing here reads or writes them yet.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from headrace.wire.errors import WireError
from headrace.wire.records.group import (
    GroupMetadataKey,
    GroupMetadataValue,
    MemberMetadata,
    OffsetCommitKey,
    OffsetCommitValue,
)

if TYPE_CHECKING:
    from headrace.coordinator.group import ClassicGroup
    from headrace.coordinator.offsets import OffsetAndMetadata

LEGACY_OFFSET_COMMIT = 0
OFFSET_COMMIT = 1
GROUP_METADATA = 2

OFFSET_COMMIT_VALUE_VERSION = 4
OFFSET_COMMIT_VALUE_VERSION_WITH_EXPIRY = 1
GROUP_METADATA_VALUE_VERSION = 3

_SHORT = struct.Struct(">h")


class GroupRecord(NamedTuple):
    """One record as messages; the shell writes `encode()`, replay takes it as it is."""

    key: OffsetCommitKey | GroupMetadataKey
    value: OffsetCommitValue | GroupMetadataValue | None
    value_version: int = 0

    def encode(self) -> tuple[bytes, bytes | None]:
        record_type = OFFSET_COMMIT if isinstance(self.key, OffsetCommitKey) else GROUP_METADATA
        key = _SHORT.pack(record_type) + self.key.encode(0)
        if self.value is None:
            return key, None
        return key, _SHORT.pack(self.value_version) + self.value.encode(self.value_version)


def decode(key: bytes, value: bytes | None) -> GroupRecord | None:
    """Bytes from the log as a record, or None for a type that is not ours. Raises WireError for damaged ones."""
    key_type, value_type = _TYPES.get(_leading_short(key), (None, None))
    if key_type is None or value_type is None:
        return None
    decoded_key = key_type.decode(key, 0, 2)
    if value is None:
        return GroupRecord(decoded_key, None)
    version = _leading_short(value)
    return GroupRecord(decoded_key, value_type.decode(value, version, 2), version)


def offset_commit(group_id: str, topic: str, partition: int, committed: OffsetAndMetadata) -> GroupRecord:
    has_expiry = committed.expire_timestamp_ms != -1
    return GroupRecord(
        OffsetCommitKey(group=group_id, topic=topic, partition=partition),
        OffsetCommitValue(
            offset=committed.offset,
            leader_epoch=committed.leader_epoch,
            metadata=committed.metadata,
            commit_timestamp=committed.commit_timestamp_ms,
            expire_timestamp=committed.expire_timestamp_ms,
            topic_id=committed.topic_id,
        ),
        OFFSET_COMMIT_VALUE_VERSION_WITH_EXPIRY if has_expiry else OFFSET_COMMIT_VALUE_VERSION,
    )


def offset_tombstone(group_id: str, topic: str, partition: int) -> GroupRecord:
    return GroupRecord(OffsetCommitKey(group=group_id, topic=topic, partition=partition), None)


def group_metadata(group: ClassicGroup, assignments: Mapping[str, bytes]) -> GroupRecord:
    """The group's current generation with an assignment for every member."""
    protocol = group.protocol_name
    members = [
        MemberMetadata(
            member_id=member.member_id,
            group_instance_id=member.group_instance_id,
            client_id=member.client_id,
            client_host=member.client_host,
            rebalance_timeout=member.rebalance_timeout_ms,
            session_timeout=member.session_timeout_ms,
            subscription=member.protocols[protocol] if protocol is not None else b"",
            assignment=assignments[member.member_id],
        )
        for member in group.members.values()
    ]
    value = GroupMetadataValue(
        protocol_type=group.protocol_type or "",
        generation=group.generation_id,
        protocol=protocol,
        leader=group.leader_id,
        current_state_timestamp=group.state_timestamp_ms,
        members=members,
    )
    return GroupRecord(GroupMetadataKey(group=group.group_id), value, GROUP_METADATA_VALUE_VERSION)


def new_group(group: ClassicGroup) -> GroupRecord:
    """A group that exists and has never had a generation."""
    value = GroupMetadataValue(
        protocol_type="", generation=0, protocol=None, leader=None, current_state_timestamp=group.state_timestamp_ms
    )
    return GroupRecord(GroupMetadataKey(group=group.group_id), value, GROUP_METADATA_VALUE_VERSION)


def group_tombstone(group_id: str) -> GroupRecord:
    return GroupRecord(GroupMetadataKey(group=group_id), None)


def _leading_short(data: bytes) -> int:
    if len(data) < 2:
        raise WireError("a record of __consumer_offsets is shorter than its type")
    (value,) = _SHORT.unpack_from(data)
    return int(value)


_TYPES: dict[int, tuple[Any, Any]] = {
    LEGACY_OFFSET_COMMIT: (OffsetCommitKey, OffsetCommitValue),
    OFFSET_COMMIT: (OffsetCommitKey, OffsetCommitValue),
    GROUP_METADATA: (GroupMetadataKey, GroupMetadataValue),
}
