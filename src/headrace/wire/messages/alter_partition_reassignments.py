"""AlterPartitionReassignments: give partitions other replicas, or call that off (KIP-455, KIP-860)."""

from headrace.wire.schema import Message, Struct, array, boolean, int16, int32, string


class ReassignablePartition(Struct):
    partition_index: int = int32()
    replicas: list[int] | None = array(int32(), None, nullable="0+")


class ReassignableTopic(Struct):
    name: str = string()
    partitions: list[ReassignablePartition] = array(ReassignablePartition)


class AlterPartitionReassignmentsRequest(Message, key=45, kind="request", versions="0-1", flexible="0+"):
    timeout_ms: int = int32(60000)
    allow_replication_factor_change: bool = boolean(True, versions="1+")
    topics: list[ReassignableTopic] = array(ReassignableTopic)


class ReassignablePartitionResponse(Struct):
    partition_index: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+")


class ReassignableTopicResponse(Struct):
    name: str = string()
    partitions: list[ReassignablePartitionResponse] = array(ReassignablePartitionResponse)


class AlterPartitionReassignmentsResponse(Message, key=45, kind="response", versions="0-1", flexible="0+"):
    throttle_time_ms: int = int32()
    allow_replication_factor_change: bool = boolean(True, versions="1+")
    error_code: int = int16()
    error_message: str | None = string(nullable="0+")
    responses: list[ReassignableTopicResponse] = array(ReassignableTopicResponse)
