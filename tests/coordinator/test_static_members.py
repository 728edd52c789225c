"""Static members (KIP-345): a restart of a member is no rebalance."""

from __future__ import annotations

import pytest

from headrace.coordinator.group import GroupState
from headrace.wire.errors import ErrorCode
from tests.coordinator.driver import Driver, subscription


def stable(d: Driver, *instances: str, **options: int) -> dict[str, str]:
    """A stable group of static members, the leader first: instance id → member id."""
    tickets = {instance: d.join(instance=instance, **options) for instance in instances}
    d.advance(3_000 * (len(instances) + 1))
    ids = {instance: ticket.response.member_id for instance, ticket in tickets.items()}
    leader = next(iter(tickets.values())).response.leader
    assert leader == ids[instances[0]]
    assignments = {member_id: instance.encode() for instance, member_id in ids.items()}
    for instance, member_id in reversed(ids.items()):
        d.sync(member_id, 1, assignments if member_id == leader else None, instance=instance)
    assert d.group().state is GroupState.STABLE
    return ids


def test_a_static_member_joins_in_one_step_under_an_id_made_from_its_instance() -> None:
    d = Driver()
    joined = d.join(instance="one")
    d.advance(3_000)
    assert joined.error is ErrorCode.NONE
    assert joined.response.member_id == "one-id1"
    assert joined.response.members[0].group_instance_id == "one"


@pytest.mark.parametrize("version", [5, 8, 9])
def test_a_follower_comes_back_without_a_rebalance(version: int) -> None:
    d = Driver()
    ids = stable(d, "one", "two")
    back = d.join(instance="two", version=version)
    assert back.error is ErrorCode.NONE and back.response.generation_id == 1
    new_id = back.response.member_id
    assert new_id != ids["two"] and back.response.leader == ids["one"] and back.response.members == []
    assert d.group().state is GroupState.STABLE
    assert d.sync(new_id, 1, instance="two").response.assignment == b"two"
    assert d.heartbeat(new_id, 1, instance="two") is ErrorCode.NONE
    stored = {each.group_instance_id: each.member_id for each in d.records[-1].value.members}
    assert stored == {"one": ids["one"], "two": new_id}


def test_the_old_incarnation_is_fenced() -> None:
    d = Driver()
    old = stable(d, "one", "two")["two"]
    d.join(instance="two")
    assert d.heartbeat(old, 1, instance="two") is ErrorCode.FENCED_INSTANCE_ID
    assert d.heartbeat(old, 1) is ErrorCode.UNKNOWN_MEMBER_ID
    assert d.sync(old, 1, instance="two").error is ErrorCode.FENCED_INSTANCE_ID
    assert d.join(old, instance="two").error is ErrorCode.FENCED_INSTANCE_ID
    fenced = d.commit({("t", 0): 1}, member_id=old, generation=1, instance="two")
    assert fenced.response.topics[0].partitions[0].error_code == ErrorCode.FENCED_INSTANCE_ID
    assert d.leave((old, "two")).response.members[0].error_code == ErrorCode.FENCED_INSTANCE_ID


def test_a_returning_leader_is_told_to_skip_the_assignment_since_version_9() -> None:
    d = Driver()
    stable(d, "one", "two")
    back = d.join(instance="one", version=9).response
    assert back.skip_assignment and back.leader == back.member_id
    assert len(back.members) == 2
    assert d.sync(back.member_id, 1, instance="one").response.assignment == b"one"


def test_a_returning_leader_is_not_told_that_it_leads_before_version_9() -> None:
    d = Driver()
    ids = stable(d, "one", "two")
    back = d.join(instance="one", version=8).response
    assert not back.skip_assignment and back.leader == ids["one"] != back.member_id and back.members == []
    assert d.group().leader_id == back.member_id


def test_a_changed_choice_of_protocol_starts_a_rebalance() -> None:
    d = Driver()
    both = {"range": subscription("t"), "roundrobin": subscription("t")}
    ticket = d.join(instance="one", protocols=both)
    d.advance(3_000)
    d.sync(ticket.response.member_id, 1, {ticket.response.member_id: b"x"}, instance="one")
    swapped = {"roundrobin": subscription("t"), "range": subscription("t")}
    back = d.join(instance="one", protocols=swapped)
    assert back.response.generation_id == 2 and back.response.protocol_name == "roundrobin"


def test_coming_back_while_the_leader_assigns_starts_over() -> None:
    d = Driver()
    first, second = d.join(instance="one"), d.join(instance="two")
    d.advance(9_000)
    waiting = d.sync(second.response.member_id, 1, instance="two")
    back = d.join(instance="two")
    assert waiting.error is ErrorCode.FENCED_INSTANCE_ID
    assert d.group().state is GroupState.PREPARING_REBALANCE
    rejoined = d.join(first.response.member_id, instance="one")
    assert back.response.generation_id == rejoined.response.generation_id == 2


def test_coming_back_during_a_rebalance_fences_who_waits() -> None:
    d = Driver()
    ids = stable(d, "one", "two")
    waiting = d.join(ids["one"], instance="one")
    assert waiting.response is None
    back = d.join(instance="one")
    assert waiting.error is ErrorCode.FENCED_INSTANCE_ID and waiting.response.member_id == ids["one"]
    d.join(ids["two"], instance="two")
    assert back.response.generation_id == 2


def test_silent_static_members_stay_until_their_session_ends() -> None:
    d = Driver()
    ids = stable(d, "one", "two", session_ms=100_000, rebalance_ms=10_000)
    rejoined = d.join(ids["one"], instance="one", session_ms=100_000, rebalance_ms=10_000)
    d.advance(10_000)
    assert rejoined.response.generation_id == 2
    assert {each.group_instance_id for each in rejoined.response.members} == {"one", "two"}
    d.sync(ids["one"], 2, {ids["one"]: b"x"}, instance="one")
    d.advance(10_000)
    assert ids["two"] not in d.group().members, "it was asked to sync and did not"


def test_a_generation_cannot_start_with_nobody_there() -> None:
    d = Driver()
    ids = stable(d, "one", "two", session_ms=100_000, rebalance_ms=10_000)
    d.leave(("", "one"))
    d.advance(10_000)
    assert d.group().state is GroupState.PREPARING_REBALANCE and d.group().generation_id == 1
    back = d.join(ids["two"], instance="two")
    assert back.response.generation_id == 2


def test_an_administrator_removes_by_instance_id() -> None:
    d = Driver()
    stable(d, "one", "two")
    response = d.leave(("", "two")).response
    assert response.members[0].member_id == "" and response.members[0].error_code == 0
    assert "two" not in d.group().static_members


def test_static_members_survive_a_restart_of_the_broker() -> None:
    d = Driver()
    ids = stable(d, "one", "two")
    d.restart()
    assert d.heartbeat(ids["two"], 1, instance="two") is ErrorCode.NONE
    back = d.join(instance="two").response
    assert back.generation_id == 1 and d.group().state is GroupState.STABLE


def test_an_id_that_cannot_be_stored_leaves_the_place_to_the_old_one() -> None:
    d = Driver()
    old = stable(d, "one", "two")["two"]
    d.fail_with = ErrorCode.KAFKA_STORAGE_ERROR
    assert d.join(instance="two").error is ErrorCode.NOT_COORDINATOR
    d.fail_with = None
    assert d.heartbeat(old, 1, instance="two") is ErrorCode.NONE
    assert d.group().static_members["two"] == old


def test_unknown_instances_are_unknown() -> None:
    d = Driver()
    ids = stable(d, "one")
    assert d.heartbeat(ids["one"], 1, instance="other") is ErrorCode.UNKNOWN_MEMBER_ID
    assert d.join("made-up", instance="other").error is ErrorCode.UNKNOWN_MEMBER_ID
