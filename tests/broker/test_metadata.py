"""Metadata, DescribeCluster, DescribeTopicPartitions, DescribeQuorum: what clients learn about the cluster."""

from __future__ import annotations

import time

import pytest

from headrace.broker.api.metadata import prepared_topics
from headrace.broker.nodes import CLUSTER_OPERATIONS, TOPIC_OPERATIONS
from headrace.testing import LocalBroker, broker
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from headrace.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from headrace.wire.messages.describe_cluster import DescribeClusterRequest
from headrace.wire.messages.describe_quorum import DescribeQuorumRequest, RequestPartitionData, RequestTopicData
from headrace.wire.messages.describe_topic_partitions import Cursor, DescribeTopicPartitionsRequest, TopicRequest
from headrace.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from headrace.wire.schema import ZERO_UUID
from tests.broker.raw import RawClient

NOT_ASKED = -0x80000000


@pytest.fixture(scope="module")
def server():
    with broker(num_partitions=2, auto_create_topics_enable="true") as running:
        running.create_topic("a", 1)
        running.create_topic("b", 3)
        yield running


@pytest.fixture
def client(server: LocalBroker):
    with RawClient(server.port) as connected:
        yield connected


def ask(*names: str, **options: object) -> MetadataRequest:
    return MetadataRequest(topics=[MetadataRequestTopic(name=name) for name in names], **options)


@pytest.mark.parametrize("version", range(14))
def test_all_topics(client: RawClient, server: LocalBroker, version: int) -> None:
    response = client.call(MetadataRequest(topics=[] if version == 0 else None), version)
    assert {"a", "b"} <= {topic.name for topic in response.topics}
    assert [(node.node_id, node.port) for node in response.brokers] == [(1, server.port)]
    b = next(topic for topic in response.topics if topic.name == "b")
    assert [(p.partition_index, p.leader_id, p.replica_nodes, p.isr_nodes) for p in b.partitions] == [
        (index, 1, [1], [1]) for index in range(3)
    ]
    assert b.topic_authorized_operations == NOT_ASKED
    if version >= 2:
        assert response.cluster_id
    if version >= 10:
        assert b.topic_id != ZERO_UUID


def test_the_kept_answer_is_the_fresh_one_and_follows_changes(client: RawClient, server: LocalBroker) -> None:
    first = client.call(MetadataRequest(topics=None), 12)
    again = client.call(MetadataRequest(topics=None), 12)
    assert first == again
    server.create_topic("fresh", 1)
    assert "fresh" in {topic.name for topic in client.call(MetadataRequest(topics=None), 12).topics}


def test_what_was_prepared_for_deleted_topics_is_forgotten() -> None:
    """Although nobody asks for all topics."""
    with broker() as running, RawClient(running.port) as client:
        for number in range(20):
            topic = CreatableTopic(name=f"short-lived-{number}", num_partitions=1, replication_factor=1)
            client.call(CreateTopicsRequest(topics=[topic]), 7)
            assert client.call(ask(topic.name), 12).topics[0].error_code == ErrorCode.NONE
            client.call(DeleteTopicsRequest(topics=[DeleteTopicState(name=topic.name)]), 6)
        running.create_topic("stays", 1)
        assert client.call(ask("stays"), 12).topics[0].error_code == ErrorCode.NONE
        kept, topics = running.call(lambda b: (len(prepared_topics(b)), len(b.image.topics)))
        assert kept <= 2 * topics


def test_an_empty_list_asks_for_no_topics(client: RawClient) -> None:
    response = client.call(MetadataRequest(topics=[]), 1)
    assert response.topics == []
    assert len(response.brokers) == 1


def test_named_topics_are_answered_once_each(client: RawClient) -> None:
    response = client.call(ask("b", "a", "b"), 9)
    assert sorted(topic.name for topic in response.topics) == ["a", "b"]


def test_topics_are_created_when_asked_for(client: RawClient) -> None:
    response = client.call(ask("made-by-asking"), 12)
    (topic,) = response.topics
    assert (topic.error_code, len(topic.partitions)) == (0, 2)
    assert topic.topic_id != ZERO_UUID


def test_topics_are_not_created_when_the_client_forbids_it(client: RawClient) -> None:
    response = client.call(ask("not-there", allow_auto_topic_creation=False), 12)
    assert response.topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_topics_are_not_created_when_the_broker_forbids_it() -> None:
    with broker(auto_create_topics_enable="false") as running, RawClient(running.port) as client:
        assert client.call(ask("x"), 4).topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_names_that_cannot_be_created(client: RawClient) -> None:
    codes = {
        topic.name: topic.error_code for topic in client.call(ask("bad name", "", "x" * 250, "b.b", "b_b"), 12).topics
    }
    invalid = ErrorCode.INVALID_TOPIC_EXCEPTION
    assert codes == {"bad name": invalid, "": invalid, "x" * 250: invalid, "b.b": 0, "b_b": invalid}


def test_internal_topics_are_created_with_their_own_settings(client: RawClient) -> None:
    (topic,) = client.call(ask("__consumer_offsets"), 12).topics
    assert topic.is_internal
    assert len(topic.partitions) >= 1


def test_topics_by_id(client: RawClient) -> None:
    known = next(topic for topic in client.call(MetadataRequest(topics=None), 12).topics if topic.name == "a")
    wanted = [
        MetadataRequestTopic(topic_id=known.topic_id, name=None),
        MetadataRequestTopic(topic_id=b"?" * 16, name=None),
    ]
    response = client.call(MetadataRequest(topics=wanted), 12)
    assert [(topic.name, topic.error_code) for topic in response.topics] == [
        ("a", ErrorCode.NONE),
        (None, ErrorCode.UNKNOWN_TOPIC_ID),
    ]
    response = client.call(MetadataRequest(topics=[MetadataRequestTopic(topic_id=known.topic_id, name="a")]), 10)
    assert response.topics[0].error_code == ErrorCode.INVALID_REQUEST


def test_authorized_operations_when_asked_for(client: RawClient) -> None:
    asked = ask("a", include_topic_authorized_operations=True, include_cluster_authorized_operations=True)
    response = client.call(asked, 8)
    assert response.topics[0].topic_authorized_operations == TOPIC_OPERATIONS == 3576
    assert response.cluster_authorized_operations == CLUSTER_OPERATIONS == 8096
    assert client.call(ask("a"), 8).topics[0].topic_authorized_operations == NOT_ASKED


@pytest.mark.parametrize("version", range(3))
def test_describe_cluster(client: RawClient, server: LocalBroker, version: int) -> None:
    response = client.call(DescribeClusterRequest(include_cluster_authorized_operations=True), version)
    assert [(node.broker_id, node.port) for node in response.brokers] == [(1, server.port)]
    assert (response.controller_id, response.cluster_authorized_operations) == (1, CLUSTER_OPERATIONS)
    assert response.cluster_id


def test_describe_cluster_of_controllers_belongs_elsewhere(client: RawClient) -> None:
    codes = [client.call(DescribeClusterRequest(endpoint_type=kind), 1).error_code for kind in (2, 9)]
    assert codes == [ErrorCode.MISMATCHED_ENDPOINT_TYPE, ErrorCode.UNSUPPORTED_ENDPOINT_TYPE]


def describe(*names: str, limit: int = 2000, cursor: Cursor | None = None) -> DescribeTopicPartitionsRequest:
    topics = [TopicRequest(name=name) for name in names]
    return DescribeTopicPartitionsRequest(topics=topics, response_partition_limit=limit, cursor=cursor)


def test_describe_topic_partitions_page_by_page(client: RawClient) -> None:
    seen, cursor = [], None
    for _ in range(50):
        response = client.call(describe("a", "b", limit=2, cursor=cursor), 0)
        rows = [(topic.name, part.partition_index) for topic in response.topics for part in topic.partitions]
        assert len(rows) <= 2
        seen += rows
        cursor = response.next_cursor
        if cursor is None:
            break
    assert seen == [("a", 0), ("b", 0), ("b", 1), ("b", 2)]


def test_describe_topic_partitions_of_all_and_of_none(client: RawClient) -> None:
    response = client.call(describe(), 0)
    names = [topic.name for topic in response.topics]
    assert names == sorted(names)
    assert {"a", "b"} <= set(names)
    assert response.topics[0].partitions[0].eligible_leader_replicas == []
    missing = client.call(describe("nope", "no pe"), 0)
    assert {topic.name: topic.error_code for topic in missing.topics} == {
        "nope": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        "no pe": ErrorCode.INVALID_TOPIC_EXCEPTION,
    }
    elsewhere = client.call(describe("a", cursor=Cursor(topic_name="b", partition_index=0)), 0)
    assert elsewhere.topics[0].error_code == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize("version", range(3))
def test_describe_quorum(client: RawClient, version: int) -> None:
    wanted = RequestTopicData(topic_name="__cluster_metadata", partitions=[RequestPartitionData(partition_index=0)])
    response = client.call(DescribeQuorumRequest(topics=[wanted]), version)
    (partition,) = response.topics[0].partitions
    assert (response.error_code, partition.error_code, partition.leader_id) == (0, 0, 1)
    assert partition.leader_epoch >= 1
    assert [voter.replica_id for voter in partition.current_voters] == [1]
    assert partition.current_voters[0].log_end_offset == partition.high_watermark > 0
    if version >= 2:
        assert partition.current_voters[0].replica_directory_id != ZERO_UUID
        assert response.nodes[0].listeners[0].name == "CONTROLLER"


def test_describe_quorum_of_another_topic(client: RawClient) -> None:
    wanted = RequestTopicData(topic_name="a", partitions=[RequestPartitionData(partition_index=0)])
    response = client.call(DescribeQuorumRequest(topics=[wanted]), 2)
    assert response.topics[0].partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_the_answer_for_thousands_of_topics_is_kept() -> None:
    """The first answer encodes everything, the next ones only send it."""
    with broker() as running, RawClient(running.port, timeout_s=60) as client:
        topics = [CreatableTopic(name=f"t{number}", num_partitions=1, replication_factor=1) for number in range(300)]
        created = client.call(CreateTopicsRequest(topics=topics), 7)
        assert all(result.error_code == 0 for result in created.topics)
        client.call(MetadataRequest(topics=None), 12)
        started = time.perf_counter()
        for _ in range(20):
            client.send(MetadataRequest(topics=None), 12)
            client.receive_frame()
            client.sent.clear()
        assert (time.perf_counter() - started) / 20 < 0.05
