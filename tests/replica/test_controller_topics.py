"""Topics: Kafka's error for everything that is refused, and the records of what is not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headrace.replica import controller
from headrace.replica.image import TOPIC_RESOURCE
from headrace.replica.snapshot import record_version
from headrace.replica.topic_names import CONSUMER_OFFSETS
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from headrace.wire.messages.create_topics import CreatableReplicaAssignment, CreatableTopic, CreatableTopicConfig
from headrace.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from headrace.wire.records.metadata import encode_record
from headrace.wire.schema import ZERO_UUID
from tests.replica.cluster import DIRECTORY_ID, NODE_ID, Cluster, code, creatable

GOLDEN = Path(__file__).parent / "golden"


def test_created_records_are_kafkas() -> None:
    """Golden: the bytes that Apache Kafka 4.3 wrote for the same commands, in its order; only the random ids are its own."""
    golden = json.loads((GOLDEN / "kafka_4_3_topic_records.json").read_text())
    cluster = Cluster()
    start = len(cluster.records)
    alpha = cluster.create("alpha", 2, cleanup_policy="compact", retention_ms="1000")
    beta = cluster.create("beta")
    cluster.add_partitions("beta", 3)
    cluster.alter(TOPIC_RESOURCE, "beta", ("segment.bytes", 0, "2000000"))
    cluster.alter(TOPIC_RESOURCE, "alpha", ("retention.ms", 1, None))
    cluster.delete("alpha")
    ours = {alpha.topic_id: "alpha", beta.topic_id: "beta", DIRECTORY_ID: "directory"}
    written = []
    for record in cluster.records[start:]:
        version = record_version(record, cluster.image)
        value = encode_record(record, version)
        for own_id, name in ours.items():
            value = value.replace(own_id, bytes.fromhex(golden["ids"][name]))
        written.append({"record": type(record).__name__, "version": version, "value": value.hex()})
    assert written == golden["records"]


@pytest.mark.parametrize("name", ["", ".", "..", "a b", "ä", "a/b", "x" * 250, "a\n"])
def test_invalid_names(name: str) -> None:
    result = Cluster().create(name)
    assert code(result) == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert result.error_message


def test_the_longest_name() -> None:
    assert code(Cluster().create("x" * 249)) == ErrorCode.NONE


def test_existing_and_similar_names() -> None:
    cluster = Cluster()
    cluster.create("a.b")
    assert code(cluster.create("a.b")) == ErrorCode.TOPIC_ALREADY_EXISTS
    similar = cluster.create("a_b")
    assert code(similar) == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert "'a.b'" in similar.error_message
    cluster.delete("a.b")
    assert code(cluster.create("a_b")) == ErrorCode.NONE


def test_similar_names_in_one_request() -> None:
    results = Cluster().create_all(creatable("c.d"), creatable("c_d"))
    assert [code(result) for result in results] == [ErrorCode.NONE, ErrorCode.INVALID_TOPIC_EXCEPTION]


def test_one_name_twice_in_a_request_is_answered_once() -> None:
    results = Cluster().create_all(creatable("t"), creatable("t"), creatable("u"))
    assert [(result.name, code(result)) for result in results] == [
        ("t", ErrorCode.INVALID_REQUEST),
        ("u", ErrorCode.NONE),
    ]


def test_the_metadata_topic_is_nobodys() -> None:
    assert code(Cluster().create("__cluster_metadata")) == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(
    ("partitions", "factor", "error"),
    [
        (0, 1, ErrorCode.INVALID_PARTITIONS),
        (-2, 1, ErrorCode.INVALID_PARTITIONS),
        (1, 0, ErrorCode.INVALID_REPLICATION_FACTOR),
        (1, -2, ErrorCode.INVALID_REPLICATION_FACTOR),
        (1, 2, ErrorCode.INVALID_REPLICATION_FACTOR),
        (10_001, 1, ErrorCode.POLICY_VIOLATION),
        (2**31 - 1, 1, ErrorCode.POLICY_VIOLATION),
    ],
)
def test_partitions_and_replicas_that_cannot_be(partitions: int, factor: int, error: ErrorCode) -> None:
    cluster = Cluster()
    result = cluster.create("t", partitions, factor)
    assert code(result) == error
    assert result.error_message
    assert "t" not in cluster.image.topics


def test_defaults() -> None:
    cluster = Cluster(num_partitions=4)
    result = cluster.create("t", -1, -1)
    assert (result.num_partitions, result.replication_factor) == (4, 1)
    assert len(cluster.image.topics["t"].partitions) == 4


def test_validate_only_creates_nothing_and_says_what_it_would() -> None:
    cluster = Cluster()
    results = cluster.create_all(creatable("ok", 3), creatable("no", 0), validate_only=True)
    assert [code(result) for result in results] == [ErrorCode.NONE, ErrorCode.INVALID_PARTITIONS]
    assert results[0].num_partitions == 3
    assert cluster.image.topics == {}


def test_configs_are_checked_and_answered() -> None:
    cluster = Cluster(log_retention_hours="1")
    assert code(cluster.create("t", retention_ms="soon")) == ErrorCode.INVALID_CONFIG
    assert code(cluster.create("t", no_such_config="1")) == ErrorCode.INVALID_CONFIG
    topic = creatable("t")
    topic.configs = [CreatableTopicConfig(name="retention.ms", value=None)]
    assert code(cluster.create_all(topic)[0]) == ErrorCode.INVALID_CONFIG
    result = cluster.create("t", segment_bytes="2000000")
    described = {config.name: (config.value, config.config_source) for config in result.configs}
    assert described["segment.bytes"] == ("2000000", 1)
    assert described["retention.ms"] == ("3600000", 5)
    assert list(described) == sorted(described)


def assigned(*replicas: list[int], partitions: int = -1, factor: int = -1) -> CreatableTopic:
    return CreatableTopic(
        name="t",
        num_partitions=partitions,
        replication_factor=factor,
        assignments=[CreatableReplicaAssignment(partition_index=i, broker_ids=ids) for i, ids in enumerate(replicas)],
    )


def test_replicas_assigned_by_hand() -> None:
    cluster = Cluster()
    assert code(cluster.create_all(assigned([NODE_ID], [NODE_ID]))[0]) == ErrorCode.NONE
    assert len(cluster.image.topics["t"].partitions) == 2


@pytest.mark.parametrize(
    ("topic", "error"),
    [
        (assigned([1], partitions=1), ErrorCode.INVALID_REQUEST),
        (assigned([1], factor=1), ErrorCode.INVALID_REQUEST),
        (assigned([2]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (assigned([1, 1]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (assigned([]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (assigned([1], []), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    ],
)
def test_assignments_that_cannot_be(topic: CreatableTopic, error: ErrorCode) -> None:
    assert code(Cluster().create_all(topic)[0]) == error


def test_assignments_must_be_numbered_from_zero() -> None:
    topic = assigned([1], [1])
    topic.assignments[1].partition_index = 2
    assert code(Cluster().create_all(topic)[0]) == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    topic.assignments[1].partition_index = 0
    assert code(Cluster().create_all(topic)[0]) == ErrorCode.INVALID_REPLICA_ASSIGNMENT


def test_limits_of_our_own() -> None:
    cluster = Cluster(headrace_max_topics=1, headrace_max_partitions=2)
    assert code(cluster.create("big", 3)) == ErrorCode.POLICY_VIOLATION
    assert code(cluster.create("t")) == ErrorCode.NONE
    assert code(cluster.create("u")) == ErrorCode.POLICY_VIOLATION
    assert code(cluster.add_partitions("t", 3)) == ErrorCode.POLICY_VIOLATION
    assert code(cluster.add_partitions("t", 2)) == ErrorCode.NONE


def delete(cluster: Cluster, *states: DeleteTopicState, version: int = 6):
    request = DeleteTopicsRequest(topics=list(states))
    records, response = controller.on_delete_topics(cluster.image, request, cluster.settings, api_version=version)
    cluster.take(records)
    return response.responses


def test_deletion_by_name_and_by_id() -> None:
    cluster = Cluster()
    first, second = cluster.create("a"), cluster.create("b")
    results = delete(cluster, DeleteTopicState(name="a"), DeleteTopicState(name=None, topic_id=second.topic_id))
    assert [(r.name, r.topic_id, code(r)) for r in results] == [
        ("a", first.topic_id, ErrorCode.NONE),
        ("b", second.topic_id, ErrorCode.NONE),
    ]
    assert cluster.image.topics == {}


def test_deletions_that_are_refused() -> None:
    cluster = Cluster()
    topic_id = cluster.create("a").topic_id
    cases = [
        ([DeleteTopicState(name="x")], ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ([DeleteTopicState(name=None, topic_id=b"x" * 16)], ErrorCode.UNKNOWN_TOPIC_ID),
        ([DeleteTopicState(name=None, topic_id=ZERO_UUID)], ErrorCode.INVALID_REQUEST),
        ([DeleteTopicState(name="a", topic_id=topic_id)], ErrorCode.INVALID_REQUEST),
        ([DeleteTopicState(name="a"), DeleteTopicState(name="a")], ErrorCode.INVALID_REQUEST),
    ]
    for states, error in cases:
        assert [code(result) for result in delete(cluster, *states)] == [error]
    assert "a" in cluster.image.topics


def test_a_topic_named_by_name_and_id_is_not_deleted() -> None:
    cluster = Cluster()
    topic_id = cluster.create("a").topic_id
    results = delete(cluster, DeleteTopicState(name="a"), DeleteTopicState(name=None, topic_id=topic_id))
    assert [(result.name, result.topic_id, code(result)) for result in results] == [
        ("a", topic_id, ErrorCode.INVALID_REQUEST)
    ]
    assert "a" in cluster.image.topics


def test_deletion_switched_off() -> None:
    cluster = Cluster(delete_topic_enable="false")
    cluster.create("a")
    assert code(delete(cluster, DeleteTopicState(name="a"))[0]) == ErrorCode.TOPIC_DELETION_DISABLED
    assert code(delete(cluster, DeleteTopicState(name="a"), version=2)[0]) == ErrorCode.INVALID_REQUEST


def test_more_partitions() -> None:
    cluster = Cluster()
    cluster.create("t", 2)
    assert code(cluster.add_partitions("t", 5)) == ErrorCode.NONE
    assert len(cluster.image.topics["t"].partitions) == 5
    assert code(cluster.add_partitions("t", 5)) == ErrorCode.INVALID_PARTITIONS
    assert code(cluster.add_partitions("t", 4)) == ErrorCode.INVALID_PARTITIONS
    assert code(cluster.add_partitions("u", 4)) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert code(cluster.add_partitions("t", 2**31 - 1)) == ErrorCode.POLICY_VIOLATION


def test_more_partitions_assigned_by_hand() -> None:
    cluster = Cluster()
    cluster.create("t")
    here = CreatePartitionsAssignment(broker_ids=[NODE_ID])
    elsewhere = CreatePartitionsAssignment(broker_ids=[7])
    for assignments, error in (
        ([here], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ([here, elsewhere], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ([here, here], ErrorCode.NONE),
    ):
        topic = CreatePartitionsTopic(name="t", count=3, assignments=assignments)
        request = CreatePartitionsRequest(topics=[topic], validate_only=True)
        records, response = controller.on_create_partitions(cluster.image, request, cluster.settings)
        assert (records, code(response.results[0])) == ([], error)


def test_internal_topics_have_the_settings_their_coordinators_need() -> None:
    cluster = Cluster(offsets_topic_num_partitions=3)
    records, (error, _) = controller.on_create_internal_topic(cluster.image, CONSUMER_OFFSETS, cluster.settings)
    cluster.take(records)
    assert error == ErrorCode.NONE
    assert len(cluster.image.topics[CONSUMER_OFFSETS].partitions) == 3
    assert cluster.image.topic_config(CONSUMER_OFFSETS) == {
        "cleanup.policy": "compact",
        "compression.type": "producer",
        "segment.bytes": "104857600",
    }
    again, (error, _) = controller.on_create_internal_topic(cluster.image, CONSUMER_OFFSETS, cluster.settings)
    assert (again, error) == ([], ErrorCode.NONE)
