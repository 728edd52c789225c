"""The table of APIs: key, versions and message classes of each, derived from the declarations in `messages`.

What a broker advertises is a subset of this: the APIs that it has handlers for.
"""

from __future__ import annotations

from dataclasses import dataclass

from headrace.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from headrace.wire.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnResponse
from headrace.wire.messages.alter_configs import AlterConfigsRequest, AlterConfigsResponse
from headrace.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
)
from headrace.wire.messages.alter_replica_log_dirs import AlterReplicaLogDirsRequest, AlterReplicaLogDirsResponse
from headrace.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from headrace.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsResponse
from headrace.wire.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from headrace.wire.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from headrace.wire.messages.delete_records import DeleteRecordsRequest, DeleteRecordsResponse
from headrace.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from headrace.wire.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from headrace.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResponse
from headrace.wire.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from headrace.wire.messages.describe_log_dirs import DescribeLogDirsRequest, DescribeLogDirsResponse
from headrace.wire.messages.describe_producers import DescribeProducersRequest, DescribeProducersResponse
from headrace.wire.messages.describe_quorum import DescribeQuorumRequest, DescribeQuorumResponse
from headrace.wire.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
)
from headrace.wire.messages.describe_transactions import DescribeTransactionsRequest, DescribeTransactionsResponse
from headrace.wire.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse
from headrace.wire.messages.end_txn import EndTxnRequest, EndTxnResponse
from headrace.wire.messages.fetch import FetchRequest, FetchResponse
from headrace.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from headrace.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from headrace.wire.messages.incremental_alter_configs import (
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from headrace.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from headrace.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse
from headrace.wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from headrace.wire.messages.list_config_resources import ListConfigResourcesRequest, ListConfigResourcesResponse
from headrace.wire.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from headrace.wire.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from headrace.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)
from headrace.wire.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse
from headrace.wire.messages.metadata import MetadataRequest, MetadataResponse
from headrace.wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from headrace.wire.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteResponse
from headrace.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse
from headrace.wire.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse
from headrace.wire.messages.produce import ProduceRequest, ProduceResponse
from headrace.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from headrace.wire.messages.txn_offset_commit import TxnOffsetCommitRequest, TxnOffsetCommitResponse
from headrace.wire.messages.update_features import UpdateFeaturesRequest, UpdateFeaturesResponse
from headrace.wire.messages.write_txn_markers import WriteTxnMarkersRequest, WriteTxnMarkersResponse
from headrace.wire.schema import Message


@dataclass(frozen=True, slots=True)
class Api:
    """One API. `advertised` is the range for ApiVersions, which differs from the range spoken for two APIs."""

    key: int
    name: str
    min_version: int
    max_version: int
    flexible_from: int
    advertised: tuple[int, int]
    request: type[Message]
    response: type[Message]


def declare(request: type[Message], response: type[Message]) -> Api:
    """The API of a request and a response, whose declarations must agree."""
    versions = (request.MIN_VERSION, request.MAX_VERSION)
    name = request.__name__.removesuffix("Request")
    assert (request.KEY, *versions) == (response.KEY, response.MIN_VERSION, response.MAX_VERSION), name
    assert response.FLEXIBLE_FROM == request.FLEXIBLE_FROM, name
    return Api(request.KEY, name, *versions, request.FLEXIBLE_FROM, request.ADVERTISED, request, response)


_DECLARED = (
    declare(ProduceRequest, ProduceResponse),
    declare(FetchRequest, FetchResponse),
    declare(ListOffsetsRequest, ListOffsetsResponse),
    declare(MetadataRequest, MetadataResponse),
    declare(OffsetCommitRequest, OffsetCommitResponse),
    declare(OffsetFetchRequest, OffsetFetchResponse),
    declare(FindCoordinatorRequest, FindCoordinatorResponse),
    declare(JoinGroupRequest, JoinGroupResponse),
    declare(HeartbeatRequest, HeartbeatResponse),
    declare(LeaveGroupRequest, LeaveGroupResponse),
    declare(SyncGroupRequest, SyncGroupResponse),
    declare(DescribeGroupsRequest, DescribeGroupsResponse),
    declare(ListGroupsRequest, ListGroupsResponse),
    declare(ApiVersionsRequest, ApiVersionsResponse),
    declare(CreateTopicsRequest, CreateTopicsResponse),
    declare(DeleteTopicsRequest, DeleteTopicsResponse),
    declare(DeleteRecordsRequest, DeleteRecordsResponse),
    declare(InitProducerIdRequest, InitProducerIdResponse),
    declare(OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse),
    declare(AddPartitionsToTxnRequest, AddPartitionsToTxnResponse),
    declare(AddOffsetsToTxnRequest, AddOffsetsToTxnResponse),
    declare(EndTxnRequest, EndTxnResponse),
    declare(WriteTxnMarkersRequest, WriteTxnMarkersResponse),
    declare(TxnOffsetCommitRequest, TxnOffsetCommitResponse),
    declare(DescribeConfigsRequest, DescribeConfigsResponse),
    declare(AlterConfigsRequest, AlterConfigsResponse),
    declare(AlterReplicaLogDirsRequest, AlterReplicaLogDirsResponse),
    declare(DescribeLogDirsRequest, DescribeLogDirsResponse),
    declare(CreatePartitionsRequest, CreatePartitionsResponse),
    declare(DeleteGroupsRequest, DeleteGroupsResponse),
    declare(ElectLeadersRequest, ElectLeadersResponse),
    declare(IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse),
    declare(AlterPartitionReassignmentsRequest, AlterPartitionReassignmentsResponse),
    declare(ListPartitionReassignmentsRequest, ListPartitionReassignmentsResponse),
    declare(OffsetDeleteRequest, OffsetDeleteResponse),
    declare(DescribeQuorumRequest, DescribeQuorumResponse),
    declare(UpdateFeaturesRequest, UpdateFeaturesResponse),
    declare(DescribeClusterRequest, DescribeClusterResponse),
    declare(DescribeProducersRequest, DescribeProducersResponse),
    declare(DescribeTransactionsRequest, DescribeTransactionsResponse),
    declare(ListTransactionsRequest, ListTransactionsResponse),
    declare(ListConfigResourcesRequest, ListConfigResourcesResponse),
    declare(DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse),
)

APIS: dict[int, Api] = {api.key: api for api in _DECLARED}
