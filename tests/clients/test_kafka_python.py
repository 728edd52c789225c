"""kafka-python: fetch sessions, compression, groups, admin; the newest versions that a Python client speaks."""

from __future__ import annotations

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition, TopicPartitionReplica
from kafka.errors import InvalidReplicationAssignmentError, LogDirNotFoundError, NoError
from kafka.structs import OffsetAndMetadata

from tests.clients.reference_client import assert_one_aborted_one_committed, produce, read_values

pytestmark = pytest.mark.peer("kafka-python")
VALUES = sorted(f"value-{number}" for number in range(100))


@pytest.mark.parametrize("codec", [None, "gzip", "snappy", "lz4", "zstd"])
def test_what_it_writes_another_client_reads(bootstrap_servers: str, topic: str, codec: str | None) -> None:
    producer = KafkaProducer(bootstrap_servers=bootstrap_servers, compression_type=codec, linger_ms=5)
    futures = [producer.send(topic, value.encode(), headers=[("h", b"1")]) for value in VALUES]
    producer.flush(20)
    assert all(future.succeeded() for future in futures)
    producer.close()
    assert read_values(bootstrap_servers, topic, 100) == VALUES


def test_idempotent_producer(bootstrap_servers: str, topic: str) -> None:
    producer = KafkaProducer(bootstrap_servers=bootstrap_servers, enable_idempotence=True, acks="all")
    offsets = [producer.send(topic, value.encode(), partition=0).get(20).offset for value in VALUES]
    producer.close()
    assert offsets == list(range(100))


def test_transactions(bootstrap_servers: str, topic: str, name: str) -> None:
    producer = KafkaProducer(bootstrap_servers=bootstrap_servers, transactional_id=name)
    producer.init_transactions()
    for word in ("aborted", "committed"):
        producer.begin_transaction()
        for partition in range(3):
            producer.send(topic, f"{word}-{partition}".encode(), partition=partition)
        producer.flush(20)
        offsets = {TopicPartition(topic, 1): OffsetAndMetadata(1, "", -1)}
        producer.send_offsets_to_transaction(offsets, name)
        if word == "committed":
            producer.commit_transaction()
        else:
            producer.abort_transaction()
    producer.close()
    assert_one_aborted_one_committed(bootstrap_servers, topic, name)


def test_group_reads_and_commits(bootstrap_servers: str, topic: str, name: str) -> None:
    produce(bootstrap_servers, topic, VALUES)
    consumer = KafkaConsumer(
        topic,
        bootstrap_servers=bootstrap_servers,
        group_id=name,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        consumer_timeout_ms=20_000,
    )
    values = []
    for record in consumer:
        values.append(record.value.decode())
        if len(values) == 100:
            break
    consumer.commit()
    committed = [consumer.committed(TopicPartition(topic, partition)) or 0 for partition in range(3)]
    consumer.close()
    assert sorted(values) == VALUES
    assert sum(committed) == 100


def test_offsets_and_times(bootstrap_servers: str, topic: str) -> None:
    producer = KafkaProducer(bootstrap_servers=bootstrap_servers)
    stamps = [producer.send(topic, b"x", partition=1).get(20).timestamp for _ in range(3)]
    producer.close()
    consumer = KafkaConsumer(bootstrap_servers=bootstrap_servers)
    partition = TopicPartition(topic, 1)
    found = consumer.offsets_for_times({partition: stamps[0]})[partition]
    assert (found.offset, found.timestamp) == (0, stamps[0])
    assert consumer.end_offsets([partition]) == {partition: 3}
    assert consumer.beginning_offsets([partition]) == {partition: 0}
    consumer.close()


def test_admin(bootstrap_servers: str, name: str) -> None:
    admin = KafkaAdminClient(bootstrap_servers=bootstrap_servers)
    admin.create_topics({name: {"num_partitions": 2, "replication_factor": 1}})
    assert name in admin.list_topics()
    (described,) = admin.describe_topics([name])
    assert len(described["partitions"]) == 2
    assert admin.describe_cluster()["cluster_id"]
    admin.delete_topics([name])
    assert name not in admin.list_topics()
    admin.close()


def test_reassignments(bootstrap_servers: str, topic: str) -> None:
    admin = KafkaAdminClient(bootstrap_servers=bootstrap_servers)
    (broker,) = admin.describe_log_dirs()
    here, there = TopicPartition(topic, 0), TopicPartition(topic, 1)
    done = admin.alter_partition_reassignments({here: [broker["broker"]], there: [99]})
    assert done == {here: None, there: InvalidReplicationAssignmentError}
    assert admin.list_partition_reassignments() == admin.list_partition_reassignments([here]) == {}
    replica = TopicPartitionReplica(topic, 0, broker["broker"])
    path = broker["log_dirs"][0]["log_dir"]
    assert admin.alter_replica_log_dirs({replica: path}) == {replica: NoError}
    assert admin.alter_replica_log_dirs({replica: "/nowhere"}) == {replica: LogDirNotFoundError}
    admin.close()
