"""Produce: append record batches to partitions.

Kafka advertises versions from 0 although it refuses 0 to 2: older librdkafka drops compression otherwise (KAFKA-18659).
"""

from headrace.wire.schema import Message, Records, Struct, array, int16, int32, int64, records, string, struct, uuid


class PartitionProduceData(Struct):
    index: int = int32()
    records: Records = records(nullable="0+")


class TopicProduceData(Struct):
    name: str = string(versions="0-12")
    topic_id: bytes = uuid(versions="13+")
    partition_data: list[PartitionProduceData] = array(PartitionProduceData)


class ProduceRequest(Message, key=0, kind="request", versions="3-13", flexible="9+", advertised=(0, 13)):
    transactional_id: str | None = string(None, nullable="3+")
    acks: int = int16()
    timeout_ms: int = int32()
    topic_data: list[TopicProduceData] = array(TopicProduceData)


class BatchIndexAndErrorMessage(Struct):
    batch_index: int = int32()
    batch_index_error_message: str | None = string(None, nullable="8+")


class LeaderIdAndEpoch(Struct):
    leader_id: int = int32(-1)
    leader_epoch: int = int32(-1)


class PartitionProduceResponse(Struct):
    index: int = int32()
    error_code: int = int16()
    base_offset: int = int64()
    log_append_time_ms: int = int64(-1)
    log_start_offset: int = int64(-1, versions="5+")
    record_errors: list[BatchIndexAndErrorMessage] = array(BatchIndexAndErrorMessage, versions="8+")
    error_message: str | None = string(None, versions="8+", nullable="8+")
    current_leader: LeaderIdAndEpoch = struct(LeaderIdAndEpoch, versions="10+", tag=0)


class TopicProduceResponse(Struct):
    name: str = string(versions="0-12")
    topic_id: bytes = uuid(versions="13+")
    partition_responses: list[PartitionProduceResponse] = array(PartitionProduceResponse)


class NodeEndpoint(Struct):
    node_id: int = int32()
    host: str = string()
    port: int = int32()
    rack: str | None = string(None, nullable="10+")


class ProduceResponse(Message, key=0, kind="response", versions="3-13", flexible="9+"):
    responses: list[TopicProduceResponse] = array(TopicProduceResponse)
    throttle_time_ms: int = int32()
    node_endpoints: list[NodeEndpoint] = array(NodeEndpoint, versions="10+", tag=0)
