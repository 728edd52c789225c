"""OffsetFetch: the offsets a group has committed, for one group or, from version 8, several."""

from headrace.wire.schema import Message, Struct, array, boolean, int16, int32, int64, string, uuid


class OffsetFetchRequestTopic(Struct):
    name: str = string()
    partition_indexes: list[int] = array(int32())


class OffsetFetchRequestTopics(Struct):
    name: str = string(versions="8-9")
    topic_id: bytes = uuid(versions="10+")
    partition_indexes: list[int] = array(int32())


class OffsetFetchRequestGroup(Struct):
    group_id: str = string()
    member_id: str | None = string(None, versions="9+", nullable="9+")
    member_epoch: int = int32(-1, versions="9+")
    topics: list[OffsetFetchRequestTopics] | None = array(OffsetFetchRequestTopics, nullable="8+")


class OffsetFetchRequest(Message, key=9, kind="request", versions="1-10", flexible="6+"):
    group_id: str = string(versions="0-7")
    topics: list[OffsetFetchRequestTopic] | None = array(OffsetFetchRequestTopic, versions="0-7", nullable="2-7")
    groups: list[OffsetFetchRequestGroup] = array(OffsetFetchRequestGroup, versions="8+")
    require_stable: bool = boolean(versions="7+")


class OffsetFetchResponsePartition(Struct):
    partition_index: int = int32()
    committed_offset: int = int64()
    committed_leader_epoch: int = int32(-1, versions="5-7")
    metadata: str | None = string(nullable="0-7")
    error_code: int = int16()


class OffsetFetchResponseTopic(Struct):
    name: str = string()
    partitions: list[OffsetFetchResponsePartition] = array(OffsetFetchResponsePartition)


class OffsetFetchResponsePartitions(Struct):
    partition_index: int = int32()
    committed_offset: int = int64()
    committed_leader_epoch: int = int32(-1)
    metadata: str | None = string(nullable="8+")
    error_code: int = int16()


class OffsetFetchResponseTopics(Struct):
    name: str = string(versions="8-9")
    topic_id: bytes = uuid(versions="10+")
    partitions: list[OffsetFetchResponsePartitions] = array(OffsetFetchResponsePartitions)


class OffsetFetchResponseGroup(Struct):
    group_id: str = string()
    topics: list[OffsetFetchResponseTopics] = array(OffsetFetchResponseTopics)
    error_code: int = int16()


class OffsetFetchResponse(Message, key=9, kind="response", versions="1-10", flexible="6+"):
    throttle_time_ms: int = int32(versions="3+")
    topics: list[OffsetFetchResponseTopic] = array(OffsetFetchResponseTopic, versions="0-7")
    error_code: int = int16(versions="2-7")
    groups: list[OffsetFetchResponseGroup] = array(OffsetFetchResponseGroup, versions="8+")
