"""AlterPartitionReassignments, ListPartitionReassignments and AlterReplicaLogDirs over the wire, with one directory and with several."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.testing import LocalBroker, broker
from headrace.testing.faults import FailingFs
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from headrace.wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from headrace.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from headrace.wire.records.metadata import PartitionChangeRecord
from tests.broker.raw import RawClient, batch

Codes = list[tuple[int, ErrorCode]]


def reassign(client: RawClient, topic: str, *wanted: tuple[int, list[int] | None], version: int = 1) -> Codes:
    rows = [ReassignablePartition(partition_index=index, replicas=replicas) for index, replicas in wanted]
    request = AlterPartitionReassignmentsRequest(topics=[ReassignableTopic(name=topic, partitions=rows)])
    response = client.call(request, version)
    assert response.error_code == ErrorCode.NONE
    return [(row.partition_index, ErrorCode(row.error_code)) for row in response.responses[0].partitions]


def ongoing(client: RawClient, *asked: tuple[str, list[int]]) -> dict[str, list[tuple[int, list[int], list[int]]]]:
    topics = [ListPartitionReassignmentsTopics(name=name, partition_indexes=indexes) for name, indexes in asked]
    response = client.call(ListPartitionReassignmentsRequest(topics=topics or None), 0)
    assert (response.error_code, response.error_message) == (ErrorCode.NONE, None)
    return {
        topic.name: [(row.partition_index, row.adding_replicas, row.removing_replicas) for row in topic.partitions]
        for topic in response.topics
    }


def move(client: RawClient, path: Path | str, topic: str, *partitions: int, version: int = 2) -> list[ErrorCode]:
    topics = [AlterReplicaLogDirTopic(name=topic, partitions=list(partitions))]
    response = client.call(
        AlterReplicaLogDirsRequest(dirs=[AlterReplicaLogDir(path=str(path), topics=topics)]), version
    )
    (result,) = response.results
    assert [row.partition_index for row in result.partitions] == list(partitions)
    return [ErrorCode(row.error_code) for row in result.partitions]


@pytest.mark.parametrize("version", range(2))
def test_nothing_can_be_reassigned(client: RawClient, topic: str, version: int) -> None:
    codes = reassign(client, topic, (0, [1]), (1, [1, 2]), (0, None), (9, [1]), version=version)
    assert codes == [
        (0, ErrorCode.NONE),
        (1, ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (0, ErrorCode.NO_REASSIGNMENT_IN_PROGRESS),
        (9, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ]
    assert ongoing(client) == ongoing(client, (topic, [0, 1, 9]), ("nowhere", [0])) == {}


def test_what_several_brokers_left_in_progress_is_listed_and_called_off(
    server: LocalBroker, client: RawClient, topic: str
) -> None:
    client.produce(topic, batch(b"before"))
    topic_id = server.call(lambda b: b.image.topics[topic].id)
    begun = PartitionChangeRecord(partition_id=0, topic_id=topic_id, replicas=[1, 2], adding_replicas=[2])
    server.call(lambda b: b.metadata.write([begun]))
    assert ongoing(client) == ongoing(client, (topic, [0, 1])) == {topic: [(0, [2], [])]}
    assert ongoing(client, (topic, [1])) == {}
    assert reassign(client, topic, (0, None), (1, None)) == [
        (0, ErrorCode.NONE),
        (1, ErrorCode.NO_REASSIGNMENT_IN_PROGRESS),
    ]
    assert ongoing(client) == {}
    assert client.produce(topic, batch(b"after")).error_code == ErrorCode.NONE


@pytest.mark.parametrize("version", [1, 2])
def test_a_replica_stays_where_it_is(tmp_path: Path, version: int) -> None:
    paths = [tmp_path / "a", tmp_path / "b"]
    with broker(log_dirs=",".join(map(str, paths))) as server, RawClient(server.port) as client:
        server.create_topic("t")
        home, other = sorted(paths, key=lambda path: not (path / "t-0").exists())
        assert move(client, home, "t", 0, version=version) == [ErrorCode.NONE]
        assert move(client, other, "t", 0, version=version) == [ErrorCode.UNSUPPORTED_VERSION]
        assert move(client, tmp_path / "c", "t", 0, version=version) == [ErrorCode.LOG_DIR_NOT_FOUND]
        assert move(client, other, "t", 1, version=version) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
        assert move(client, other, "x" * 214, 0, version=version) == [ErrorCode.INVALID_TOPIC_EXCEPTION]
        assert client.produce("t", batch(b"still here")).error_code == ErrorCode.NONE
        assert (home / "t-0").exists() and not (other / "t-0").exists()


def test_directories_that_failed(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    disk = FailingFs(matching=str(second), active=False)
    with broker(log_dirs=f"{first},{second}", fs=disk) as server, RawClient(server.port) as client:
        server.create_topic("t", 2)
        healthy, broken = sorted((0, 1), key=lambda index: (second / f"t-{index}").exists())
        disk.active = True
        assert client.produce("t", batch(b"lost"), partition=broken).error_code == ErrorCode.KAFKA_STORAGE_ERROR
        assert move(client, second, "t", healthy, broken) == [ErrorCode.KAFKA_STORAGE_ERROR] * 2
        assert move(client, first, "t", healthy, broken) == [ErrorCode.NONE, ErrorCode.KAFKA_STORAGE_ERROR]
        server.create_topic("u")
        assert move(client, first, "u", 0) == [ErrorCode.NONE]
        disk.active = False
