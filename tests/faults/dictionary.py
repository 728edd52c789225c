"""A dictionary kept beside a compacted topic: what a reader of the topic must find."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, TopicPartition

from headrace.testing import BrokerProcess

AT_ONCE = 10_000
PATIENCE = 150
TOLD_EVERY = 2_000_000
BIG_BATCHES = {
    "linger_ms": 50,
    "batch_size": 1_000_000,
    "queue_buffering_max_messages": 400_000,
    "compression_type": "none",
}
# Without these librdkafka rests for a second whenever it is 100,000 records ahead.
AHEAD = {"fetch_message_max_bytes": 4_000_000, "queued_min_messages": 1_000_000, "fetch_queue_backoff_ms": 10}


class Dictionary:
    """The last value of each key of one partition, as it was written. One record in fifty deletes its key."""

    def __init__(self, topic: str) -> None:
        self.topic = topic
        self.expected: dict[bytes, bytes] = {}

    def fill(
        self, broker: BrokerProcess, records: int, keys: int, rng: random.Random, told: Callable[[int], None]
    ) -> None:
        producer = broker.producer(**BIG_BATCHES)
        for first in range(0, records, AT_ONCE):
            messages = [self._write(number, keys, rng) for number in range(first, min(first + AT_ONCE, records))]
            while messages:
                producer.produce_batch(self.topic, messages, 0)
                messages = [message for message in messages if message.pop("_error", None) is not None]
                producer.poll(0.05 if messages else 0)
            if first and first % TOLD_EVERY == 0:
                told(first)
        assert producer.flush(600) == 0
        # A callback for each of millions would take longer than the records: an idempotent producer leaves no other sum.
        consumer = broker.consumer()
        written = consumer.get_watermark_offsets(TopicPartition(self.topic, 0), timeout=30)[1]
        consumer.close()
        assert written == records, f"{written} of {records} records were written"

    def _write(self, number: int, keys: int, rng: random.Random) -> dict[str, Any]:
        key = b"key %d" % int(rng.random() * keys)
        if number % 50 == 0:
            self.expected.pop(key, None)
            return {"key": key, "value": None}
        value = self.expected[key] = b"value %d " % number * 4
        return {"key": key, "value": value}

    def compare(self, broker: BrokerProcess) -> None:
        found = read(broker, self.topic)
        assert found == self.expected, difference(found, self.expected)


def read(broker: BrokerProcess, topic: str) -> dict[bytes, bytes]:
    """The last value of each key, from the start of partition 0 to its end."""
    values: dict[bytes, bytes] = {}
    consumer = broker.consumer(**AHEAD)
    partition = TopicPartition(topic, 0, OFFSET_BEGINNING)
    end = consumer.get_watermark_offsets(partition, timeout=30)[1]
    consumer.assign([partition])
    position, patience = 0, PATIENCE
    try:
        while position < end:
            # It waits for as many as were asked for, and at the end there are fewer.
            messages = consumer.consume(AT_ONCE, 0.2)
            patience = PATIENCE if messages else patience - 1
            assert patience, f"nothing more to read at {position} of {end}"
            for message in messages:
                assert message.error() is None, message.error()
                assert message.offset() >= position, f"offset {message.offset()} after {position - 1}"
                position = message.offset() + 1
                value = message.value()
                if value is None:
                    values.pop(message.key(), None)
                else:
                    values[message.key()] = value
    finally:
        consumer.close()
    return values


def difference(found: dict[bytes, bytes], expected: dict[bytes, bytes]) -> str:
    wrong = [key for key in expected if found.get(key) != expected[key]]
    more = [key for key in found if key not in expected]
    return f"{len(wrong)} wrong or missing, such as {wrong[:3]}; {len(more)} too many, such as {more[:3]}"
