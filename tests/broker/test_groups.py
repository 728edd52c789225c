"""Groups on the wire, in every version of their eleven APIs, across restarts, and with time in our hands."""

from __future__ import annotations

import time

import pytest

from headrace.broker.internal_topic import java_hash, partition_for
from headrace.clock import ManualClock
from headrace.testing import LocalBroker, broker
from headrace.testing.faults import ThrottledFs
from headrace.testing.waiting import wait_until
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.delete_groups import DeleteGroupsRequest
from headrace.wire.messages.describe_groups import DescribeGroupsRequest
from headrace.wire.messages.find_coordinator import FindCoordinatorRequest
from headrace.wire.messages.heartbeat import HeartbeatRequest
from headrace.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
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
from tests.broker.raw import RawClient
from tests.coordinator.driver import subscription

GROUP, TRANSACTION, SHARE = 0, 1, 2


@pytest.fixture(scope="module")
def server():
    with broker(group_initial_rebalance_delay_ms=0) as running:
        with RawClient(running.port) as client:
            client.call(FindCoordinatorRequest(coordinator_keys=["any"]), 4)
        running.create_topic("t", 3)
        yield running


@pytest.fixture
def client(server: LocalBroker):
    with RawClient(server.port) as raw:
        yield raw


@pytest.fixture
def group(request: pytest.FixtureRequest) -> str:
    return request.node.name


def join_request(group: str, member_id: str = "", **fields: object) -> JoinGroupRequest:
    options = {"session_timeout_ms": 10_000, "rebalance_timeout_ms": 20_000, "protocol_type": "consumer"} | fields
    protocols = [JoinGroupRequestProtocol(name="range", metadata=subscription("t"))]
    return JoinGroupRequest(group_id=group, member_id=member_id, protocols=protocols, **options)


def join(client: RawClient, group: str, version: int = 9, **fields: object) -> JoinGroupResponse:
    """Become a member, in one step or two."""
    response = client.call(join_request(group, **fields), version)
    if response.error_code == ErrorCode.MEMBER_ID_REQUIRED:
        response = client.call(join_request(group, response.member_id, **fields), version)
    assert response.error_code == 0
    return response


def sync_request(
    group: str, member: JoinGroupResponse, assignment: bytes = b"mine", **fields: object
) -> SyncGroupRequest:
    given = [SyncGroupRequestAssignment(member_id=member.member_id, assignment=assignment)]
    options = {"protocol_type": "consumer", "protocol_name": "range"} | fields
    return SyncGroupRequest(
        group_id=group, member_id=member.member_id, generation_id=member.generation_id, assignments=given, **options
    )


def member_of(client: RawClient, group: str) -> JoinGroupResponse:
    """The only member of a stable group."""
    member = join(client, group)
    assert client.call(sync_request(group, member), 5).assignment == b"mine"
    return member


def beat(client: RawClient, group: str, member: JoinGroupResponse, version: int = 4) -> ErrorCode:
    request = HeartbeatRequest(group_id=group, member_id=member.member_id, generation_id=member.generation_id)
    return ErrorCode(client.call(request, version).error_code)


def commit_request(server: LocalBroker, group: str, offsets: dict[int, int], topic: str = "t", **fields: object):
    partitions = [
        OffsetCommitRequestPartition(partition_index=index, committed_offset=offset, committed_metadata="note")
        for index, offset in offsets.items()
    ]
    found = server.call(lambda b: b.image.topics.get(topic))
    named = OffsetCommitRequestTopic(name=topic, topic_id=found.id if found else b"?" * 16, partitions=partitions)
    return OffsetCommitRequest(group_id=group, topics=[named], **fields)


def commit(client: RawClient, server: LocalBroker, group: str, offsets: dict[int, int], version: int = 9, **fields):
    response = client.call(commit_request(server, group, offsets, **fields), version)
    return {each.partition_index: ErrorCode(each.error_code) for each in response.topics[0].partitions}


def committed(client: RawClient, group: str, partitions: list[int]) -> dict[int, int]:
    topics = [OffsetFetchRequestTopics(name="t", partition_indexes=partitions)]
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=group, topics=topics)])
    (found,) = client.call(request, 9).groups
    assert found.error_code == 0
    return {each.partition_index: each.committed_offset for each in found.topics[0].partitions}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 0),
        ("hello", 99162322),
        ("polygenelubricants", -(2**31)),
        ("Aa", 2112),
        ("BB", 2112),
        ("\U0001f600", 1772899),
    ],
)
def test_groups_are_placed_by_javas_hash(text: str, expected: int) -> None:
    assert java_hash(text) == expected
    assert partition_for(text, 50) == (0 if expected == -(2**31) else abs(expected) % 50)


@pytest.mark.parametrize("version", range(7))
def test_find_coordinator(server: LocalBroker, client: RawClient, version: int) -> None:
    response = client.call(FindCoordinatorRequest(key="g", coordinator_keys=["g", "h"]), version)
    found = response.coordinators if version >= 4 else [response]
    assert len(found) == (2 if version >= 4 else 1)
    for each in found:
        assert (each.error_code, each.node_id, each.port) == (0, server.call(lambda b: b.node_id), server.port)


def test_find_coordinator_by_type(server: LocalBroker, client: RawClient) -> None:
    def ask(key_type: int) -> int:
        return (
            client.call(FindCoordinatorRequest(key_type=key_type, coordinator_keys=["x"]), 6).coordinators[0].error_code
        )

    assert ask(TRANSACTION) == 0
    assert ask(SHARE) == ErrorCode.INVALID_REQUEST
    assert ask(99) == ErrorCode.INVALID_REQUEST


def test_the_first_question_creates_the_topic_as_kafka_does() -> None:
    with broker(offsets_topic_num_partitions=7) as server, RawClient(server.port) as client:
        listed = client.call(ListGroupsRequest(), 5)
        assert listed.groups == [] and listed.error_code == 0
        refused = client.call(join_request("g"), 9)
        assert refused.error_code == ErrorCode.NOT_COORDINATOR
        assert client.call(FindCoordinatorRequest(coordinator_keys=["g"]), 4).coordinators[0].error_code == 0
        image = server.call(lambda b: b.image)
        assert len(image.topics["__consumer_offsets"].partitions) == 7
        config = image.topic_config("__consumer_offsets")
        assert config["cleanup.policy"] == "compact" and config["segment.bytes"] == "104857600"
        assert config["compression.type"] == "producer"


@pytest.mark.parametrize("version", range(10))
def test_join_in_every_version(client: RawClient, group: str, version: int) -> None:
    member = join(client, group, version)
    assert member.generation_id == 1 and member.leader == member.member_id and member.protocol_name == "range"
    assert member.member_id.startswith("raw-")
    refused = client.call(join_request(group, protocol_type="other"), version)
    assert refused.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert refused.protocol_name == (None if version >= 7 else "")


@pytest.mark.parametrize("version", range(6))
def test_sync_in_every_version(client: RawClient, group: str, version: int) -> None:
    member = join(client, group)
    assert client.call(sync_request(group, member), version).assignment == b"mine"


@pytest.mark.parametrize("version", range(5))
def test_heartbeat_in_every_version(client: RawClient, group: str, version: int) -> None:
    member = member_of(client, group)
    assert beat(client, group, member, version) is ErrorCode.NONE
    member.generation_id = 9
    assert beat(client, group, member, version) is ErrorCode.ILLEGAL_GENERATION


@pytest.mark.parametrize("version", range(6))
def test_leave_in_every_version(client: RawClient, group: str, version: int) -> None:
    member = member_of(client, group)
    request = LeaveGroupRequest(
        group_id=group, member_id=member.member_id, members=[MemberIdentity(member_id=member.member_id)]
    )
    response = client.call(request, version)
    assert response.error_code == 0 and all(each.error_code == 0 for each in response.members)
    assert beat(client, group, member) is ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("version", range(7))
def test_describe_in_every_version(client: RawClient, group: str, version: int) -> None:
    member = member_of(client, group)
    request = DescribeGroupsRequest(groups=[group, "nowhere"], include_authorized_operations=version >= 3)
    found, missing = client.call(request, version).groups
    assert (found.group_state, found.protocol_type, found.protocol_data) == ("Stable", "consumer", "range")
    (shown,) = found.members
    assert shown.member_id == member.member_id and shown.client_host == "/127.0.0.1" and shown.client_id == "raw"
    assert shown.member_assignment == b"mine" and shown.member_metadata == subscription("t")
    assert found.authorized_operations == (3400 if version >= 3 else -(2**31))
    assert missing.group_state == "Dead"
    assert missing.error_code == (ErrorCode.GROUP_ID_NOT_FOUND if version >= 6 else 0)


@pytest.mark.parametrize("version", range(6))
def test_list_in_every_version(client: RawClient, group: str, version: int) -> None:
    member_of(client, group)
    request = ListGroupsRequest(states_filter=["stable"], types_filter=["classic"])
    listed = {each.group_id: each for each in client.call(request, version).groups}
    assert listed[group].protocol_type == "consumer"
    assert listed[group].group_state == ("Stable" if version >= 4 else "")
    assert listed[group].group_type == ("classic" if version >= 5 else "")


@pytest.mark.parametrize("version", range(2, 11))
def test_commit_in_every_version(server: LocalBroker, client: RawClient, group: str, version: int) -> None:
    assert commit(client, server, group, {0: 5, 2: 6, 3: 7}, version) == {
        3: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        0: ErrorCode.NONE,
        2: ErrorCode.NONE,
    }
    assert committed(client, group, [0, 1, 2]) == {0: 5, 1: -1, 2: 6}
    unknown = ErrorCode.UNKNOWN_TOPIC_ID if version >= 10 else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert commit(client, server, group, {0: 1}, version, topic="nowhere") == {0: unknown}


@pytest.mark.parametrize("version", range(1, 11))
@pytest.mark.parametrize("everything", [False, True])
def test_fetch_in_every_version(
    server: LocalBroker, client: RawClient, group: str, version: int, everything: bool
) -> None:
    if everything and version < 2:
        return
    commit(client, server, group, {1: 42})
    topic_id = server.call(lambda b: b.image.topics["t"].id)
    topics = None if everything else [OffsetFetchRequestTopics(name="t", topic_id=topic_id, partition_indexes=[1])]
    old = None if everything else [OffsetFetchRequestTopic(name="t", partition_indexes=[1])]
    request = OffsetFetchRequest(
        group_id=group, topics=old, groups=[OffsetFetchRequestGroup(group_id=group, topics=topics)]
    )
    response = client.call(request, version)
    (topic,) = response.groups[0].topics if version >= 8 else response.topics
    (partition,) = topic.partitions
    assert (partition.committed_offset, partition.metadata, partition.error_code) == (42, "note", 0)
    assert (topic.topic_id == topic_id) if version >= 10 else topic.name == "t"


def test_fetch_by_an_unknown_topic_id(client: RawClient, group: str) -> None:
    topics = [OffsetFetchRequestTopics(topic_id=b"?" * 16, partition_indexes=[0])]
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=group, topics=topics)])
    (found,) = client.call(request, 10).groups
    assert found.topics[0].partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_ID


def test_delete_offsets_and_groups(server: LocalBroker, client: RawClient, group: str) -> None:
    commit(client, server, group, {0: 1, 1: 2})
    indexes = [OffsetDeleteRequestPartition(partition_index=index) for index in (0, 9)]
    request = OffsetDeleteRequest(group_id=group, topics=[OffsetDeleteRequestTopic(name="t", partitions=indexes)])
    response = client.call(request, 0)
    errors = {each.partition_index: each.error_code for each in response.topics[0].partitions}
    assert errors == {0: 0, 9: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert committed(client, group, [0, 1]) == {0: -1, 1: 2}
    for version, error in enumerate([ErrorCode.NONE, ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.GROUP_ID_NOT_FOUND]):
        (result,) = client.call(DeleteGroupsRequest(groups_names=[group, group]), version).results
        assert (result.group_id, result.error_code) == (group, error)


def test_a_member_that_disconnects_while_it_waits_stays_until_its_session_ends(
    server: LocalBroker, client: RawClient, group: str
) -> None:
    member = member_of(client, group)
    with RawClient(server.port) as other:
        required = other.call(join_request(group), 9)
        other.send(join_request(group, required.member_id), 9)
        wait_until(lambda: beat(client, group, member) is ErrorCode.REBALANCE_IN_PROGRESS)
    rejoined = client.call(join_request(group, member.member_id), 9)
    assert {each.member_id for each in rejoined.members} == {member.member_id, required.member_id}


def test_deleting_a_topic_removes_its_offsets(server: LocalBroker, client: RawClient, group: str) -> None:
    server.create_topic("doomed", 1)
    commit(client, server, group, {0: 5}, topic="doomed")
    commit(client, server, group, {0: 6})
    admin = server.admin()
    admin.delete_topics(["doomed"])["doomed"].result(10)

    def topics() -> set[str]:
        request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=group, topics=None)])
        return {each.name for each in client.call(request, 9).groups[0].topics}

    wait_until(lambda: topics() == {"t"})


def test_members_generations_and_offsets_survive_a_restart() -> None:
    with broker(group_initial_rebalance_delay_ms=0, offsets_topic_num_partitions=3) as server:
        with RawClient(server.port) as client:
            client.call(FindCoordinatorRequest(coordinator_keys=["any"]), 4)
            server.create_topic("t", 3)
            members = {f"g{index}": member_of(client, f"g{index}") for index in range(5)}
            for name, member in members.items():
                ids = {"member_id": member.member_id, "generation_id_or_member_epoch": member.generation_id}
                assert commit(client, server, name, {0: 7}, **ids) == {0: ErrorCode.NONE}
        server.restart()
        with RawClient(server.port) as client:
            for name, member in members.items():
                assert beat(client, name, member) is ErrorCode.NONE
                assert committed(client, name, [0]) == {0: 7}
                again = client.call(sync_request(name, member), 5)
                assert again.error_code == 0 and again.assignment == b"mine"


def test_a_waiting_member_does_not_hold_up_a_shutdown() -> None:
    with broker(group_initial_rebalance_delay_ms=60_000) as server, RawClient(server.port) as client:
        client.call(FindCoordinatorRequest(coordinator_keys=["any"]), 4)
        required = client.call(join_request("g"), 9)
        client.send(join_request("g", required.member_id), 9)
        wait_until(lambda: server.call(lambda b: b.groups.count_by_state()) == {"PreparingRebalance": 1})
        server.stop()
        assert client.receive().error_code == ErrorCode.NOT_COORDINATOR


def test_offsets_expire_by_the_clock() -> None:
    clock = ManualClock()
    settings = {"offsets.retention.minutes": 60, "offsets.retention.check.interval.ms": 1000}
    with broker(settings, clock=clock) as server, RawClient(server.port) as client:
        client.call(FindCoordinatorRequest(coordinator_keys=["any"]), 4)
        server.create_topic("t", 1)
        commit(client, server, "g", {0: 5})
        clock.advance(59 * 60_000)
        server.call(lambda b: b.groups.on_clock())
        assert committed(client, "g", [0]) == {0: 5}
        clock.advance(60_001)
        wait_until(lambda: committed(client, "g", [0]) == {0: -1}, timeout_s=5)
        assert client.call(ListGroupsRequest(), 4).groups == []


def test_lag_is_the_distance_to_the_high_watermark(server: LocalBroker, client: RawClient, group: str) -> None:
    topic = server.create_topic("lagging", 1)
    server.produce(topic, ["x"] * 10)
    commit(client, server, group, {0: 4}, topic=topic)
    lags = server.call(lambda b: [each for each in b.groups.lag() if each[0] == group])
    assert lags == [(group, topic, 0, 6)]


def test_a_slow_disk_slows_commits_and_not_heartbeats() -> None:
    fs = ThrottledFs(write_delay_s=0.4, matching="__consumer_offsets", active=False)
    settings = {"group.initial.rebalance.delay.ms": 0, "offsets.topic.num.partitions": 1}
    with broker(settings, fs=fs) as server, RawClient(server.port) as client, RawClient(server.port) as other:
        client.call(FindCoordinatorRequest(coordinator_keys=["any"]), 4)
        server.create_topic("t", 3)
        member = member_of(client, "g")
        fs.active = True
        commit(client, server, "simple", {0: 0})  # the first slow write moves the log to its thread
        for offset in (1, 2):
            other.send(commit_request(server, "simple", {0: offset}), 9)
        slowest = 0.0
        for _ in range(50):
            started = time.monotonic()
            assert beat(client, "g", member) is ErrorCode.NONE
            slowest = max(slowest, time.monotonic() - started)
        for _ in range(2):
            assert other.receive().topics[0].partitions[0].error_code == 0
        assert committed(client, "simple", [0]) == {0: 2}
        assert slowest < 0.3, "a heartbeat waited for the disk"
