"""ListPartitionReassignments: partitions that are on their way to other replicas (KIP-455)."""

from headrace.wire.schema import Message, Struct, array, int16, int32, string


class ListPartitionReassignmentsTopics(Struct):
    name: str = string()
    partition_indexes: list[int] = array(int32())


class ListPartitionReassignmentsRequest(Message, key=46, kind="request", versions="0", flexible="0+"):
    timeout_ms: int = int32(60000)
    topics: list[ListPartitionReassignmentsTopics] | None = array(ListPartitionReassignmentsTopics, None, nullable="0+")


class OngoingPartitionReassignment(Struct):
    partition_index: int = int32()
    replicas: list[int] = array(int32())
    adding_replicas: list[int] = array(int32())
    removing_replicas: list[int] = array(int32())


class OngoingTopicReassignment(Struct):
    name: str = string()
    partitions: list[OngoingPartitionReassignment] = array(OngoingPartitionReassignment)


class ListPartitionReassignmentsResponse(Message, key=46, kind="response", versions="0", flexible="0+"):
    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+")
    topics: list[OngoingTopicReassignment] = array(OngoingTopicReassignment)
