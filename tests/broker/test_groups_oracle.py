"""The same requests to Headrace and to Apache Kafka: every answer about groups must be the same.

A script of requests, good and bad, in several versions; ids that brokers make up are compared by the order in which
they appear.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from headrace.testing import broker
from headrace.wire.messages.delete_groups import DeleteGroupsRequest
from headrace.wire.messages.describe_groups import DescribeGroupsRequest
from headrace.wire.messages.find_coordinator import FindCoordinatorRequest
from headrace.wire.messages.heartbeat import HeartbeatRequest
from headrace.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from headrace.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from headrace.wire.messages.list_groups import ListGroupsRequest
from headrace.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from headrace.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from headrace.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from headrace.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from headrace.wire.schema import Message
from tests.broker.raw import RawClient
from tests.coordinator.driver import subscription

pytestmark = pytest.mark.peer("apache-kafka")

SETTINGS = {"group.initial.rebalance.delay.ms": "0", "offsets.topic.num.partitions": "3", "group.max.size": "3"}
COORDINATOR_ERRORS = {14, 15, 16}
RANDOM_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


class Script:
    """Sends requests to one broker and notes the answers in a form that two brokers can share."""

    def __init__(self, port: int) -> None:
        self.clients = {name: RawClient(port, timeout_s=30) for name in "abc"}
        self.answers: list[tuple[str, Any]] = []
        self._names: dict[str, str] = {}

    def close(self) -> None:
        for client in self.clients.values():
            client.socket.close()

    def call(self, request: Message, version: int, client: str = "a") -> Any:
        response = self.clients[client].call(request, version)
        self.note(f"{type(request).__name__} {version}", response)
        return response

    def send(self, request: Message, version: int, client: str = "a") -> None:
        self.clients[client].send(request, version)

    def receive(self, what: str, client: str = "a") -> Any:
        response = self.clients[client].receive()
        self.note(what, response)
        return response

    def note(self, what: str, response: Message) -> None:
        self.answers.append((what, self._plain(response)))

    def _plain(self, value: Any) -> Any:
        if isinstance(value, list):
            # Brokers keep members, topics and groups in an order of their own.
            return sorted((self._plain(each) for each in value), key=repr)
        if isinstance(value, str):
            return RANDOM_ID.sub(self._name, value)
        if hasattr(value, "__slots__") and not isinstance(value, bytes | int):
            fields = {name: getattr(value, name) for name in type(value).__slots__}
            return {name: self._plain(each) for name, each in fields.items() if name != "port"}
        return value

    def _name(self, match: re.Match[str]) -> str:
        return self._names.setdefault(match.group(), f"id-{len(self._names)}")


def join(group: str, member: str = "", *, instance: str | None = None, **fields: Any) -> JoinGroupRequest:
    protocols = fields.pop("protocols", {"range": subscription("t")})
    options = {"session_timeout_ms": 10_000, "rebalance_timeout_ms": 20_000, "protocol_type": "consumer"} | fields
    return JoinGroupRequest(
        group_id=group,
        member_id=member,
        group_instance_id=instance,
        protocols=[JoinGroupRequestProtocol(name=name, metadata=data) for name, data in protocols.items()],
        **options,
    )


def sync(group: str, member: str, generation: int, *assigned: str, **fields: Any) -> SyncGroupRequest:
    given = [SyncGroupRequestAssignment(member_id=each, assignment=b"a%d" % i) for i, each in enumerate(assigned)]
    options = {"protocol_type": "consumer", "protocol_name": "range"} | fields
    return SyncGroupRequest(group_id=group, member_id=member, generation_id=generation, assignments=given, **options)


def commit(group: str, *partitions: int, topic: str = "t", **fields: Any) -> OffsetCommitRequest:
    metadata = fields.pop("metadata", "note")
    rows = [
        OffsetCommitRequestPartition(
            partition_index=each, committed_offset=100 + each, committed_leader_epoch=1, committed_metadata=metadata
        )
        for each in partitions
    ]
    return OffsetCommitRequest(group_id=group, topics=[OffsetCommitRequestTopic(name=topic, partitions=rows)], **fields)


def fetch(group: str, *partitions: int) -> OffsetFetchRequest:
    old = [OffsetFetchRequestTopic(name="t", partition_indexes=list(partitions))] if partitions else None
    new = [OffsetFetchRequestTopics(name="t", partition_indexes=list(partitions))] if partitions else None
    return OffsetFetchRequest(group_id=group, topics=old, groups=[OffsetFetchRequestGroup(group_id=group, topics=new)])


def delete_offsets(group: str, topic: str, *partitions: int) -> OffsetDeleteRequest:
    rows = [OffsetDeleteRequestPartition(partition_index=each) for each in partitions]
    return OffsetDeleteRequest(group_id=group, topics=[OffsetDeleteRequestTopic(name=topic, partitions=rows)])


def beat(group: str, member: str, generation: int, instance: str | None = None) -> HeartbeatRequest:
    return HeartbeatRequest(group_id=group, member_id=member, generation_id=generation, group_instance_id=instance)


def leave(group: str, *members: tuple[str, str | None]) -> LeaveGroupRequest:
    identities = [MemberIdentity(member_id=each, group_instance_id=instance) for each, instance in members]
    return LeaveGroupRequest(group_id=group, member_id=members[0][0], members=identities)


def refusals(s: Script) -> None:
    for version in (0, 4, 5, 7, 9):
        s.call(join(""), version)
        s.call(join("r", session_timeout_ms=1), version)
        s.call(join("r", "made-up"), version)
        s.call(join("r", protocols={}), version)
        s.call(join("r", protocol_type=""), version)
    for version in (0, 3, 5):
        s.call(sync("r", "x", 1), version)
        s.call(sync("", "x", 1), version)
        s.call(sync("r", "x", 1, protocol_name=None), version)
        s.call(leave("r", ("x", None)), version)
        s.call(leave("nowhere", ("x", None)), version)
        s.call(leave("", ("x", None)), version)
    for version in (0, 3, 4):
        s.call(beat("r", "x", 1), version)
        s.call(beat("", "x", 1), version)
        s.call(beat("nowhere", "x", 1), version)


def dynamic_members(s: Script) -> None:
    first = s.call(join("d"), 9).member_id
    s.call(join("d", first), 9)
    s.call(DescribeGroupsRequest(groups=["d"]), 6)
    s.call(commit("d", 0, member_id=first, generation_id_or_member_epoch=1), 9)
    s.call(beat("d", first, 1), 4)
    s.call(sync("d", first, 2), 5)
    s.call(sync("d", first, 1, protocol_name="other"), 5)
    s.call(sync("d", first, 1, first), 5)
    s.call(DescribeGroupsRequest(groups=["d", "nowhere", ""], include_authorized_operations=True), 5)
    second = s.call(join("d"), 9, "b").member_id
    s.send(join("d", second), 9, "b")
    _until_rebalancing(s, "d", first, 1)
    s.call(sync("d", first, 1), 5)
    s.call(commit("d", 0, member_id=first, generation_id_or_member_epoch=1), 9)
    s.call(join("d", first), 9)
    s.receive("second member", "b")
    s.send(sync("d", second, 2), 5, "b")
    s.call(sync("d", first, 2, first, second), 5)
    s.receive("second assignment", "b")
    s.call(join("d", second), 9, "b")
    s.call(beat("d", second, 1), 4)
    s.call(join("d", protocols={"sticky": b""}), 9)
    s.call(join("d", protocol_type="connect"), 9)
    third = s.call(join("d"), 9, "c").member_id
    s.call(leave("d", (third, None)), 5, "c")
    s.call(commit("d", 0, 1, member_id=second, generation_id_or_member_epoch=2), 9)
    s.call(commit("d", 0), 9)
    s.call(commit("d", 0, member_id="x", generation_id_or_member_epoch=2), 8)
    s.call(commit("d", 0, member_id=second, generation_id_or_member_epoch=7), 8)
    s.call(delete_offsets("d", "t", 0), 0)
    s.call(delete_offsets("d", "u", 0), 0)
    s.call(DeleteGroupsRequest(groups_names=["d", "nowhere"]), 2)
    s.call(leave("d", (second, None), ("x", None), ("", "nobody")), 5, "b")
    _until_rebalancing(s, "d", first, 2)
    s.call(leave("d", (first, None)), 2)
    s.call(DescribeGroupsRequest(groups=["d"]), 6)
    s.call(beat("d", first, 2), 4)
    s.call(fetch("d", 0, 1, 2), 9)
    s.call(DeleteGroupsRequest(groups_names=["d"]), 1)
    s.call(fetch("d", 0), 9)


def static_members(s: Script) -> None:
    one = s.call(join("s", instance="one"), 9).member_id
    s.call(sync("s", one, 1, one, group_instance_id="one"), 5)
    again = s.call(join("s", instance="one"), 9).member_id
    s.call(sync("s", again, 1, group_instance_id="one"), 5)
    s.call(beat("s", one, 1, "one"), 4)
    s.call(beat("s", one, 1), 4)
    s.call(beat("s", again, 1, "one"), 4)
    s.call(beat("s", again, 1, "two"), 4)
    s.call(join("s", one, instance="one"), 9)
    s.call(commit("s", 0, member_id=one, generation_id_or_member_epoch=1, group_instance_id="one"), 9)
    old_version = s.call(join("s", instance="one"), 7).member_id
    s.call(sync("s", old_version, 1, group_instance_id="one"), 5)
    s.call(leave("s", (one, "one"), ("", "two"), ("", "one")), 5)
    s.call(DescribeGroupsRequest(groups=["s"]), 6)


def full_group(s: Script) -> None:
    first = s.call(join("f"), 3).member_id
    s.call(sync("f", first, 1, first), 3)
    for client in "bc":
        s.send(join("f"), 3, client)
    _until_rebalancing(s, "f", first, 1)
    _until_waiting(s, "f", 3)
    s.call(join("f", first), 3)
    for client in "bc":
        s.clients[client].receive()
    s.call(join("f"), 3)
    s.call(join("f"), 9)


def simple_consumers(s: Script) -> None:
    for version in range(2, 10):
        s.call(commit(f"v{version}", 0, 1, 7), version)
        s.call(commit(f"v{version}", 0, topic="nowhere"), version)
        s.call(commit(f"v{version}", 0, member_id="m", generation_id_or_member_epoch=3), version)
        s.call(commit(f"n{version}", 0, member_id="m", generation_id_or_member_epoch=3), version)
    for version in range(1, 10):
        s.call(fetch("v9", 0, 2, 7), version)
        s.call(fetch("unknown", 0), version)
    for version in range(2, 10):
        s.call(fetch("v9"), version)
        s.call(fetch("unknown"), version)
    s.call(commit("v9", 0, metadata="x" * 4097), 9)
    s.call(commit("v9", 1, metadata=None), 9)
    s.call(commit("", 0), 9)
    s.call(fetch("", 0), 9)
    for version in range(6):
        s.call(ListGroupsRequest(states_filter=["EMPTY"], types_filter=["Classic"]), version)
    s.call(ListGroupsRequest(states_filter=["nonsense"]), 5)
    s.call(ListGroupsRequest(types_filter=["consumer"]), 5)
    s.call(delete_offsets("v9", "t", 0, 7), 0)
    s.call(delete_offsets("v9", "nowhere", 0), 0)
    s.call(delete_offsets("unknown", "t", 0), 0)
    s.call(delete_offsets("", "t", 0), 0)
    s.call(fetch("v9", 0, 1), 9)
    for version in range(7):
        s.call(DescribeGroupsRequest(groups=["v9", "unknown"]), version)
    s.call(DeleteGroupsRequest(groups_names=["v9", "v8", "unknown", "v9"]), 2)
    s.call(FindCoordinatorRequest(key_type=0, key="g"), 3)
    s.call(FindCoordinatorRequest(key_type=0, coordinator_keys=["g", "h", ""]), 4)


def _until_rebalancing(s: Script, group: str, member: str, generation: int) -> None:
    _wait(lambda: s.clients["a"].call(beat(group, member, generation), 4).error_code == 27)


def _until_waiting(s: Script, group: str, count: int) -> None:
    _wait(lambda: len(s.clients["a"].call(DescribeGroupsRequest(groups=[group]), 5).groups[0].members) == count)


def _wait(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 15
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


SCRIPTS = (refusals, dynamic_members, static_members, full_group, simple_consumers)


def play(bootstrap_servers: str) -> dict[str, list[tuple[str, Any]]]:
    """All scripts against one broker."""
    admin = AdminClient({"bootstrap.servers": bootstrap_servers})
    topics = [NewTopic("t", 3, 1), NewTopic("u", 1, 1)]
    for created in admin.create_topics(topics).values():
        created.result(20)
    port = int(bootstrap_servers.rsplit(":", 1)[1])
    _wait_for_coordinator(port)
    answers = {}
    for script in SCRIPTS:
        s = Script(port)
        try:
            script(s)
        finally:
            s.close()
        answers[script.__name__] = s.answers
    return answers


def _wait_for_coordinator(port: int) -> None:
    with RawClient(port, timeout_s=30) as client:
        keys = [f"k{number}" for number in range(20)]

        def ready() -> bool:
            found = client.call(FindCoordinatorRequest(coordinator_keys=keys), 4).coordinators
            fetched = [client.call(fetch(key), 8).groups[0].error_code for key in keys]
            return not COORDINATOR_ERRORS & {*(each.error_code for each in found), *fetched}

        _wait(ready)


@pytest.fixture(scope="module")
def answers() -> tuple[dict[str, list[tuple[str, Any]]], dict[str, list[tuple[str, Any]]]]:
    from conformance.apache_kafka import apache_kafka

    with apache_kafka(SETTINGS) as kafka:
        expected = play(kafka.bootstrap_servers)
    with broker(SETTINGS) as server:
        return expected, play(server.bootstrap_servers)


@pytest.mark.timeout(180)
@pytest.mark.parametrize("script", [script.__name__ for script in SCRIPTS])
def test_answers_are_those_of_apache_kafka(answers: Any, script: str) -> None:
    expected, actual = answers[0][script], answers[1][script]
    different = [
        (number, theirs, ours)
        for number, (theirs, ours) in enumerate(zip(expected, actual, strict=True))
        if theirs != ours
    ]
    assert not different, "\n".join(f"{n}: {t[0]}\n  kafka    {t[1]}\n  headrace {o[1]}" for n, t, o in different)
