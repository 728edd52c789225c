"""The proxy in front of a real broker: every way out is its own, and each fault does what it says."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from confluent_kafka import KafkaException

from headrace import client
from headrace.testing import LocalBroker, wait_until
from headrace.testing.proxy import Abandoned, Faults, Proxy

PRODUCE = 0
QUICK = {"retry.backoff.ms": 50, "reconnect.backoff.ms": 10, "reconnect.backoff.max.ms": 50, "log_level": 0}


@pytest.fixture
def abandoned() -> list[Abandoned]:
    return []


@pytest.fixture
def network(headrace_broker: LocalBroker, abandoned: list[Abandoned]) -> Iterator[Proxy]:
    headrace_broker.create_topic("t")
    with Proxy(headrace_broker.bootstrap_servers, on_abandoned=abandoned.append) as proxy:
        yield proxy


def test_clients_see_no_other_address(network: Proxy, headrace_broker: LocalBroker) -> None:
    admin = client.admin(network.bootstrap_servers)
    brokers = admin.list_topics(timeout=10).brokers.values()
    assert [f"{broker.host}:{broker.port}" for broker in brokers] == [network.bootstrap_servers]
    assert network.bootstrap_servers != headrace_broker.bootstrap_servers
    described = admin.describe_cluster().result(10)
    assert [node.port for node in described.nodes] == [int(network.bootstrap_servers.rpartition(":")[2])]


def test_a_group_works_through_it(network: Proxy, headrace_broker: LocalBroker) -> None:
    headrace_broker.produce("t", ["a", "b"])
    consumer = client.consumer(network.bootstrap_servers, "g")
    consumer.subscribe(["t"])
    seen = [wait_until(lambda: consumer.poll(0.1)).value() for _ in range(2)]
    consumer.close()
    assert seen == [b"a", b"b"]


def test_a_lost_answer_is_not_a_lost_record(
    network: Proxy, headrace_broker: LocalBroker, abandoned: list[Abandoned]
) -> None:
    producer = client.producer(network.bootstrap_servers, QUICK)
    producer.produce("t", b"first")
    assert producer.flush(10) == 0
    network.faults = Faults(lose_answers=1.0)
    producer.produce("t", b"second")
    wait_until(lambda: any(request.header.api_key == PRODUCE for request in abandoned))
    network.heal()
    assert producer.flush(10) == 0
    assert [record.value() for record in headrace_broker.records("t", 2)] == [b"first", b"second"]


def test_a_late_request_comes_after_its_repetition(network: Proxy, abandoned: list[Abandoned]) -> None:
    producer = client.producer(network.bootstrap_servers, QUICK)
    producer.produce("t", b"first")
    assert producer.flush(10) == 0
    network.faults = Faults(deliver_late=1.0, late_s=0.5, late_keys=frozenset((PRODUCE,)))
    producer.produce("t", b"second")
    late = wait_until(lambda: [request for request in abandoned if request.header.api_key == PRODUCE])[0]
    network.heal()
    assert producer.flush(10) == 0
    assert late.delivered - late.received >= 0.2e9


def test_delay(network: Proxy) -> None:
    admin = client.admin(network.bootstrap_servers)
    admin.list_topics(timeout=10)
    network.random.random = lambda: 0.9  # type: ignore[method-assign]
    network.faults = Faults(delay_s=0.2)
    began = time.monotonic()
    admin.list_topics(timeout=10)
    assert time.monotonic() - began >= 0.3


def test_silence_and_healing(network: Proxy) -> None:
    admin = client.admin(network.bootstrap_servers)
    admin.list_topics(timeout=10)
    network.faults = Faults(silent=True)
    with pytest.raises(KafkaException):
        admin.list_topics(timeout=0.5)
    network.heal()
    assert "t" in admin.list_topics(timeout=10).topics


def test_cut_and_again(network: Proxy) -> None:
    admin = client.admin(network.bootstrap_servers, QUICK)
    # The client may drop its first connection once it knows the broker's name, and ask again over another.
    wait_until(lambda: admin.list_topics(timeout=10) and network._links)
    network.cut()
    wait_until(lambda: not network._links or "t" in admin.list_topics(timeout=10).topics)
    assert "t" in admin.list_topics(timeout=10).topics


def test_a_broker_that_is_gone_refuses(network: Proxy, headrace_broker: LocalBroker) -> None:
    headrace_broker.stop()
    with pytest.raises(KafkaException):
        client.admin(network.bootstrap_servers, QUICK).list_topics(timeout=0.5)
