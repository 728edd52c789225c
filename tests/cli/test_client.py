"""The client factory: keys go where Java's clients put them, whichever way they come in."""

from __future__ import annotations

import random

from kafka.partitioner.default import murmur2

from headrace import client
from tests.cli.conftest import Run

PARTITIONS = 7
KEYS = 10_000


def test_ten_thousand_keys_land_where_java_puts_them(cli: Run, bootstrap: str, name: str) -> None:
    chance = random.Random(5)
    keys = [f"{number}-" + chance.randbytes(chance.randint(0, 12)).hex() for number in range(KEYS)]
    topics = [name + "-factory", name + "-command"]
    assert cli("topic", "create", *topics, "-p", str(PARTITIONS)).code == 0
    producer = client.producer(bootstrap)
    for key in keys:
        producer.produce(topics[0], key=key, value=b"")
        producer.poll(0)
    assert producer.flush(30) == 0
    assert cli("produce", topics[1], "--key-separator", ":", stdin="".join(f"{key}:\n" for key in keys)).code == 0
    for topic in topics:
        lines = cli("consume", topic, "--format", "{key} {partition}").out.splitlines()
        placed = {key: int(partition) for key, partition in (line.rsplit(" ", 1) for line in lines)}
        expected = {key: (murmur2(key.encode()) & 0x7FFFFFFF) % PARTITIONS for key in keys}
        assert placed == expected


def test_without_all_acks_there_is_no_idempotence(bootstrap: str) -> None:
    assert client.producer(bootstrap, {"acks": "1"}).flush(0) == 0
    assert client.PRODUCER_DEFAULTS["enable.idempotence"] is True
