"""The log of wanted pipelines on a real broker: who owns it, what is read back, who takes over."""

from __future__ import annotations

import threading

from headrace import client
from headrace.engine.pipeline_log import TOPIC, PipelineLog, read_all
from headrace.engine.record import PipelineRecord
from headrace.plan.engine import DesiredState, Guarantee
from headrace.testing import LocalBroker, wait_until
from headrace.testing.clients import Clients
from headrace.testing.process import broker_process
from tests.engine.plans import copy_plan


class Owner:
    """A log, and what it told its engine."""

    def __init__(self, broker: Clients, engine_id: str) -> None:
        self.records: dict[str, PipelineRecord] | None = None
        self.complaints: list[str] = []
        self.lost = threading.Event()
        self.log = PipelineLog(broker.bootstrap_servers, engine_id, self._owned, lambda _reason: self.lost.set())
        self.log.start()

    def _owned(self, records: dict[str, PipelineRecord], complaints: list[str]) -> None:
        self.records, self.complaints = records, complaints

    def wait_until_owned(self) -> dict[str, PipelineRecord]:
        wait_until(lambda: self.records is not None, timeout_s=30, message="owned")
        assert self.records is not None
        return self.records


# Kafka gives a broker that is gone nine seconds before another one takes over what it coordinated.
OUTAGE_S = 10.0


def record(name: str, revision: int = 1) -> PipelineRecord:
    return PipelineRecord(copy_plan(name), Guarantee.AT_LEAST_ONCE, DesiredState.RUNNING, 5, revision=revision)


def test_what_was_appended_is_there_for_the_next_engine(headrace_broker: LocalBroker) -> None:
    first = Owner(headrace_broker, "engine-a")
    try:
        assert first.wait_until_owned() == {}
        first.log.append("one", record("one"))
        first.log.append("two", record("two"))
        first.log.append("one", record("one", 2))
        first.log.append("two", None)
    finally:
        first.log.close()
    second = Owner(headrace_broker, "engine-a")
    try:
        assert second.wait_until_owned() == {"one": record("one", 2)}
    finally:
        second.log.close()


def test_a_second_engine_waits_until_the_first_is_gone(headrace_broker: LocalBroker) -> None:
    first = Owner(headrace_broker, "engine-a")
    first.wait_until_owned()
    second = Owner(headrace_broker, "engine-b")
    try:
        first.log.append("one", record("one"))
        wait_until(lambda: _members(headrace_broker) == 2, timeout_s=30, message="two members")
        assert second.records is None
        assert not first.lost.is_set()
    finally:
        first.log.close()
    try:
        wait_until(lambda: second.records == {"one": record("one")}, timeout_s=60, message="taken over")
    finally:
        second.log.close()


def test_records_of_others_are_left_alone_and_said_so(headrace_broker: LocalBroker) -> None:
    owner = Owner(headrace_broker, "engine-a")
    try:
        owner.wait_until_owned()
        owner.log.append("one", record("one"))
        producer = client.producer(headrace_broker.bootstrap_servers)
        producer.produce(TOPIC, key=b"strange", value=b"not a record")
        producer.produce(TOPIC, key=b"other name", value=record("two").encode())
        producer.flush(10)
    finally:
        owner.log.close()
    records, complaints = read_all(headrace_broker.bootstrap_servers)
    assert list(records) == ["one"]
    assert len(complaints) == 2
    assert "'strange' is left alone" in complaints[0]


def _members(broker: Clients) -> int:
    from headrace.engine.pipeline_log import GROUP

    admin = client.admin(broker.bootstrap_servers)
    described = admin.describe_consumer_groups([GROUP])[GROUP].result(10)
    return len(described.members)


def test_the_coordinating_broker_may_be_gone_for_a_while() -> None:
    """Pipelines must not stop and start because another broker has to take over the engines' group."""
    with broker_process() as broker:
        owner = Owner(broker, "engine-a")
        try:
            owner.wait_until_owned()
            broker.kill()
            assert not owner.lost.wait(OUTAGE_S)
            broker.restart()
            owner.log.append("one", record("one"))
            wait_until(lambda: _members(broker) == 1, timeout_s=30, message="a member again")
            assert not owner.lost.is_set()
        finally:
            owner.log.close()
