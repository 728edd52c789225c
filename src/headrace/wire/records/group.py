"""Records of `__consumer_offsets` that classic groups need: committed offsets, and groups with their members.

key:   int16 type    | message        type 0 is an older committed offset, laid out like type 1
value: int16 version | message        a null value is a tombstone
"""

from struct import Struct as Layout
from typing import TypeVar

from headrace.wire.errors import WireError
from headrace.wire.schema import Buffer, Message, Struct, array, bytes_, int32, int64, string, uuid


class OffsetCommitKey(Message, key=1, kind="key", versions="0", flexible="none"):
    group: str = string()
    topic: str = string()
    partition: int = int32()


class OffsetCommitValue(Message, key=1, kind="value", versions="0-4", flexible="4+"):
    offset: int = int64()
    leader_epoch: int = int32(-1, versions="3+")
    metadata: str = string()
    commit_timestamp: int = int64()
    expire_timestamp: int = int64(-1, versions="1")
    topic_id: bytes = uuid(versions="4+", tag=0)


class GroupMetadataKey(Message, key=2, kind="key", versions="0", flexible="none"):
    group: str = string()


class MemberMetadata(Struct):
    member_id: str = string()
    group_instance_id: str | None = string(None, versions="3+", nullable="3+")
    client_id: str = string()
    client_host: str = string()
    rebalance_timeout: int = int32(-1, versions="1+")
    session_timeout: int = int32()
    subscription: bytes = bytes_()
    assignment: bytes = bytes_()


class GroupMetadataValue(Message, key=2, kind="value", versions="0-4", flexible="4+"):
    protocol_type: str = string()
    generation: int = int32()
    protocol: str | None = string(nullable="0+")
    leader: str | None = string(nullable="0+")
    current_state_timestamp: int = int64(-1, versions="2+")
    members: list[MemberMetadata] = array(MemberMetadata)


OFFSET_COMMIT_LEGACY = 0

_PREFIX = Layout(">h")
_KEYS: dict[int, type[OffsetCommitKey] | type[GroupMetadataKey]] = {
    OFFSET_COMMIT_LEGACY: OffsetCommitKey,
    OffsetCommitKey.KEY: OffsetCommitKey,
    GroupMetadataKey.KEY: GroupMetadataKey,
}
Value = TypeVar("Value", OffsetCommitValue, GroupMetadataValue)


class UnknownKey(WireError):
    """A key of a type that this Headrace does not know, such as those of the consumer protocol (KIP-848)."""


def encode_key(key: OffsetCommitKey | GroupMetadataKey) -> bytes:
    return _PREFIX.pack(key.KEY) + key.encode(0)


def decode_key(data: Buffer) -> OffsetCommitKey | GroupMetadataKey:
    kind = _prefix(data)
    cls = _KEYS.get(kind)
    if cls is None:
        raise UnknownKey(f"group record of unknown type {kind}")
    return cls.decode(data, 0, _PREFIX.size)


def encode_value(value: OffsetCommitValue | GroupMetadataValue, version: int) -> bytes:
    return _PREFIX.pack(version) + value.encode(version)


def decode_value(cls: type[Value], data: Buffer) -> Value:
    return cls.decode(data, _prefix(data), _PREFIX.size)


def _prefix(data: Buffer) -> int:
    if len(data) < _PREFIX.size:
        raise WireError("group record is shorter than its prefix")
    prefix: int = _PREFIX.unpack_from(data)[0]
    return prefix
