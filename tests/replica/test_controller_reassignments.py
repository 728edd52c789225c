"""Reassignments on one node: nothing can move, and what several brokers left behind can be settled."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.replica import controller
from headrace.replica.image import PartitionImage
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from headrace.wire.records.metadata import PartitionChangeRecord, RegisterBrokerRecord
from tests.replica.cluster import DIRECTORY_ID, NODE_ID, Cluster, code

ELSEWHERE = bytes(range(16, 32))


def alter(cluster: Cluster, replicas: list[int] | None, *, index: int = 0, topic: str = "t", allow: bool = True) -> Any:
    wanted = ReassignablePartition(partition_index=index, replicas=replicas)
    request = AlterPartitionReassignmentsRequest(
        topics=[ReassignableTopic(name=topic, partitions=[wanted])], allow_replication_factor_change=allow
    )
    records, response = controller.on_alter_partition_reassignments(cluster.image, request, NODE_ID)
    cluster.take(records)
    assert response.allow_replication_factor_change is allow
    (row,) = response.responses[0].partitions
    assert bool(row.error_message) == bool(row.error_code)
    return row


@pytest.fixture
def cluster() -> Cluster:
    made = Cluster()
    made.create("t", 2)
    return made


def left_behind(cluster: Cluster, **changes: Any) -> PartitionImage:
    """Partition 0 as a cluster of three brokers left it; the others are registered, and gone."""
    for broker in (2, 3):
        cluster.take([RegisterBrokerRecord(broker_id=broker, fenced=True, log_dirs=[ELSEWHERE])])
    topic_id = cluster.image.topics["t"].id
    fields: dict[str, Any] = {"replicas": [2, 1], "isr": [2, 1], "directories": [ELSEWHERE, DIRECTORY_ID]}
    cluster.take([PartitionChangeRecord(partition_id=0, topic_id=topic_id, **(fields | changes))])
    return partition(cluster)


def partition(cluster: Cluster) -> PartitionImage:
    found = cluster.image.partition("t", 0)
    assert found is not None
    return found


def test_to_where_it_is_changes_nothing(cluster: Cluster) -> None:
    before = len(cluster.records)
    for allow in (True, False):
        assert code(alter(cluster, [NODE_ID], allow=allow)) == ErrorCode.NONE
    assert len(cluster.records) == before


@pytest.mark.parametrize("replicas", [[7], [1, 7], [7, 1], [1, 1], [-1], []])
def test_replicas_that_cannot_be(cluster: Cluster, replicas: list[int]) -> None:
    assert code(alter(cluster, replicas)) == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert code(alter(cluster, replicas, allow=False)) == ErrorCode.INVALID_REPLICA_ASSIGNMENT


def test_what_is_not_going_on_cannot_be_called_off(cluster: Cluster) -> None:
    assert code(alter(cluster, None)) == ErrorCode.NO_REASSIGNMENT_IN_PROGRESS


@pytest.mark.parametrize("replicas", [[1], [7], [], None])
def test_unknown_ones(cluster: Cluster, replicas: list[int] | None) -> None:
    for topic, index in (("t", 2), ("t", -1), ("nowhere", 0)):
        assert code(alter(cluster, replicas, topic=topic, index=index)) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_request_without_topics_says_nothing() -> None:
    request = AlterPartitionReassignmentsRequest(allow_replication_factor_change=False)
    records, response = controller.on_alter_partition_reassignments(Cluster().image, request, NODE_ID)
    assert (records, response.responses, response.allow_replication_factor_change) == ([], [], True)


def test_replicas_on_brokers_that_are_gone_are_given_up(cluster: Cluster) -> None:
    before = left_behind(cluster)
    assert code(alter(cluster, [NODE_ID], allow=False)) == ErrorCode.INVALID_REPLICATION_FACTOR
    assert partition(cluster) == before
    assert code(alter(cluster, [NODE_ID])) == ErrorCode.NONE
    after = partition(cluster)
    assert (after.replicas, after.isr, after.directories) == ((NODE_ID,), (NODE_ID,), (DIRECTORY_ID,))
    assert (after.leader, after.leader_epoch) == (before.leader, before.leader_epoch), "there is nobody to fence"


@pytest.mark.parametrize("replicas", [[2], [1, 2], [2, 1], [1, 3]])
def test_registered_brokers_that_do_not_run_get_no_replicas(cluster: Cluster, replicas: list[int]) -> None:
    left_behind(cluster)
    assert code(alter(cluster, replicas)) == ErrorCode.INVALID_REPLICA_ASSIGNMENT


def test_a_replica_that_is_not_here_cannot_be_made(cluster: Cluster) -> None:
    left_behind(cluster, replicas=[2], isr=[2], directories=[ELSEWHERE], leader=2)
    assert code(alter(cluster, [NODE_ID])) == ErrorCode.INVALID_REPLICA_ASSIGNMENT


def test_a_leader_elsewhere_is_not_left_behind(cluster: Cluster) -> None:
    """Its records may be ahead of those that are here."""
    left_behind(cluster, leader=2)
    assert code(alter(cluster, [NODE_ID])) == ErrorCode.INVALID_REPLICA_ASSIGNMENT


def test_what_is_going_on_is_called_off(cluster: Cluster) -> None:
    on_the_way = {"replicas": [2, 3, 1], "adding_replicas": [2, 3], "removing_replicas": [1], "isr": [1, 3]}
    before = left_behind(cluster, **on_the_way, directories=[ELSEWHERE, ELSEWHERE, DIRECTORY_ID])
    assert before.in_reassignment
    assert code(alter(cluster, None)) == ErrorCode.NONE
    after = partition(cluster)
    assert (after.replicas, after.isr, after.directories) == ((NODE_ID,), (NODE_ID,), (DIRECTORY_ID,))
    assert not after.in_reassignment
    assert code(alter(cluster, None)) == ErrorCode.NO_REASSIGNMENT_IN_PROGRESS


def test_what_would_need_another_leader_is_not_called_off(cluster: Cluster) -> None:
    left_behind(cluster, adding_replicas=[1], leader=1)
    assert code(alter(cluster, None)) == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert partition(cluster).in_reassignment
