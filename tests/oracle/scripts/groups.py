"""Groups of the classic protocol and committed offsets."""

from __future__ import annotations

from typing import Any

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
from tests.coordinator.driver import subscription
from tests.oracle.requests import UNKNOWN_ID, metadata
from tests.oracle.script import Script, wait_until

SETTINGS = {"group.initial.rebalance.delay.ms": "0", "offsets.topic.num.partitions": "3", "group.max.size": "3"}
COORDINATOR_ERRORS = {14, 15, 16}


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


def group_refusals(s: Script) -> None:
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


def group_dynamic_members(s: Script) -> None:
    first = s.call(join("d"), 9).member_id
    s.call(join("d", first), 9)
    s.call(DescribeGroupsRequest(groups=["d"]), 6)
    s.call(commit("d", 0, member_id=first, generation_id_or_member_epoch=1), 9)
    s.call(beat("d", first, 1), 4)
    s.call(sync("d", first, 2), 5)
    s.call(sync("d", first, 1, protocol_name="other"), 5)
    s.call(sync("d", first, 1, first), 5)
    s.call(DescribeGroupsRequest(groups=["d", "nowhere", ""], include_authorized_operations=True), 5)
    second = s.call(join("d"), 9, client="b").member_id
    s.send(join("d", second), 9, "b")
    _until_rebalancing(s, "d", first, 1)
    s.call(sync("d", first, 1), 5)
    s.call(commit("d", 0, member_id=first, generation_id_or_member_epoch=1), 9)
    s.call(join("d", first), 9)
    s.receive("second member", "b")
    s.send(sync("d", second, 2), 5, "b")
    s.call(sync("d", first, 2, first, second), 5)
    s.receive("second assignment", "b")
    s.call(join("d", second), 9, client="b")
    s.call(beat("d", second, 1), 4)
    s.call(join("d", protocols={"sticky": b""}), 9)
    s.call(join("d", protocol_type="connect"), 9)
    third = s.call(join("d"), 9, client="c").member_id
    s.call(leave("d", (third, None)), 5, client="c")
    s.call(commit("d", 0, 1, member_id=second, generation_id_or_member_epoch=2), 9)
    s.call(commit("d", 0), 9)
    s.call(commit("d", 0, member_id="x", generation_id_or_member_epoch=2), 8)
    s.call(commit("d", 0, member_id=second, generation_id_or_member_epoch=7), 8)
    s.call(delete_offsets("d", "t", 0), 0)
    s.call(delete_offsets("d", "u", 0), 0)
    s.call(DeleteGroupsRequest(groups_names=["d", "nowhere"]), 2)
    s.call(leave("d", (second, None), ("x", None), ("", "nobody")), 5, client="b")
    _until_rebalancing(s, "d", first, 2)
    s.call(leave("d", (first, None)), 2)
    s.call(DescribeGroupsRequest(groups=["d"]), 6)
    s.call(beat("d", first, 2), 4)
    s.call(fetch("d", 0, 1, 2), 9)
    s.call(DeleteGroupsRequest(groups_names=["d"]), 1)
    s.call(fetch("d", 0), 9)


def group_static_members(s: Script) -> None:
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
        s.client(client).receive()
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
    wait_until(lambda: s.client("a").call(beat(group, member, generation), 4).error_code == 27)


def _until_waiting(s: Script, group: str, count: int) -> None:
    wait_until(lambda: len(s.client("a").call(DescribeGroupsRequest(groups=[group]), 5).groups[0].members) == count)


def offsets_by_topic_id(s: Script) -> None:
    """OffsetCommit and OffsetFetch from version 10 on."""
    found = s.client("setup").call(metadata("t"), 12).topics[0].topic_id
    s.names.known[found] = "id of t"
    for what, topic_id in (("good", found), ("unknown id", UNKNOWN_ID), ("zero id", bytes(16))):
        request = commit("by-id", 0, 7)
        request.topics[0].topic_id = topic_id
        s.call(request, 10, what)
        asked = fetch("by-id", 0, 2, 7)
        asked.groups[0].topics[0].topic_id = topic_id
        s.call(asked, 10, what)
    s.call(fetch("by-id"), 10, "all")
    s.call(fetch("by-id"), 9, "all by name")
    s.call(fetch("unknown"), 10, "all of an unknown group")


def prepare(s: Script) -> None:
    """Topics and a coordinator. The topics stay, because offsets go with their topic."""
    s.create("t", partitions=3)
    s.create("u")
    s.topics.clear()
    keys = [f"k{number}" for number in range(20)]
    client = s.client("setup")

    def ready() -> bool:
        found = client.call(FindCoordinatorRequest(coordinator_keys=keys), 4).coordinators
        fetched = [client.call(fetch(key), 8).groups[0].error_code for key in keys]
        return not COORDINATOR_ERRORS & {*(each.error_code for each in found), *fetched}

    wait_until(ready)


SCRIPTS = (
    group_refusals,
    group_dynamic_members,
    group_static_members,
    full_group,
    simple_consumers,
    offsets_by_topic_id,
)
