"""SyncGroup, Heartbeat, LeaveGroup, and sessions that run out."""

from __future__ import annotations

import pytest

from headrace.coordinator.group import GroupState
from headrace.wire.errors import ErrorCode
from tests.coordinator.driver import Driver


def completing(d: Driver, count: int = 2) -> list[str]:
    """A group that waits for its leader's assignment."""
    joined = [d.join_twice() for _ in range(count)]
    d.advance(3_000 * (count + 1))
    return [member_id for member_id, _ in joined]


def test_followers_wait_for_the_leader_and_everybody_gets_its_part() -> None:
    d = Driver()
    leader, follower = completing(d)
    waiting = d.sync(follower, 1)
    assert waiting.response is None
    synced = d.sync(leader, 1, {leader: b"L", follower: b"F"})
    assert synced.response.assignment == b"L" and waiting.response.assignment == b"F"
    assert synced.response.protocol_name == "range" and synced.response.protocol_type == "consumer"
    assert d.group().state is GroupState.STABLE


def test_a_late_follower_gets_its_part_from_the_stable_group() -> None:
    d = Driver()
    leader, follower = completing(d)
    d.sync(leader, 1, {leader: b"L", follower: b"F"})
    assert d.sync(follower, 1).response.assignment == b"F"


def test_members_the_leader_forgot_get_an_empty_assignment() -> None:
    d = Driver()
    leader, follower = completing(d)
    d.sync(leader, 1, {leader: b"L", "stranger": b"S"})
    assert d.sync(follower, 1).response.assignment == b""


def test_a_follower_cannot_assign() -> None:
    d = Driver()
    leader, follower = completing(d)
    assert d.sync(follower, 1, {follower: b"mine"}).response is None
    assert d.group().state is GroupState.COMPLETING_REBALANCE
    assert leader == d.group().leader_id


def test_sync_refusals() -> None:
    d = Driver()
    leader, _ = completing(d)
    assert d.sync(leader, 1, group="").error is ErrorCode.INVALID_GROUP_ID
    assert d.sync(leader, 1, group="other").error is ErrorCode.UNKNOWN_MEMBER_ID
    assert d.sync("stranger", 1).error is ErrorCode.UNKNOWN_MEMBER_ID
    assert d.sync(leader, 0).error is ErrorCode.ILLEGAL_GENERATION
    assert d.sync(leader, 1, protocol="roundrobin").error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert d.sync(leader, 1, protocol_type="connect").error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert d.sync(leader, 1, protocol=None).error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert d.sync(leader, 1, protocol=None, version=4).response is not None
    d.join_twice()
    assert d.sync(leader, 1).error is ErrorCode.REBALANCE_IN_PROGRESS


def test_a_rebalance_sends_waiting_followers_back() -> None:
    d = Driver()
    _, follower = completing(d)
    waiting = d.sync(follower, 1)
    d.join_twice()
    assert waiting.error is ErrorCode.REBALANCE_IN_PROGRESS


def test_a_second_sync_takes_the_place_of_the_first() -> None:
    d = Driver()
    leader, follower = completing(d)
    first, second = d.sync(follower, 1), d.sync(follower, 1)
    assert first.error is ErrorCode.REBALANCE_IN_PROGRESS
    d.sync(leader, 1, {follower: b"F"})
    assert second.response.assignment == b"F"


def test_who_never_syncs_is_out_after_the_rebalance_timeout() -> None:
    d = Driver()
    leader, silent = completing(d)
    d.sync(leader, 1, {leader: b"L"})
    for _ in range(30):
        d.advance(1_000)
        d.heartbeat(leader, 1)
        d.heartbeat(silent, 1)
    assert silent not in d.group().members
    assert d.heartbeat(leader, 1) is ErrorCode.REBALANCE_IN_PROGRESS
    assert d.join(leader).response.generation_id == 2


def test_an_assignment_that_cannot_be_stored_starts_a_rebalance() -> None:
    d = Driver()
    leader, follower = completing(d)
    waiting = d.sync(follower, 1)
    d.fail_with = ErrorCode.NOT_ENOUGH_REPLICAS
    refused = d.sync(leader, 1, {leader: b"L"})
    assert refused.error is waiting.error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert d.group().state is GroupState.PREPARING_REBALANCE


def test_heartbeats_keep_a_session_and_silence_ends_it() -> None:
    d = Driver()
    leader, silent = d.stable(2)
    for _ in range(3):
        d.advance(9_000)
        d.heartbeat(leader, 1)
    assert silent not in d.group().members
    assert d.group().state is GroupState.PREPARING_REBALANCE
    assert d.heartbeat(silent, 1) is ErrorCode.UNKNOWN_MEMBER_ID


def test_the_last_session_to_end_empties_the_group() -> None:
    d = Driver()
    d.stable(1)
    d.advance(10_000)
    group = d.group()
    assert group.state is GroupState.EMPTY and group.generation_id == 2 and group.protocol_name is None
    assert d.records[-1].value.members == [] and d.records[-1].value.generation == 2
    assert d.records[-1].value.protocol_type == "consumer"


@pytest.mark.parametrize(
    ("member", "generation", "group", "error"),
    [
        ("m", 1, "", ErrorCode.INVALID_GROUP_ID),
        ("m", 1, "nowhere", ErrorCode.UNKNOWN_MEMBER_ID),
        ("m", 1, "g", ErrorCode.UNKNOWN_MEMBER_ID),
        ("client-id1", 0, "g", ErrorCode.ILLEGAL_GENERATION),
        ("client-id1", 2, "g", ErrorCode.ILLEGAL_GENERATION),
        ("client-id1", 1, "g", ErrorCode.NONE),
    ],
)
def test_heartbeat_answers(member: str, generation: int, group: str, error: ErrorCode) -> None:
    d = Driver()
    d.stable()
    assert d.heartbeat(member, generation, group=group) is error


def test_heartbeats_count_while_the_leader_assigns() -> None:
    d = Driver()
    leader, follower = completing(d)
    assert d.heartbeat(follower, 1) is ErrorCode.NONE
    assert d.heartbeat(leader, 1) is ErrorCode.NONE


def test_who_waits_for_the_group_needs_no_heartbeat() -> None:
    d = Driver()
    leader, follower = d.stable(2, session_ms=10_000, rebalance_ms=60_000)
    waiting = d.join(leader, rebalance_ms=60_000)
    for _ in range(30):
        d.advance(1_000)
        d.heartbeat(follower, 1)
    assert waiting.response is None
    d.join(follower, rebalance_ms=60_000)
    assert waiting.response.generation_id == 2
    d.sync(leader, 2, {leader: b""}, version=4, protocol=None)
    d.sync(follower, 2, version=4, protocol=None)
    d.advance(9_999)
    assert leader in d.group().members


def test_leaving_starts_a_rebalance_of_the_rest() -> None:
    d = Driver()
    leader, follower = d.stable(2)
    left = d.leave(leader)
    assert left.response.error_code == 0 and left.response.members[0].error_code == 0
    assert d.group().leader_id == follower
    assert d.join(follower).response.generation_id == 2


def test_the_last_to_leave_empties_the_group() -> None:
    d = Driver()
    members = d.stable(2)
    d.leave(*members)
    assert d.group().state is GroupState.EMPTY and d.group().generation_id == 2


def test_each_leaving_member_has_its_own_error() -> None:
    d = Driver()
    leader, _ = d.stable(2)
    response = d.leave(leader, "stranger", ("", "nobody")).response
    assert [each.error_code for each in response.members] == [0, 25, 25]
    assert d.leave("x", group="nowhere").response.members[0].error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert d.leave("x", group="").error is ErrorCode.INVALID_GROUP_ID


@pytest.mark.parametrize("version", [0, 1, 2])
def test_before_version_3_one_member_leaves_and_the_error_is_the_answer(version: int) -> None:
    d = Driver()
    (member,) = d.stable()
    assert d.leave("stranger", version=version).error is ErrorCode.UNKNOWN_MEMBER_ID
    assert d.leave(member, version=version).error is ErrorCode.NONE
    assert d.group().state is GroupState.EMPTY


def test_a_pending_id_may_leave() -> None:
    d = Driver()
    pending = d.join().response.member_id
    assert d.leave(pending).response.members[0].error_code == 0
    assert not d.group().pending_joins


def test_leaving_during_a_rebalance_lets_the_others_go_on() -> None:
    d = Driver()
    leader, follower = d.stable(2)
    waiting = d.join(leader)
    d.leave(follower)
    assert waiting.response.generation_id == 2


def test_a_removed_member_hears_of_it_while_it_waits() -> None:
    d = Driver()
    leader, follower = d.stable(2)
    waiting = d.join(follower, protocols={"range": b"new"})
    d.leave(follower)
    assert waiting.error is ErrorCode.UNKNOWN_MEMBER_ID
    d2 = Driver()
    _, follower = completing(d2)
    syncing = d2.sync(follower, 1)
    d2.leave(follower)
    assert syncing.error is ErrorCode.UNKNOWN_MEMBER_ID
    assert leader


def test_unloading_tells_everybody_who_waits() -> None:
    d = Driver()
    leader, _ = d.stable(2)
    joining = d.join(leader)
    _, other = completing(Driver())
    assert other
    d._send(d.coordinator.unload())
    assert joining.error is ErrorCode.NOT_COORDINATOR
    assert d.coordinator.next_deadline_ms() is None


def test_setting_the_clock_ends_no_session() -> None:
    d = Driver()
    (member,) = d.stable()
    d.coordinator.on_clock_set(3_600_000)
    d.now_ms += 3_600_000
    d.advance(9_999)
    assert member in d.group().members
    d.advance(1)
    assert d.group().state is GroupState.EMPTY
