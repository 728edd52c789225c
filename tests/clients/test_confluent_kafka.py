"""confluent-kafka (librdkafka): produce in every codec and acks, groups, time look-ups, admin."""

from __future__ import annotations

import time

import pytest
from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    ConsumerGroupTopicPartitions,
    KafkaError,
    KafkaException,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

from tests.clients.reference_client import produce, read_all, read_values

pytestmark = pytest.mark.peer("confluent-kafka")
VALUES = sorted(f"value-{number}" for number in range(100))


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_every_codec_comes_back(bootstrap_servers: str, topic: str, codec: str) -> None:
    produce(bootstrap_servers, topic, VALUES, **{"compression.type": codec})
    assert read_values(bootstrap_servers, topic, 100) == VALUES


@pytest.mark.parametrize("acks", [0, 1, "all"])
def test_every_acks_comes_back(bootstrap_servers: str, topic: str, acks: object) -> None:
    produce(bootstrap_servers, topic, VALUES, acks=acks)
    assert read_values(bootstrap_servers, topic, 100) == VALUES


def test_idempotent_producer_keeps_order(bootstrap_servers: str, topic: str) -> None:
    producer = Producer({"bootstrap.servers": bootstrap_servers, "enable.idempotence": True, "linger.ms": 0})
    for number in range(500):
        producer.produce(topic, value=str(number), partition=1)
        producer.poll(0)
    assert producer.flush(20) == 0
    assert [int(message.value()) for message in read_all(bootstrap_servers, topic, 500)] == list(range(500))


def test_keys_headers_and_timestamps_are_kept(bootstrap_servers: str, topic: str) -> None:
    producer = Producer({"bootstrap.servers": bootstrap_servers})
    now_ms = int(time.time() * 1000)
    headers = [("a", b"1"), ("a", b"2"), ("empty", b""), ("null", None)]
    producer.produce(topic, value=None, key=b"\x00key", headers=headers, timestamp=now_ms - 5000, partition=2)
    assert producer.flush(20) == 0
    (message,) = read_all(bootstrap_servers, topic, 1)
    assert (message.value(), message.key(), message.headers()) == (None, b"\x00key", headers)
    assert (message.timestamp()[1], message.partition(), message.offset()) == (now_ms - 5000, 2, 0)


def test_group_resumes_where_it_committed(bootstrap_servers: str, topic: str, name: str) -> None:
    produce(bootstrap_servers, topic, VALUES)
    settings = {
        "bootstrap.servers": bootstrap_servers,
        "group.id": name,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
    }
    first = _read_and_commit(settings, topic, 40)
    second = _read_and_commit(settings, topic, 60)
    assert sorted(first + second) == VALUES


def _read_and_commit(settings: dict[str, object], topic: str, count: int) -> list[str]:
    consumer = Consumer(settings)
    consumer.subscribe([topic])
    values: list[str] = []
    deadline = time.monotonic() + 30
    while len(values) < count and time.monotonic() < deadline:
        message = consumer.poll(0.2)
        if message is not None and message.error() is None:
            values.append(message.value().decode())
            consumer.commit(message, asynchronous=False)
    consumer.close()
    assert len(values) == count
    return values


@pytest.mark.parametrize("strategy", ["range", "roundrobin", "cooperative-sticky"])
def test_two_members_share_the_partitions(bootstrap_servers: str, topic: str, name: str, strategy: str) -> None:
    settings = {"bootstrap.servers": bootstrap_servers, "group.id": name, "partition.assignment.strategy": strategy}
    members = [Consumer(settings), Consumer(settings)]
    for member in members:
        member.subscribe([topic])
    deadline = time.monotonic() + 30
    shares: list[list[int]] = []
    while time.monotonic() < deadline:
        for member in members:
            member.poll(0.1)
        shares = [[each.partition for each in member.assignment()] for member in members]
        if all(shares) and sorted(shares[0] + shares[1]) == [0, 1, 2]:
            break
    for member in members:
        member.close()
    assert all(shares)
    assert sorted(shares[0] + shares[1]) == [0, 1, 2]


def test_offsets_by_time_and_watermarks(bootstrap_servers: str, topic: str) -> None:
    producer = Producer({"bootstrap.servers": bootstrap_servers})
    start_ms = int(time.time() * 1000) - 100_000
    for number in range(10):
        producer.produce(topic, value=str(number), partition=0, timestamp=start_ms + number * 1000)
        assert producer.flush(20) == 0
    consumer = Consumer({"bootstrap.servers": bootstrap_servers, "group.id": "unused"})
    (found,) = consumer.offsets_for_times([TopicPartition(topic, 0, start_ms + 3500)], timeout=10)
    assert found.offset == 4
    assert consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=10) == (0, 10)
    consumer.close()


def test_topics_are_created_described_extended_and_deleted(admin: AdminClient, name: str) -> None:
    admin.create_topics([NewTopic(name, 2, 1, config={"retention.ms": "60000"})])[name].result(10)
    with pytest.raises(KafkaException) as again:
        admin.create_topics([NewTopic(name, 2, 1)])[name].result(10)
    assert again.value.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS
    admin.create_partitions([NewPartitions(name, 5)])[name].result(10)
    assert len(admin.list_topics(name, timeout=10).topics[name].partitions) == 5
    admin.delete_topics([name])[name].result(10)
    assert name not in admin.list_topics(timeout=10).topics


def test_topic_configs_are_altered(admin: AdminClient, topic: str) -> None:
    operation = AlterConfigOpType.SET
    change = ConfigEntry("segment.bytes", "1048576", incremental_operation=operation)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[change])
    admin.incremental_alter_configs([resource])[resource].result(10)
    described = ConfigResource(ResourceType.TOPIC, topic)
    configs = admin.describe_configs([described])[described].result(10)
    assert configs["segment.bytes"].value == "1048576"
    assert configs["segment.bytes"].is_default is False
    assert configs["retention.ms"].value == "604800000"
    bad = ConfigEntry("segment.bytes", "few", incremental_operation=operation)
    wrong = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[bad])
    with pytest.raises(KafkaException) as refused:
        admin.incremental_alter_configs([wrong])[wrong].result(10)
    assert refused.value.args[0].code() == KafkaError.INVALID_CONFIG


def test_records_are_deleted(admin: AdminClient, bootstrap_servers: str, topic: str) -> None:
    producer = Producer({"bootstrap.servers": bootstrap_servers})
    for number in range(10):
        producer.produce(topic, value=str(number), partition=0)
    assert producer.flush(20) == 0
    cut = TopicPartition(topic, 0, 7)
    assert admin.delete_records([cut])[cut].result(10).low_watermark == 7
    earliest = TopicPartition(topic, 0)
    assert admin.list_offsets({earliest: OffsetSpec.earliest()})[earliest].result(10).offset == 7
    consumer = Consumer({"bootstrap.servers": bootstrap_servers, "group.id": "unused"})
    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    message = consumer.poll(10)
    consumer.close()
    assert message is not None
    assert (message.offset(), message.value()) == (7, b"7")


def test_groups_are_listed_described_and_deleted(
    admin: AdminClient, bootstrap_servers: str, topic: str, name: str
) -> None:
    produce(bootstrap_servers, topic, VALUES)
    settings = {"bootstrap.servers": bootstrap_servers, "group.id": name, "auto.offset.reset": "earliest"}
    _read_and_commit({**settings, "enable.auto.commit": False}, topic, 10)
    assert name in [group.group_id for group in admin.list_consumer_groups().result(10).valid]
    described = admin.describe_consumer_groups([name])[name].result(10)
    assert (described.state.name, described.members) == ("EMPTY", [])
    offsets = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(name)])[name].result(10)
    assert sum(each.offset for each in offsets.topic_partitions) == 10
    admin.delete_consumer_groups([name])[name].result(10)
    assert name not in [group.group_id for group in admin.list_consumer_groups().result(10).valid]


def test_unknown_topic_is_an_error(bootstrap_servers: str, name: str) -> None:
    consumer = Consumer(
        {"bootstrap.servers": bootstrap_servers, "group.id": name, "allow.auto.create.topics": False, "log_level": 0}
    )
    consumer.subscribe([name])
    message = consumer.poll(10)
    consumer.close()
    assert message is not None
    assert message.error().code() == KafkaError.UNKNOWN_TOPIC_OR_PART
