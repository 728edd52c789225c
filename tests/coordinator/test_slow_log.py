"""Appends that take their time: what happens in between must not be undone when they end."""

from __future__ import annotations

import pytest

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


def test_a_generation_has_one_assignment_although_its_leader_brings_two() -> None:
    d = Driver()
    leader, follower = completing(d)
    d.hold = True
    first = d.sync(leader, 1, {leader: b"L1", follower: b"F1"})
    second = d.sync(leader, 1, {leader: b"L2", follower: b"F2"})
    assert first.error is ErrorCode.REBALANCE_IN_PROGRESS
    d.release()
    assert second.response.assignment == b"L1"
    for _ in range(2):
        assert d.sync(leader, 1).response.assignment == b"L1" and d.sync(follower, 1).response.assignment == b"F1"
        d.restart()


def test_a_leader_that_brought_two_assignments_hears_that_neither_could_be_stored() -> None:
    d = Driver()
    leader, follower = completing(d)
    d.hold = True
    d.sync(leader, 1, {leader: b"L1"})
    second = d.sync(leader, 1, {leader: b"L2"})
    d.fail_with = ErrorCode.NOT_ENOUGH_REPLICAS
    d.release()
    assert second.error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    d.fail_with = None
    d.join(follower)
    d.join(leader)
    assert d.sync(leader, 2, {leader: b"L3"}).response.assignment == b"L3"


@pytest.mark.parametrize("error", [None, ErrorCode.NOT_ENOUGH_REPLICAS])
def test_nobody_joins_a_group_that_is_being_deleted(error: ErrorCode | None) -> None:
    d = Driver()
    d.commit({("t", 0): 1})
    d.hold = True
    deleting = d._submit(d.coordinator.on_delete_groups, ["g"], 2)
    again = d._submit(d.coordinator.on_delete_groups, ["g"], 2)
    assert again.response[0].error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert d.join(version=3).error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    d.fail_with = error
    d.release()
    d.fail_with = None
    assert deleting.response is not None and ("g" in d.coordinator.groups) is (error is not None)
    assert d.stable()


def test_nobody_joins_a_group_that_is_expiring() -> None:
    d = Driver(offsets_retention_check_interval_ms=60_000)
    (member,) = d.stable()
    d.leave(member)
    d.hold = True
    d.advance(130_000)
    assert d.join(version=3).error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert len(d.held) == 1
    d.release()
    assert "g" not in d.coordinator.groups


def test_a_deleted_topic_takes_commits_under_way_with_it() -> None:
    d = Driver()
    d.hold = True
    d.commit({("t", 0): 1}, topic_id=b"A" * 16)
    d.txn_commit({("t", 1): 2})
    d.delete_topics(("t", b"A" * 16))
    d.release()
    assert d.committed() == -1 and not d.is_unstable(partition=1)


def test_a_deleted_topic_leaves_commits_under_way_to_its_successor() -> None:
    d = Driver()
    d.commit({("t", 0): 1}, topic_id=b"A" * 16)
    d.hold = True
    d.commit({("t", 0): 2}, topic_id=b"B" * 16)
    d.delete_topics(("t", b"A" * 16))
    d.release()
    assert d.committed(topic_id=b"B" * 16) == 2


def test_an_old_offset_does_not_expire_over_a_new_one_under_way() -> None:
    d = Driver(offsets_retention_ms=100_000, offsets_retention_check_interval_ms=150_000)
    d.commit({("t", 0): 1})
    d.advance(149_000)
    d.hold = True
    d.commit({("t", 0): 2})
    d.advance(2_000)
    d.release()
    assert d.committed() == 2


def test_a_group_that_could_not_be_founded_goes_with_all_that_was_under_way() -> None:
    d = Driver()
    d.hold = True
    first = d.join(version=3)
    d.advance(9_000)
    member = first.response.member_id
    synced = d.sync(member, 1, {member: b"M"})
    d.fail_with = ErrorCode.KAFKA_STORAGE_ERROR
    d.release()
    assert synced.error is ErrorCode.NOT_COORDINATOR and "g" not in d.coordinator.groups
    d.fail_with = None
    assert d.stable()


def test_offsets_remain_a_group_when_nobody_could_join_it() -> None:
    d = Driver()
    d.hold = True
    d.commit({("t", 0): 5})
    d.refuse_with = ErrorCode.NOT_ENOUGH_REPLICAS
    waiting = d.join(version=3)
    assert waiting.error is ErrorCode.COORDINATOR_NOT_AVAILABLE and "g" not in d.coordinator.groups
    d.refuse_with = None
    joining = d.join(version=3)
    committed, founding = d.held
    d.held = [committed]
    d.release()
    d.fail_with = ErrorCode.NOT_ENOUGH_REPLICAS
    d._append(founding)
    assert joining.error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert d.group().state is GroupState.EMPTY and d.committed() == 5


def test_one_process_at_a_time_takes_over_a_static_member() -> None:
    d = Driver()
    first = d.join(instance="one")
    d.advance(9_000)
    old = first.response.member_id
    d.sync(old, 1, {old: b"1"}, instance="one")
    d.hold = True
    second, third = d.join(instance="one"), d.join(instance="one")
    assert second.response is None and third.error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    d.fail_with = ErrorCode.NOT_ENOUGH_REPLICAS
    d.release()
    assert d.heartbeat(old, 1, instance="one") is ErrorCode.NONE
    d.fail_with = None
    assert d.join(instance="one").response.generation_id == 1
