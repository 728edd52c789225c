"""The admin APIs over the wire: topics, configs, log directories, records, producers, elections."""

from __future__ import annotations

import logging

import pytest

from headrace.testing import LocalBroker, broker
from headrace.wire.errors import ErrorCode
from headrace.wire.messages import alter_configs as legacy
from headrace.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from headrace.wire.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from headrace.wire.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from headrace.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from headrace.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from headrace.wire.messages.describe_log_dirs import DescribableLogDirTopic, DescribeLogDirsRequest
from headrace.wire.messages.describe_producers import DescribeProducersRequest, TopicRequest
from headrace.wire.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from headrace.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from headrace.wire.messages.list_config_resources import ListConfigResourcesRequest
from headrace.wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from tests.broker.raw import RawClient, batch

TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32


@pytest.fixture(scope="module")
def server():
    with broker(log_retention_hours="2") as running:
        yield running


@pytest.fixture
def client(server: LocalBroker):
    with RawClient(server.port) as connected:
        yield connected


def create(client: RawClient, name: str, partitions: int = 1, version: int = 7, **configs: str):
    topic = CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=1,
        configs=[CreatableTopicConfig(name=key.replace("_", "."), value=value) for key, value in configs.items()],
    )
    return client.call(CreateTopicsRequest(topics=[topic]), version).topics[0]


@pytest.mark.parametrize("version", range(2, 8))
def test_create_and_produce_at_once(client: RawClient, version: int) -> None:
    name = f"created-{version}"
    result = create(client, name, 2, version)
    assert result.error_code == ErrorCode.NONE
    assert result.error_message is None
    if version >= 5:
        assert {config.name: config.value for config in result.configs}["retention.ms"] == "7200000"
    assert client.produce(name, batch(b"x"), partition=1).error_code == ErrorCode.NONE
    again = create(client, name, 2, version)
    assert again.error_code == ErrorCode.TOPIC_ALREADY_EXISTS


@pytest.mark.parametrize("version", range(1, 7))
def test_delete(client: RawClient, version: int) -> None:
    name = f"deleted-{version}"
    topic_id = create(client, name).topic_id
    if version < 6:
        request = DeleteTopicsRequest(topic_names=[name])
    else:
        request = DeleteTopicsRequest(topics=[DeleteTopicState(name=None, topic_id=topic_id)])
    (result,) = client.call(request, version).responses
    assert (result.name, result.error_code) == (name, ErrorCode.NONE)
    assert client.produce(name, batch(b"x")).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert create(client, name).error_code == ErrorCode.NONE


@pytest.mark.parametrize("version", range(4))
def test_more_partitions(client: RawClient, version: int) -> None:
    name = f"grown-{version}"
    create(client, name)
    topic = CreatePartitionsTopic(name=name, count=3, assignments=None)
    (result,) = client.call(CreatePartitionsRequest(topics=[topic]), version).results
    assert (result.error_code, result.error_message) == (0, None)
    assert client.produce(name, batch(b"x"), partition=2).error_code == ErrorCode.NONE
    (result,) = client.call(CreatePartitionsRequest(topics=[topic]), version).results
    assert result.error_code == ErrorCode.INVALID_PARTITIONS


def describe(client: RawClient, kind: int, name: str, *keys: str, version: int = 4, **options: bool):
    resource = DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=list(keys) or None)
    (result,) = client.call(DescribeConfigsRequest(resources=[resource], **options), version).results
    return result


def alter(client: RawClient, kind: int, name: str, *operations: tuple[str, int, str | None], **options: bool):
    configs = [AlterableConfig(name=key, config_operation=op, value=value) for key, op, value in operations]
    resource = AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)
    (result,) = client.call(IncrementalAlterConfigsRequest(resources=[resource], **options), 1).responses
    return result


@pytest.mark.parametrize("version", range(1, 5))
def test_describe_topic_configs(client: RawClient, version: int) -> None:
    name = f"described-{version}"
    create(client, name, segment_bytes="2000000")
    result = describe(client, TOPIC, name, version=version, include_synonyms=True, include_documentation=True)
    configs = {config.name: config for config in result.configs}
    assert len(configs) >= 33
    assert (configs["segment.bytes"].value, configs["segment.bytes"].config_source) == ("2000000", 1)
    assert [synonym.source for synonym in configs["segment.bytes"].synonyms] == [1, 5]
    assert configs["retention.ms"].value == "7200000"
    if version >= 3:
        assert configs["segment.bytes"].config_type == 3
        assert "segment" in configs["segment.bytes"].documentation
    without = describe(client, TOPIC, name, "segment.bytes", version=version)
    assert [(config.name, config.synonyms) for config in without.configs] == [("segment.bytes", [])]


@pytest.mark.parametrize(
    ("kind", "name", "error"),
    [
        (TOPIC, "not-there", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (TOPIC, "not there", ErrorCode.INVALID_TOPIC_EXCEPTION),
        (BROKER, "2", ErrorCode.INVALID_REQUEST),
        (BROKER, "one", ErrorCode.INVALID_REQUEST),
        (LOGGER, "2", ErrorCode.INVALID_REQUEST),
        (GROUP, "", ErrorCode.INVALID_REQUEST),
        (77, "x", ErrorCode.INVALID_REQUEST),
    ],
)
def test_describe_what_is_not_there(client: RawClient, kind: int, name: str, error: ErrorCode) -> None:
    result = describe(client, kind, name)
    assert (result.error_code, result.configs) == (error, [])
    assert result.error_message


def test_topic_configs_are_in_force_when_the_answer_comes(client: RawClient) -> None:
    create(client, "altered")
    assert alter(client, TOPIC, "altered", ("max.message.bytes", 0, "100")).error_code == ErrorCode.NONE
    assert client.produce("altered", batch(b"x" * 200)).error_code == ErrorCode.MESSAGE_TOO_LARGE
    assert alter(client, TOPIC, "altered", ("max.message.bytes", 1, None)).error_code == ErrorCode.NONE
    assert client.produce("altered", batch(b"x" * 200)).error_code == ErrorCode.NONE
    assert alter(client, TOPIC, "altered", ("max.message.bytes", 0, "100"), validate_only=True).error_code == 0
    assert describe(client, TOPIC, "altered", "max.message.bytes").configs[0].value == "1048588"


def test_the_older_alter_configs(client: RawClient) -> None:
    create(client, "altered-before", retention_ms="5")
    config = legacy.AlterableConfig(name="flush.ms", value="6")
    resource = legacy.AlterConfigsResource(resource_type=TOPIC, resource_name="altered-before", configs=[config])
    (result,) = client.call(legacy.AlterConfigsRequest(resources=[resource]), 1).responses
    assert (result.error_code, result.error_message) == (ErrorCode.NONE, None)
    described = describe(client, TOPIC, "altered-before", "flush.ms", "retention.ms").configs
    assert [(config.name, config.value) for config in described] == [("flush.ms", "6"), ("retention.ms", "7200000")]


def test_broker_configs_change_while_it_runs_and_stay() -> None:
    with broker() as running:
        with RawClient(running.port) as client:
            create(client, "t")
            assert alter(client, BROKER, "", ("message.max.bytes", 0, "100")).error_code == ErrorCode.NONE
            assert client.produce("t", batch(b"x" * 200)).error_code == ErrorCode.MESSAGE_TOO_LARGE
            assert alter(client, BROKER, "1", ("message.max.bytes", 0, "1000")).error_code == ErrorCode.NONE
            assert client.produce("t", batch(b"x" * 200)).error_code == ErrorCode.NONE
            refused = alter(client, BROKER, "1", ("log.dirs", 0, "/elsewhere"))
            assert refused.error_code == ErrorCode.INVALID_REQUEST
        running.restart()
        with RawClient(running.port) as client:
            (config,) = describe(client, BROKER, "1", "message.max.bytes", include_synonyms=True).configs
            assert (config.value, config.config_source, config.read_only) == ("1000", 2, False)
            assert [(s.value, s.source) for s in config.synonyms] == [("1000", 2), ("100", 3), ("1048588", 5)]
            assert client.produce("t", batch(b"x" * 2000)).error_code == ErrorCode.MESSAGE_TOO_LARGE
            names = {config.name for config in describe(client, BROKER, "").configs}
            assert names == {"message.max.bytes", "min.insync.replicas"}


def test_loggers(client: RawClient) -> None:
    levels = {config.name: config.value for config in describe(client, LOGGER, "1").configs}
    assert "headrace.broker" in levels
    try:
        assert alter(client, LOGGER, "1", ("headrace.broker", 0, "ERROR")).error_code == ErrorCode.NONE
        assert logging.getLogger("headrace.broker").level == logging.ERROR
        assert alter(client, LOGGER, "1", ("headrace.broker", 0, "LOUD")).error_code == ErrorCode.INVALID_CONFIG
        assert alter(client, LOGGER, "1", ("no.such", 0, "INFO")).error_code == ErrorCode.INVALID_CONFIG
        assert alter(client, LOGGER, "1", ("headrace.broker", 2, "INFO")).error_code == ErrorCode.INVALID_REQUEST
    finally:
        alter(client, LOGGER, "1", ("headrace.broker", 1, None))
    assert logging.getLogger("headrace.broker").level == logging.NOTSET


def test_list_config_resources(client: RawClient) -> None:
    create(client, "listed")
    assert alter(client, METRICS, "sub", ("interval.ms", 0, "1000")).error_code == ErrorCode.NONE
    assert alter(client, GROUP, "g", ("share.delivery.count.limit", 0, "3")).error_code == ErrorCode.NONE
    first = client.call(ListConfigResourcesRequest(), 0)
    assert [resource.resource_name for resource in first.config_resources] == ["sub"]
    every = client.call(ListConfigResourcesRequest(), 1)
    found = {(resource.resource_type, resource.resource_name) for resource in every.config_resources}
    assert {(TOPIC, "listed"), (BROKER, "1"), (LOGGER, "1"), (METRICS, "sub"), (GROUP, "g")} <= found
    groups = client.call(ListConfigResourcesRequest(resource_types=[GROUP]), 1)
    assert [resource.resource_name for resource in groups.config_resources] == ["g"]
    assert client.call(ListConfigResourcesRequest(resource_types=[99]), 1).error_code == ErrorCode.UNSUPPORTED_VERSION


@pytest.mark.parametrize("version", range(1, 6))
def test_log_directories(client: RawClient, server: LocalBroker, version: int) -> None:
    name = f"sized-{version}"
    create(client, name, 2)
    client.produce(name, batch(b"x" * 1000), partition=1)
    (result,) = client.call(DescribeLogDirsRequest(topics=None), version).results
    rows = {
        (topic.name, part.partition_index): part.partition_size for topic in result.topics for part in topic.partitions
    }
    assert rows[name, 0] == 0
    assert rows[name, 1] > 1000
    if version >= 4:
        assert 0 < result.usable_bytes <= result.total_bytes
    one = DescribeLogDirsRequest(topics=[DescribableLogDirTopic(topic=name, partitions=[1])])
    (result,) = client.call(one, version).results
    assert [(topic.name, [part.partition_index for part in topic.partitions]) for topic in result.topics] == [
        (name, [1])
    ]


def delete_records(client: RawClient, name: str, offset: int, partition: int = 0, version: int = 2):
    parts = [DeleteRecordsPartition(partition_index=partition, offset=offset)]
    request = DeleteRecordsRequest(topics=[DeleteRecordsTopic(name=name, partitions=parts)])
    return client.call(request, version).topics[0].partitions[0]


def test_delete_records(client: RawClient) -> None:
    create(client, "shortened")
    for _ in range(3):
        client.produce("shortened", batch(b"1", b"2"))
    result = delete_records(client, "shortened", 3)
    assert (result.error_code, result.low_watermark) == (ErrorCode.NONE, 3)
    assert client.fetch("shortened", 0).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert delete_records(client, "shortened", 1).low_watermark == 3, "it never moves back"
    assert delete_records(client, "shortened", -1).low_watermark == 6
    assert delete_records(client, "shortened", 7).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert delete_records(client, "shortened", -2).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert delete_records(client, "shortened", 0, partition=5).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    create(client, "compacted", cleanup_policy="compact")
    assert delete_records(client, "compacted", -1, version=0).error_code == ErrorCode.POLICY_VIOLATION


def test_producers(client: RawClient) -> None:
    create(client, "produced")
    client.produce("produced", batch(b"1", b"2", producer_id=77, producer_epoch=0, base_sequence=0))
    request = DescribeProducersRequest(topics=[TopicRequest(name="produced", partition_indexes=[0, 9])])
    known, unknown = client.call(request, 0).topics[0].partitions
    assert [(one.producer_id, one.producer_epoch, one.last_sequence) for one in known.active_producers] == [(77, 0, 1)]
    assert unknown.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize("version", range(3))
def test_elections_are_never_needed(client: RawClient, version: int) -> None:
    create(client, f"led-{version}")
    request = ElectLeadersRequest(topic_partitions=[TopicPartitions(topic=f"led-{version}", partitions=[0, 4])])
    rows = client.call(request, version).replica_election_results[0].partition_result
    assert [row.error_code for row in rows] == [ErrorCode.ELECTION_NOT_NEEDED, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    everything = client.call(ElectLeadersRequest(topic_partitions=None), version).replica_election_results
    assert f"led-{version}" in {row.topic for row in everything}
    assert not any(row.partition_result for row in everything)


@pytest.mark.parametrize("version", range(2, 5))
def test_offset_for_leader_epoch(client: RawClient, version: int) -> None:
    name = f"epochs-{version}"
    create(client, name)
    client.produce(name, batch(b"1", b"2"))

    def ask(epoch: int, current: int = -1):
        part = OffsetForLeaderPartition(partition=0, leader_epoch=epoch, current_leader_epoch=current)
        request = OffsetForLeaderEpochRequest(topics=[OffsetForLeaderTopic(topic=name, partitions=[part])])
        result = client.call(request, version).topics[0].partitions[0]
        return ErrorCode(result.error_code), result.leader_epoch, result.end_offset

    assert ask(0) == (ErrorCode.NONE, 0, 2)
    assert ask(0, current=0) == (ErrorCode.NONE, 0, 2)
    assert ask(5) == (ErrorCode.NONE, -1, -1)
    assert ask(0, current=3)[0] == ErrorCode.UNKNOWN_LEADER_EPOCH


def test_a_restart_keeps_topics_and_configs() -> None:
    with broker() as running:
        with RawClient(running.port) as client:
            topic_id = create(client, "kept", 3, retention_ms="12345").topic_id
        running.restart()
        with RawClient(running.port) as client:
            assert describe(client, TOPIC, "kept", "retention.ms").configs[0].value == "12345"
            state = DeleteTopicState(name=None, topic_id=topic_id)
            (result,) = client.call(DeleteTopicsRequest(topics=[state]), 6).responses
            assert (result.name, result.error_code) == ("kept", ErrorCode.NONE)
