"""The other end of each client's conversation: what one client wrote is read, and what one reads was written, by this one.

It is confluent-kafka, so that a client never merely agrees with itself.
"""

from __future__ import annotations

import time

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Message, Producer, TopicPartition

TIMEOUT_S = 20.0


def produce(bootstrap_servers: str, topic: str, values: list[str], **settings: object) -> None:
    """Write the values, keyed by their number, with one header each."""
    producer = Producer({"bootstrap.servers": bootstrap_servers, "linger.ms": 5, **settings})
    failures = []

    def delivered(error: object, _: Message) -> None:
        if error is not None:
            failures.append(error)

    for number, value in enumerate(values):
        key, headers = str(number % 7), [("n", str(number).encode())]
        producer.produce(topic, value=value, key=key, headers=headers, on_delivery=delivered)
    assert producer.flush(TIMEOUT_S) == 0
    assert not failures


def read_all(bootstrap_servers: str, topic: str, count: int, partitions: int = 3) -> list[Message]:
    """The first `count` records of the topic, read without a group; fails when they do not come."""
    consumer = Consumer({"bootstrap.servers": bootstrap_servers, "group.id": "unused", "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in range(partitions)])
    records: list[Message] = []
    deadline = time.monotonic() + TIMEOUT_S
    while len(records) < count and time.monotonic() < deadline:
        for message in consumer.consume(count, timeout=0.2):
            assert message.error() is None, message.error()
            records.append(message)
    consumer.close()
    assert len(records) == count
    return records


def read_to_end(bootstrap_servers: str, topic: str, partitions: int, isolation: str) -> list[list[Message]]:
    """By partition, everything up to where a reader of this isolation level is told that it ends."""
    settings = {"group.id": "unused", "enable.auto.commit": False, "enable.partition.eof": True}
    consumer = Consumer({"bootstrap.servers": bootstrap_servers, "isolation.level": isolation, **settings})
    consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in range(partitions)])
    records: list[list[Message]] = [[] for _ in range(partitions)]
    ended: set[int] = set()
    deadline = time.monotonic() + TIMEOUT_S
    while len(ended) < partitions:
        assert time.monotonic() < deadline, f"partitions {ended} have ended"
        for message in consumer.consume(10_000, timeout=0.1):
            if message.error() is None:
                records[message.partition()].append(message)
            else:
                assert message.error().code() == KafkaError._PARTITION_EOF, message.error()
                ended.add(message.partition())
    consumer.close()
    return records


def read_values(bootstrap_servers: str, topic: str, count: int, partitions: int = 3) -> list[str]:
    """The values of `read_all`, sorted."""
    return sorted(message.value().decode() for message in read_all(bootstrap_servers, topic, count, partitions))


def assert_one_aborted_one_committed(bootstrap_servers: str, topic: str, group: str) -> None:
    """Every partition has one record of an aborted transaction and one of a committed, which committed offset 1 of partition 1."""
    read = read_to_end(bootstrap_servers, topic, 3, "read_committed")
    assert [[each.value() for each in part] for part in read] == [[f"committed-{n}".encode()] for n in range(3)]
    everything = read_to_end(bootstrap_servers, topic, 3, "read_uncommitted")
    both = [[f"{word}-{n}".encode() for word in ("aborted", "committed")] for n in range(3)]
    assert [[each.value() for each in part] for part in everything] == both
    consumer = Consumer({"bootstrap.servers": bootstrap_servers, "group.id": group})
    partitions = [TopicPartition(topic, partition) for partition in range(3)]
    assert [each.offset for each in consumer.committed(partitions, timeout=TIMEOUT_S)] == [-1001, 1, -1001]
    consumer.close()
