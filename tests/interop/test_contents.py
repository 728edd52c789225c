"""The comparison of two brokers notices each kind of change, so that its silence means something."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from confluent_kafka import TopicPartition

from headrace.testing import LocalBroker, broker
from tests.broker.raw import RawClient
from tests.broker.transactional_client import TransactionalClient
from tests.interop.contents import TOPIC, contents, differences
from tests.interop.programs import IdempotentProducer, alter, commit, delete_records, settle


def set_retention(server: LocalBroker) -> None:
    with RawClient(server.port) as client:
        alter(client, TOPIC, "idempotent", {"retention.ms": "1"})


def write_again(server: LocalBroker) -> None:
    with RawClient(server.port) as client:
        IdempotentProducer(client).write(client, b"more")


def end_a_transaction(server: LocalBroker) -> None:
    with RawClient(server.port) as client:
        one = TransactionalClient(client, "one", v2=True)
        one.write("idempotent", b"aborted")
        one.end(commit=False)
        settle(one)


def commit_offset(server: LocalBroker) -> None:
    commit(server.bootstrap_servers, "group", [TopicPartition("idempotent", 0, 1)])


CHANGES: dict[str, tuple[Callable[[LocalBroker], object], list[str]]] = {
    "nothing": (lambda server: None, []),
    "topic": (lambda server: server.create_topic("another"), ["topic_ids", "settings"]),
    "setting": (set_retention, ["settings"]),
    "record": (write_again, ["end", "last_stable", "latest_timestamp", "producers", "bytes of records"]),
    "deletion": (lambda server: delete_records(server.bootstrap_servers, "idempotent", 0, 2), ["start"]),
    "commit": (commit_offset, ["commits"]),
    "transaction": (end_a_transaction, ["transactions", "aborted"]),
}


@pytest.mark.parametrize("change", CHANGES)
def test_every_change_is_noticed(change: str) -> None:
    make, expected = CHANGES[change]
    with broker(offsets_topic_num_partitions=1, transaction_state_log_num_partitions=1) as server:
        server.create_topic("idempotent")
        commit(server.bootstrap_servers, "group", [TopicPartition("idempotent", 0, 0)])
        with RawClient(server.port) as client:
            IdempotentProducer(client).write(client, b"a", b"b", b"c")
            TransactionalClient(client, "two", v2=True)
        before = contents(server.port)
        make(server)
        found = differences(before, contents(server.port))
    assert bool(found) == bool(expected)
    for word in expected:
        assert any(word in one for one in found), (word, found)
