"""What a test does with a running broker, whichever way it runs: clients, topics, records. Kafka clients only, no shortcuts."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from headrace import client

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message, Producer
    from confluent_kafka.admin import AdminClient


# A new group waits three seconds for more members by default. Nobody wants to pay for that in every test.
TEST_SETTINGS: Mapping[str, Any] = {"group.initial.rebalance.delay.ms": 0}


class Clients:
    """Mixed into everything that has `bootstrap_servers`."""

    bootstrap_servers: str

    def _timestamp_ms(self) -> int:
        """The time of records that `produce` sends; 0 is the client's own clock."""
        return 0

    def producer(self, **config: Any) -> Producer:
        """A producer of this broker; keywords are librdkafka settings with underscores (`linger_ms=0`)."""
        return client.producer(self.bootstrap_servers, dotted(config))

    def consumer(self, group_id: str | None = None, **config: Any) -> Consumer:
        """A consumer that starts at the beginning, with or without a group."""
        return client.consumer(self.bootstrap_servers, group_id, dotted(config))

    def admin(self, **config: Any) -> AdminClient:
        """An admin client of this broker."""
        return client.admin(self.bootstrap_servers, dotted(config))

    def create_topic(self, name: str, partitions: int = 1, *, timeout_s: float = 10.0, **config: Any) -> str:
        """Create a topic (`cleanup_policy="compact"` and the like as keywords) and return its name."""
        from confluent_kafka.admin import NewTopic

        topic = NewTopic(name, num_partitions=partitions, replication_factor=1, config=dotted(config))
        admin = self.admin()  # kept by name: its futures die with it
        admin.create_topics([topic], operation_timeout=timeout_s)[name].result(timeout_s)
        return name

    def produce(self, topic: str, values: Iterable[bytes | str | tuple[Any, Any]], **config: Any) -> int:
        """Send values, or (key, value) pairs, and return how many were acknowledged once all of them are."""
        failures: list[Any] = []

        def on_delivery(error: Any, _message: Any) -> None:
            if error is not None:
                failures.append(error)

        producer = self.producer(**config)
        sent = 0
        for item in values:
            key, value = item if isinstance(item, tuple) else (None, item)
            producer.produce(topic, value, key, on_delivery=on_delivery, timestamp=self._timestamp_ms())
            producer.poll(0)
            sent += 1
        left = producer.flush(30)
        assert not failures and not left, f"not delivered: {failures[:3]} and {left} without an answer"
        return sent

    def records(self, topic: str, count: int, *, timeout_s: float = 10.0) -> list[Message]:
        """Read `count` records from the beginning of every partition; AssertionError when fewer come in time."""
        from confluent_kafka import OFFSET_BEGINNING, TopicPartition

        consumer = self.consumer()
        try:
            partitions = consumer.list_topics(topic, timeout=timeout_s).topics[topic].partitions
            consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in partitions])
            return read(consumer, count, timeout_s=timeout_s)
        finally:
            consumer.close()


def read(consumer: Consumer, count: int, *, timeout_s: float = 10.0) -> list[Message]:
    """Take `count` records from a consumer that has an assignment or a subscription."""
    records: list[Message] = []
    deadline = time.monotonic() + timeout_s
    while len(records) < count:
        left = deadline - time.monotonic()
        assert left > 0, f"{len(records)} of {count} records came within {timeout_s:g} s"
        for message in consumer.consume(count - len(records), timeout=min(left, 0.2)):
            if message.error():
                raise AssertionError(str(message.error()))
            records.append(message)
    return records


def dotted(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Keyword arguments as Kafka's names: `linger_ms` is `linger.ms`, true and false are lower case."""
    return {
        name.replace("_", "."): str(value).lower() if isinstance(value, bool) else value
        for name, value in settings.items()
    }
