"""DescribeQuorum: leader, voters and observers of the metadata quorum (KIP-595)."""

from headrace.wire.schema import Message, Struct, array, int16, int32, int64, string, uint16, uuid


class RequestPartitionData(Struct):
    partition_index: int = int32()


class RequestTopicData(Struct):
    topic_name: str = string()
    partitions: list[RequestPartitionData] = array(RequestPartitionData)


class DescribeQuorumRequest(Message, key=55, kind="request", versions="0-2", flexible="0+"):
    topics: list[RequestTopicData] = array(RequestTopicData)


class ReplicaState(Struct):
    replica_id: int = int32()
    replica_directory_id: bytes = uuid(versions="2+")
    log_end_offset: int = int64()
    last_fetch_timestamp: int = int64(-1, versions="1+")
    last_caught_up_timestamp: int = int64(-1, versions="1+")


class PartitionData(Struct):
    partition_index: int = int32()
    error_code: int = int16()
    error_message: str | None = string(versions="2+", nullable="2+")
    leader_id: int = int32()
    leader_epoch: int = int32()
    high_watermark: int = int64()
    current_voters: list[ReplicaState] = array(ReplicaState)
    observers: list[ReplicaState] = array(ReplicaState)


class TopicData(Struct):
    topic_name: str = string()
    partitions: list[PartitionData] = array(PartitionData)


class Listener(Struct):
    name: str = string()
    host: str = string()
    port: int = uint16()


class Node(Struct):
    node_id: int = int32()
    listeners: list[Listener] = array(Listener)


class DescribeQuorumResponse(Message, key=55, kind="response", versions="0-2", flexible="0+"):
    error_code: int = int16()
    error_message: str | None = string(versions="2+", nullable="2+")
    topics: list[TopicData] = array(TopicData)
    nodes: list[Node] = array(Node, versions="2+")
