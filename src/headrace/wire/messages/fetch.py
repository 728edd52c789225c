"""Fetch: read record batches from partitions, for consumers in fetch sessions (KIP-227) and for followers."""

from headrace.wire.schema import (
    Message,
    Records,
    Struct,
    array,
    int8,
    int16,
    int32,
    int64,
    records,
    string,
    struct,
    uuid,
)


class ReplicaState(Struct):
    replica_id: int = int32(-1)
    replica_epoch: int = int64(-1)


class FetchPartition(Struct):
    partition: int = int32()
    current_leader_epoch: int = int32(-1, versions="9+")
    fetch_offset: int = int64()
    last_fetched_epoch: int = int32(-1, versions="12+")
    log_start_offset: int = int64(-1, versions="5+")
    partition_max_bytes: int = int32()
    replica_directory_id: bytes = uuid(versions="17+", tag=0)
    high_watermark: int = int64(0x7FFFFFFFFFFFFFFF, versions="18+", tag=1)


class FetchTopic(Struct):
    topic: str = string(versions="0-12")
    topic_id: bytes = uuid(versions="13+")
    partitions: list[FetchPartition] = array(FetchPartition)


class ForgottenTopic(Struct):
    topic: str = string(versions="7-12")
    topic_id: bytes = uuid(versions="13+")
    partitions: list[int] = array(int32())


class FetchRequest(Message, key=1, kind="request", versions="4-18", flexible="12+"):
    cluster_id: str | None = string(None, versions="12+", nullable="12+", tag=0)
    replica_id: int = int32(-1, versions="0-14")
    replica_state: ReplicaState = struct(ReplicaState, versions="15+", tag=1)
    max_wait_ms: int = int32()
    min_bytes: int = int32()
    max_bytes: int = int32(0x7FFFFFFF)
    isolation_level: int = int8()
    session_id: int = int32(versions="7+")
    session_epoch: int = int32(-1, versions="7+")
    topics: list[FetchTopic] = array(FetchTopic)
    forgotten_topics_data: list[ForgottenTopic] = array(ForgottenTopic, versions="7+")
    rack_id: str = string(versions="11+")


class EpochEndOffset(Struct):
    epoch: int = int32(-1)
    end_offset: int = int64(-1)


class LeaderIdAndEpoch(Struct):
    leader_id: int = int32(-1)
    leader_epoch: int = int32(-1)


class SnapshotId(Struct):
    end_offset: int = int64(-1)
    epoch: int = int32(-1)


class AbortedTransaction(Struct):
    producer_id: int = int64()
    first_offset: int = int64()


class PartitionData(Struct):
    partition_index: int = int32()
    error_code: int = int16()
    high_watermark: int = int64()
    last_stable_offset: int = int64(-1)
    log_start_offset: int = int64(-1, versions="5+")
    diverging_epoch: EpochEndOffset = struct(EpochEndOffset, versions="12+", tag=0)
    current_leader: LeaderIdAndEpoch = struct(LeaderIdAndEpoch, versions="12+", tag=1)
    snapshot_id: SnapshotId = struct(SnapshotId, versions="12+", tag=2)
    aborted_transactions: list[AbortedTransaction] | None = array(AbortedTransaction, nullable="4+")
    preferred_read_replica: int = int32(-1, versions="11+")
    records: Records = records(nullable="0+")


class FetchableTopicResponse(Struct):
    topic: str = string(versions="0-12")
    topic_id: bytes = uuid(versions="13+")
    partitions: list[PartitionData] = array(PartitionData)


class NodeEndpoint(Struct):
    node_id: int = int32()
    host: str = string()
    port: int = int32()
    rack: str | None = string(None, nullable="16+")


class FetchResponse(Message, key=1, kind="response", versions="4-18", flexible="12+"):
    throttle_time_ms: int = int32()
    error_code: int = int16(versions="7+")
    session_id: int = int32(versions="7+")
    responses: list[FetchableTopicResponse] = array(FetchableTopicResponse)
    node_endpoints: list[NodeEndpoint] = array(NodeEndpoint, versions="16+", tag=0)
