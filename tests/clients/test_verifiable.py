"""Apache Kafka's programs for system tests: VerifiableProducer, VerifiableConsumer and TransactionalMessageCopier.

They print what they did, record by record, so results are compared exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.clients.java_program import JavaProgram
from tests.clients.reference_client import read_to_end

pytestmark = [pytest.mark.peer("apache-kafka"), pytest.mark.timeout(300)]
TOOLS = "org.apache.kafka.tools"
PARTITIONS = 3
Place = tuple[int, int]


def places(events: list[dict[str, object]]) -> dict[Place, object]:
    """Partition and offset of every record with its value; none may appear twice."""
    found = {(event["partition"], event["offset"]): event["value"] for event in events}
    assert len(found) == len(events)
    return found  # type: ignore[return-value]


def verifiable_consumer(folder: Path, bootstrap_servers: str, topic: str, group: str) -> JavaProgram:
    where = ["--bootstrap-server", bootstrap_servers, "--topic", topic, "--group-id", group]
    return JavaProgram(folder, f"{TOOLS}.VerifiableConsumer", *where, "--verbose", "--reset-policy", "earliest")


def verifiable_producer(folder: Path, bootstrap_servers: str, topic: str, records: int, per_s: int) -> JavaProgram:
    """With keys, so that every partition gets records."""
    limits = ["--max-messages", str(records), "--throughput", str(per_s), "--acks", "-1", "--repeating-keys", "60"]
    where = ["--bootstrap-server", bootstrap_servers, "--topic", topic]
    return JavaProgram(folder, f"{TOOLS}.VerifiableProducer", *where, *limits)


def test_consumers_come_and_go_while_a_producer_writes(
    bootstrap_servers: str, topic: str, name: str, tmp_path: Path
) -> None:
    """One consumer stays, another joins and leaves: every acknowledged record is consumed exactly once, and committed."""
    records = 6000
    with (
        verifiable_consumer(tmp_path, bootstrap_servers, topic, name) as staying,
        verifiable_consumer(tmp_path, bootstrap_servers, topic, name) as leaving,
    ):
        both = (staying, leaving)
        staying.until(lambda: all(each.events("partitions_assigned") for each in both), "both consumers in the group")
        with verifiable_producer(tmp_path, bootstrap_servers, topic, records, 1500) as producer:
            leaving.until(lambda: len(leaving.events("record_data")) > 500, "records for the one that leaves")
            leaving.terminate()
            assert leaving.events("shutdown_complete")
            assert producer.wait() == 0
            (figures,) = producer.events("tool_data")
            assert (figures["sent"], figures["acked"]) == (records, records)
            sent = places(producer.events("producer_send_success"))

        def consumed() -> list[dict[str, object]]:
            return staying.events("record_data") + leaving.events("record_data")

        staying.until(lambda: len(consumed()) >= records, "all records consumed")
        staying.terminate()
        assert places(consumed()) == sent
        assert all(each["success"] for program in both for each in program.events("offsets_committed"))
    assert sorted(int(str(value)) for value in sent.values()) == list(range(records))
    read = read_to_end(bootstrap_servers, topic, PARTITIONS, "read_committed")
    assert {(each.partition(), each.offset()): each.value().decode() for part in read for each in part} == sent
    assert committed(bootstrap_servers, topic, name) == [len(part) for part in read]


def committed(bootstrap_servers: str, topic: str, group: str) -> list[int]:
    consumer = Consumer({"bootstrap.servers": bootstrap_servers, "group.id": group})
    partitions = [TopicPartition(topic, partition) for partition in range(PARTITIONS)]
    offsets = [each.offset for each in consumer.committed(partitions, timeout=20)]
    consumer.close()
    return offsets


Copier = Callable[..., JavaProgram]


@pytest.fixture
def output_topic(admin: AdminClient, name: str) -> str:
    output = f"{name}-output"
    admin.create_topics([NewTopic(output, PARTITIONS, 1)])[output].result(10)
    return output


@pytest.fixture
def copier(bootstrap_servers: str, topic: str, output_topic: str, name: str, tmp_path: Path) -> Copier:
    """Starts a copier with random aborts, which commits its offsets with the metadata of its group."""
    topics = ["--input-topic", topic, "--output-topic", output_topic, "--broker-list", bootstrap_servers]
    behaviour = ["--transaction-size", "100", "--enable-random-aborts", "--use-group-metadata"]

    def start(number: int, *arguments: str) -> JavaProgram:
        who = ["--transactional-id", f"{name}-{number}", "--consumer-group", name, "--input-partition", str(number)]
        return JavaProgram(tmp_path, f"{TOOLS}.TransactionalMessageCopier", *topics, *behaviour, *who, *arguments)

    return start


def fill(bootstrap_servers: str, topic: str, per_partition: int) -> None:
    producer = Producer({"bootstrap.servers": bootstrap_servers, "linger.ms": 5})
    for number in range(per_partition):
        for partition in range(PARTITIONS):
            producer.produce(topic, value=str(number), key=str(number), partition=partition)
    assert producer.flush(20) == 0


def assert_copied(bootstrap_servers: str, topic: str, output_topic: str, group: str) -> None:
    """The output is the input, in order; what was aborted is there too, for readers who ask for it."""

    def values(records: list[list[Message]]) -> list[list[bytes | None]]:
        return [[each.value() for each in part] for part in records]

    given = values(read_to_end(bootstrap_servers, topic, PARTITIONS, "read_committed"))
    assert values(read_to_end(bootstrap_servers, output_topic, PARTITIONS, "read_committed")) == given
    assert committed(bootstrap_servers, topic, group) == [len(part) for part in given]
    everything = values(read_to_end(bootstrap_servers, output_topic, PARTITIONS, "read_uncommitted"))
    assert sum(map(len, everything)) > sum(map(len, given)), "no transaction was aborted"


def test_copiers_of_one_group(bootstrap_servers: str, topic: str, output_topic: str, name: str, copier: Copier) -> None:
    fill(bootstrap_servers, topic, 3000)
    with copier(0, "--group-mode") as one, copier(1, "--group-mode") as two:
        assert [one.wait(), two.wait()] == [0, 0]
        assert [each.events()[-1]["stage"] for each in (one, two)] == ["ShutdownComplete"] * 2
        assert sum(each.events()[-1]["totalProcessed"] for each in (one, two)) == 3000 * PARTITIONS
    assert_copied(bootstrap_servers, topic, output_topic, name)


def test_a_killed_copier_starts_again(
    bootstrap_servers: str, topic: str, output_topic: str, name: str, copier: Copier
) -> None:
    """One copier for each partition; the first is killed in the middle, and again, and its successor takes over.

    The successor asks for its position before it announces itself, so it waits until the open transaction has timed out.
    """
    per_partition = 6000
    fill(bootstrap_servers, topic, per_partition)
    with copier(1) as one, copier(2) as two:
        for _ in range(2):
            with copier(0, "--transaction-timeout", "4000") as killed:
                killed.until(lambda: any(event["totalProcessed"] > 300 for event in killed.events()), "progress")
                assert killed.events()[-1]["remaining"] > 0, "finished before it was killed"
                killed.kill()
        with copier(0) as last:
            assert [each.wait() for each in (one, two, last)] == [0, 0, 0]
    assert_copied(bootstrap_servers, topic, output_topic, name)
