"""Appends that take their time: what happens in between must not be undone when they end."""

from __future__ import annotations

from headrace.coordinator.group import GroupState
from headrace.wire.errors import ErrorCode
from tests.coordinator.driver import Driver


def completing(d: Driver) -> tuple[str, str]:
    (leader, _), (follower, _) = d.join_twice(), d.join_twice()
    d.advance(9_000)
    return leader, follower


def test_heartbeats_are_answered_while_an_assignment_is_being_written() -> None:
    d = Driver()
    leader, follower = completing(d)
    d.hold = True
    synced = d.sync(leader, 1, {leader: b"L", follower: b"F"})
    assert synced.response is None
    assert d.heartbeat(leader, 1) is d.heartbeat(follower, 1) is ErrorCode.NONE
    late = d.sync(follower, 1)
    assert late.response is None and d.group().state is GroupState.COMPLETING_REBALANCE
    d.release()
    assert synced.response.assignment == b"L" and late.response.assignment == b"F"


def test_a_group_that_rebalanced_meanwhile_does_not_want_the_assignment() -> None:
    d = Driver()
    leader, follower = completing(d)
    d.hold = True
    synced = d.sync(leader, 1, {leader: b"L"})
    d.join_twice()
    assert synced.error is ErrorCode.REBALANCE_IN_PROGRESS
    d.release()
    assert d.group().state is GroupState.PREPARING_REBALANCE
    assert d.join(leader).response is None and d.join(follower).response is not None


def test_offsets_are_seen_when_they_are_in_the_log() -> None:
    d = Driver()
    d.hold = True
    commit = d.commit({("t", 0): 5})
    assert commit.response is None and d.committed() == -1
    d.release()
    assert commit.response is not None and d.committed() == 5


def test_a_deleted_group_takes_commits_under_way_with_it() -> None:
    d = Driver()
    d.commit({("t", 0): 1})
    d.hold = True
    d.commit({("t", 1): 2})
    deleting = d._submit(d.coordinator.on_delete_groups, ["g"], 2)
    assert deleting.response is None
    d.release()
    for _ in range(2):
        assert "g" not in d.coordinator.groups
        assert d.committed() == d.committed(partition=1) == -1
        d.restart()


def test_deleting_an_offset_under_way_wins_over_it() -> None:
    d = Driver()
    d.commit({("t", 0): 1})
    d.hold = True
    d.commit({("t", 1): 2})
    d.delete_offsets("t", 1)
    d.release()
    for _ in range(2):
        assert d.committed(partition=1) == -1
        d.restart()


def test_a_static_member_that_came_back_into_a_rebalance_joins_again() -> None:
    d = Driver()
    first, second = d.join(instance="one"), d.join(instance="two")
    d.advance(9_000)
    one, two = first.response.member_id, second.response.member_id
    d.sync(one, 1, {one: b"1", two: b"2"}, instance="one")
    d.sync(two, 1, instance="two")
    d.hold = True
    back = d.join(instance="two")
    assert back.response is None
    d.join(one, instance="one")
    d.release()
    assert back.error is ErrorCode.REBALANCE_IN_PROGRESS
    again = d.join(instance="two")
    assert again.response.generation_id == 2
