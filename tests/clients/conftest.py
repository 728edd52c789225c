"""The broker that the clients talk to: Headrace, or with HEADRACE_TESTS_ON=apache-kafka the real Apache Kafka.

The second is how a test of ours is checked: what Apache Kafka fails is a wrong test. HEADRACE_TESTS_ON=127.0.0.1:9092 is
a broker that runs already.
"""

from __future__ import annotations

import contextlib
import os
import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pytest
from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic


class RunningBroker(Protocol):
    bootstrap_servers: str
    data_dir: Path


@dataclass(frozen=True)
class BrokerElsewhere:
    bootstrap_servers: str
    data_dir: Path = Path("unknown")


@contextlib.contextmanager
def running_broker(settings: Mapping[str, str] | None = None) -> Iterator[RunningBroker]:
    tests_on = os.environ.get("HEADRACE_TESTS_ON", "")
    if ":" in tests_on:
        yield BrokerElsewhere(tests_on)
    elif tests_on == "apache-kafka":
        from conformance.apache_kafka import apache_kafka

        with apache_kafka(settings) as kafka:
            yield kafka
    else:
        from headrace.testing import broker as headrace_broker

        with headrace_broker(settings) as headrace:
            yield headrace


@pytest.fixture(scope="session")
def broker() -> Iterator[RunningBroker]:
    """Looks often for transactions whose time is up: tests kill programs, and others wait for what those left open."""
    with running_broker({"transaction.abort.timed.out.transaction.cleanup.interval.ms": "500"}) as running:
        yield running


@pytest.fixture(scope="session")
def bootstrap_servers(broker: RunningBroker) -> str:
    return broker.bootstrap_servers


@pytest.fixture(scope="session")
def admin(bootstrap_servers: str) -> AdminClient:
    return AdminClient({"bootstrap.servers": bootstrap_servers})


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """A name that no other test uses, for a topic that the test creates itself or for a group."""
    return f"{request.node.originalname}-{uuid.uuid4().hex[:8]}".replace("_", "-")


def _wait_for_leaders(bootstrap_servers: str, topic: str) -> None:
    consumer = Consumer({"bootstrap.servers": bootstrap_servers, "group.id": "unused", "log_level": 0})
    deadline = time.monotonic() + 20
    for partition in range(3):
        while True:
            try:
                consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=1)
                break
            except KafkaException:
                if time.monotonic() > deadline:
                    raise
    consumer.close()


@pytest.fixture
def topic(admin: AdminClient, bootstrap_servers: str, name: str) -> Iterator[str]:
    """A new topic of three partitions."""
    admin.create_topics([NewTopic(name, 3, 1)])[name].result(10)
    # Apache Kafka answers before the partitions lead; a record with acks=0 would be lost until they do.
    _wait_for_leaders(bootstrap_servers, name)
    yield name
    admin.delete_topics([name])[name].result(10)
