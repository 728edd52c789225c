"""Topics that are filled before anything is measured, once for a broker, and topics for the output of one run each."""

from __future__ import annotations

import itertools
import os
import time

from bench.pipelines import records
from bench.pipelines.records import Backlog
from headrace import client

USERS_TOPIC = "bench-users"
TIMEOUT_S = 120.0
_numbers = itertools.count(1)


class Topics:
    """Topics on one broker."""

    def __init__(self, bootstrap_servers: str) -> None:
        self.bootstrap_servers = bootstrap_servers
        self._admin = client.admin(bootstrap_servers)

    def events(self, backlog: Backlog) -> str:
        """The topic of a backlog, made unless it is there."""
        self._fill(backlog.topic, backlog.count, lambda producer: _produce_events(producer, backlog.topic, backlog))
        return backlog.topic

    def users(self) -> str:
        self._fill(USERS_TOPIC, records.USERS, lambda producer: _produce_users(producer, USERS_TOPIC))
        return USERS_TOPIC

    def create(self, prefix: str, partitions: int = records.PARTITIONS) -> str:
        """A topic of its own for a run."""
        name = f"{prefix}-{os.getpid()}-{next(_numbers)}"
        self._create(name, partitions)
        return name

    def delete(self, *names: str) -> None:
        for result in self._admin.delete_topics(list(names), operation_timeout=30).values():
            result.result()

    def count(self, topic: str) -> int:
        """How many offsets a topic has."""
        from headrace.spark.progress import end_offsets

        consumer = client.consumer(self.bootstrap_servers)
        try:
            return sum(end_offsets(consumer, [topic]).get(topic, {}).values())
        finally:
            consumer.close()

    def _create(self, name: str, partitions: int) -> None:
        from confluent_kafka.admin import NewTopic

        # Event times lie in the past, and a broker deletes by them.
        wanted = NewTopic(name, partitions, 1, config={"retention.ms": "-1"})
        self._admin.create_topics([wanted])[name].result()
        deadline = time.monotonic() + TIMEOUT_S
        while (
            name not in (known := self._admin.list_topics(timeout=10).topics)
            or len(known[name].partitions) != partitions
        ):
            if time.monotonic() > deadline:
                raise TimeoutError(f"the broker did not make the topic {name}")
            time.sleep(0.05)

    def _fill(self, topic: str, count: int, produce) -> None:  # type: ignore[no-untyped-def]
        have = self.count(topic)
        if have == count:
            return
        if have:
            self.delete(topic)
            time.sleep(1.0)
        if topic not in self._admin.list_topics(timeout=10).topics:
            self._create(topic, records.PARTITIONS)
        settings = {"linger.ms": 20, "batch.size": 1 << 18, "queue.buffering.max.messages": 500_000, "acks": 1}
        producer = client.producer(self.bootstrap_servers, settings)
        produce(producer)
        producer.flush(TIMEOUT_S)
        if self.count(topic) != count:
            raise RuntimeError(f"{topic} has {self.count(topic)} records, not {count}")


def _produce_events(producer, topic: str, backlog: Backlog) -> None:  # type: ignore[no-untyped-def]
    keys = [records.key(user) for user in range(records.USERS)]
    for number in range(backlog.count):
        user = records.user_of(number)
        while True:
            try:
                producer.produce(
                    topic,
                    records.event(number),
                    keys[user],
                    user % records.PARTITIONS,
                    timestamp=backlog.time_ms(number),
                )
                break
            except BufferError:
                producer.poll(0.1)


def _produce_users(producer, topic: str) -> None:  # type: ignore[no-untyped-def]
    for user in range(records.USERS):
        producer.produce(
            topic,
            records.user_row(user),
            records.key(user),
            user % records.PARTITIONS,
            timestamp=records.BASE_MS - 1000,
        )
