"""The life of an internal topic, the same for groups and for transactions: created, loaded, damaged, deleted."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from headrace.broker.coordinator_log import encode_records
from headrace.broker.internal_topic import partition_for
from headrace.broker.server import Broker
from headrace.clock import ManualClock
from headrace.replica.topic_names import CONSUMER_OFFSETS, TRANSACTION_STATE
from headrace.testing import broker
from headrace.testing.waiting import wait_until
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.delete_topics import DeleteTopicsRequest
from headrace.wire.messages.find_coordinator import FindCoordinatorRequest
from tests.broker.raw import RawClient
from tests.broker.test_groups import beat, member_of

TWO = {"offsets.topic.num.partitions": 2, "transaction.state.log.num.partitions": 2}
KEYS = {partition_for(key, 2): key for key in "ab"}
both = pytest.mark.parametrize(
    ("name", "topic"),
    [("groups", CONSUMER_OFFSETS), ("transactions", TRANSACTION_STATE)],
    ids=["groups", "transactions"],
)


def create(server: Any, name: str) -> None:
    """Several ask at once, as clients do that start together."""

    async def ask(running: Broker) -> None:
        await asyncio.gather(*(getattr(running, name).create_topic() for _ in range(3)))

    server.call(ask)


def states(server: Any, name: str) -> list[ErrorCode]:
    """What the keys of both partitions hear."""

    def ask(running: Broker) -> list[ErrorCode]:
        shards = [getattr(running, name).shard(KEYS[index]) for index in range(2)]
        return [each if isinstance(each, ErrorCode) else each.state for each in shards]

    return server.call(ask)


@both
def test_the_topic_is_created_once_and_again_when_it_was_deleted(name: str, topic: str) -> None:
    with broker(TWO) as server, RawClient(server.port) as client:
        assert states(server, name) == [ErrorCode.NOT_COORDINATOR] * 2
        create(server, name)
        assert states(server, name) == [ErrorCode.NONE] * 2
        client.call(DeleteTopicsRequest(topic_names=[topic], timeout_ms=10_000), 5)
        assert states(server, name) == [ErrorCode.NOT_COORDINATOR] * 2
        create(server, name)
        assert states(server, name) == [ErrorCode.NONE] * 2


@both
def test_a_partition_that_cannot_be_loaded_is_served_by_nobody(name: str, topic: str) -> None:
    with broker(TWO) as server:
        create(server, name)
        damaged = encode_records([(b"\0\0", b"\0\0")], 0)
        server.call(lambda b: b.replicas.get(topic, 1).append(memoryview(damaged), b.clock.now_ms(), "coordinator"))
        server.restart()
        wait_until(lambda: not server.call(lambda b: getattr(b, name).is_loading))
        assert states(server, name) == [ErrorCode.NONE, ErrorCode.NOT_COORDINATOR]
        assert server.call(lambda b: len(getattr(b, name).loaded_shards)) == 1


def test_deadlines_move_along_when_the_clock_is_set_back() -> None:
    clock = ManualClock()
    with broker(TWO, clock=clock, group_initial_rebalance_delay_ms=0) as server, RawClient(server.port) as client:
        client.call(FindCoordinatorRequest(coordinator_keys=["g"]), 4)
        member = member_of(client, "g")
        clock.set(clock.now_ms() - 3_600_000)
        server.call(lambda b: b.groups.on_clock())
        clock.advance(9_000)
        server.call(lambda b: b.groups.on_clock())
        assert beat(client, "g", member) is ErrorCode.NONE
        clock.advance(10_001)
        server.call(lambda b: b.groups.on_clock())
        assert beat(client, "g", member) is ErrorCode.UNKNOWN_MEMBER_ID
