"""Records of `__cluster_metadata`: topics, partitions, configs, brokers, features and all else a cluster remembers.

The value of such a record is a frame, of which every number is an unsigned varint, and the message:

    frame version = 1 | type | version | message
"""

from headrace.wire.errors import WireError
from headrace.wire.schema import (
    Buffer,
    Message,
    Struct,
    array,
    boolean,
    bytes_,
    float64,
    int8,
    int16,
    int32,
    int64,
    string,
    uint16,
    uuid,
)
from headrace.wire.varint import read_uvarint, uvarint


class BrokerEndpoint(Struct):
    name: str = string()
    host: str = string()
    port: int = uint16()
    security_protocol: int = int16()


class BrokerFeature(Struct):
    name: str = string()
    min_supported_version: int = int16()
    max_supported_version: int = int16()


class RegisterBrokerRecord(Message, key=0, kind="metadata", versions="0-4", flexible="0+"):
    broker_id: int = int32()
    is_migrating_zk_broker: bool = boolean(versions="2+")
    incarnation_id: bytes = uuid()
    broker_epoch: int = int64()
    end_points: list[BrokerEndpoint] = array(BrokerEndpoint)
    features: list[BrokerFeature] = array(BrokerFeature)
    rack: str | None = string(nullable="0+")
    fenced: bool = boolean(True)
    in_controlled_shutdown: bool = boolean(versions="1+")
    log_dirs: list[bytes] = array(uuid(), versions="3+", tag=0)
    cordoned_log_dirs: list[bytes] | None = array(uuid(), None, versions="4+", nullable="4+", tag=1)


class UnregisterBrokerRecord(Message, key=1, kind="metadata", versions="0", flexible="0+"):
    broker_id: int = int32()
    broker_epoch: int = int64()


class TopicRecord(Message, key=2, kind="metadata", versions="0", flexible="0+"):
    name: str = string()
    topic_id: bytes = uuid()


class PartitionRecord(Message, key=3, kind="metadata", versions="0-2", flexible="0+"):
    partition_id: int = int32(-1)
    topic_id: bytes = uuid()
    replicas: list[int] = array(int32())
    isr: list[int] = array(int32())
    removing_replicas: list[int] = array(int32())
    adding_replicas: list[int] = array(int32())
    leader: int = int32(-1)
    leader_recovery_state: int = int8(tag=0)
    leader_epoch: int = int32(-1)
    partition_epoch: int = int32(-1)
    directories: list[bytes] = array(uuid(), versions="1+")
    eligible_leader_replicas: list[int] | None = array(int32(), None, versions="2+", nullable="2+", tag=1)
    last_known_elr: list[int] | None = array(int32(), None, versions="2+", nullable="2+", tag=2)


class ConfigRecord(Message, key=4, kind="metadata", versions="0", flexible="0+"):
    resource_type: int = int8()
    resource_name: str = string()
    name: str = string()
    value: str | None = string(nullable="0+")


class PartitionChangeRecord(Message, key=5, kind="metadata", versions="0-2", flexible="0+"):
    partition_id: int = int32(-1)
    topic_id: bytes = uuid()
    isr: list[int] | None = array(int32(), None, nullable="0+", tag=0)
    leader: int = int32(-2, tag=1)
    replicas: list[int] | None = array(int32(), None, nullable="0+", tag=2)
    removing_replicas: list[int] | None = array(int32(), None, nullable="0+", tag=3)
    adding_replicas: list[int] | None = array(int32(), None, nullable="0+", tag=4)
    leader_recovery_state: int = int8(-1, tag=5)
    directories: list[bytes] | None = array(uuid(), None, versions="1+", nullable="1+", tag=8)
    eligible_leader_replicas: list[int] | None = array(int32(), None, versions="2+", nullable="2+", tag=6)
    last_known_elr: list[int] | None = array(int32(), None, versions="2+", nullable="2+", tag=7)


class FenceBrokerRecord(Message, key=7, kind="metadata", versions="0", flexible="0+"):
    id: int = int32()
    epoch: int = int64()


class UnfenceBrokerRecord(Message, key=8, kind="metadata", versions="0", flexible="0+"):
    id: int = int32()
    epoch: int = int64()


class RemoveTopicRecord(Message, key=9, kind="metadata", versions="0", flexible="0+"):
    topic_id: bytes = uuid()


class DelegationTokenRecord(Message, key=10, kind="metadata", versions="0", flexible="0+"):
    owner: str = string()
    requester: str = string()
    renewers: list[str] = array(string())
    issue_timestamp: int = int64()
    max_timestamp: int = int64()
    expiration_timestamp: int = int64()
    token_id: str = string()


class UserScramCredentialRecord(Message, key=11, kind="metadata", versions="0", flexible="0+"):
    name: str = string()
    mechanism: int = int8()
    salt: bytes = bytes_()
    stored_key: bytes = bytes_()
    server_key: bytes = bytes_()
    iterations: int = int32()


class FeatureLevelRecord(Message, key=12, kind="metadata", versions="0", flexible="0+"):
    name: str = string()
    feature_level: int = int16()


class EntityData(Struct):
    entity_type: str = string()
    entity_name: str | None = string(nullable="0+")


class ClientQuotaRecord(Message, key=14, kind="metadata", versions="0", flexible="0+"):
    entity: list[EntityData] = array(EntityData)
    key: str = string()
    value: float = float64()
    remove: bool = boolean()


class ProducerIdsRecord(Message, key=15, kind="metadata", versions="0", flexible="0+"):
    broker_id: int = int32()
    broker_epoch: int = int64(-1)
    next_producer_id: int = int64()


class BrokerRegistrationChangeRecord(Message, key=17, kind="metadata", versions="0-3", flexible="0+"):
    broker_id: int = int32()
    broker_epoch: int = int64()
    fenced: int = int8(tag=0)
    in_controlled_shutdown: int = int8(versions="1+", tag=1)
    log_dirs: list[bytes] = array(uuid(), versions="2+", tag=2)
    cordoned_log_dirs: list[bytes] | None = array(uuid(), None, versions="3+", nullable="3+", tag=3)


class AccessControlEntryRecord(Message, key=18, kind="metadata", versions="0", flexible="0+"):
    id: bytes = uuid()
    resource_type: int = int8()
    resource_name: str = string()
    pattern_type: int = int8()
    principal: str = string()
    host: str = string()
    operation: int = int8()
    permission_type: int = int8()


class RemoveAccessControlEntryRecord(Message, key=19, kind="metadata", versions="0", flexible="0+"):
    id: bytes = uuid()


class NoOpRecord(Message, key=20, kind="metadata", versions="0", flexible="0+"):
    pass


class ZkMigrationStateRecord(Message, key=21, kind="metadata", versions="0", flexible="0+"):
    zk_migration_state: int = int8()


class RemoveUserScramCredentialRecord(Message, key=22, kind="metadata", versions="0", flexible="0+"):
    name: str = string()
    mechanism: int = int8()


class BeginTransactionRecord(Message, key=23, kind="metadata", versions="0", flexible="0+"):
    name: str | None = string(None, nullable="0+", tag=0)


class EndTransactionRecord(Message, key=24, kind="metadata", versions="0", flexible="0+"):
    pass


class AbortTransactionRecord(Message, key=25, kind="metadata", versions="0", flexible="0+"):
    reason: str | None = string(None, nullable="0+", tag=0)


class RemoveDelegationTokenRecord(Message, key=26, kind="metadata", versions="0", flexible="0+"):
    token_id: str = string()


class ControllerEndpoint(Struct):
    name: str = string()
    host: str = string()
    port: int = uint16()
    security_protocol: int = int16()


class ControllerFeature(Struct):
    name: str = string()
    min_supported_version: int = int16()
    max_supported_version: int = int16()


class RegisterControllerRecord(Message, key=27, kind="metadata", versions="0", flexible="0+"):
    controller_id: int = int32()
    incarnation_id: bytes = uuid()
    zk_migration_ready: bool = boolean()
    end_points: list[ControllerEndpoint] = array(ControllerEndpoint)
    features: list[ControllerFeature] = array(ControllerFeature)


class ClearElrRecord(Message, key=28, kind="metadata", versions="0", flexible="0+"):
    topic_name: str = string()


RECORD_TYPES: dict[int, type[Message]] = {
    cls.KEY: cls
    for cls in list(globals().values())
    if isinstance(cls, type) and issubclass(cls, Message) and cls is not Message
}

FRAME_VERSION = 1


class UnknownRecord(WireError):
    """A record of a type or version that this Headrace does not know; newer software may have written it."""


def encode_record(record: Message, version: int | None = None) -> bytes:
    """The value of a metadata record, in the newest version unless told otherwise."""
    version = record.MAX_VERSION if version is None else version
    frame = uvarint(FRAME_VERSION) + uvarint(record.KEY) + uvarint(version)
    return b"".join(record.encode_parts(version, frame))


def decode_record(value: Buffer) -> tuple[Message, int]:
    """The record in a value, and the version it was written in."""
    try:
        frame, position = read_uvarint(value, 0)
        key, position = read_uvarint(value, position)
        version, position = read_uvarint(value, position)
    except IndexError:
        raise WireError("metadata record: the frame runs past the end") from None
    if frame != FRAME_VERSION:
        raise UnknownRecord(f"metadata record in frame version {frame}, known is {FRAME_VERSION}")
    cls = RECORD_TYPES.get(key)
    if cls is None:
        raise UnknownRecord(f"metadata record of unknown type {key}")
    if not cls.MIN_VERSION <= version <= cls.MAX_VERSION:
        known = f"{cls.MIN_VERSION} to {cls.MAX_VERSION}"
        raise UnknownRecord(f"{cls.__name__} in unknown version {version}, known are {known}")
    return cls.decode(value, version, position), version
