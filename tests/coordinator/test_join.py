"""JoinGroup: ids, the first generation, later ones, and who is turned away."""

from __future__ import annotations

import pytest

from headrace.coordinator.group import GroupState
from headrace.wire.errors import ErrorCode
from tests.coordinator.driver import Driver, subscription


def test_a_new_member_gets_an_id_first_and_joins_with_it() -> None:
    d = Driver()
    first = d.join()
    assert first.error is ErrorCode.MEMBER_ID_REQUIRED
    assert first.response.member_id == "client-id1"
    joined = d.join("client-id1")
    assert joined.response is None
    d.advance(3_000)
    assert joined.error is ErrorCode.NONE
    assert joined.response.generation_id == 1
    assert joined.response.leader == joined.response.member_id == "client-id1"
    assert joined.response.protocol_name == "range" and joined.response.protocol_type == "consumer"
    assert [each.member_id for each in joined.response.members] == ["client-id1"]
    assert d.group().state is GroupState.COMPLETING_REBALANCE


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_before_version_4_the_first_join_counts(version: int) -> None:
    d = Driver()
    joined = d.join(version=version)
    d.advance(3_000)
    assert joined.error is ErrorCode.NONE
    assert d.group().members["client-id1"].rebalance_timeout_ms == (10_000 if version == 0 else 30_000)


def test_an_id_nobody_comes_back_for_is_forgotten_after_the_session_timeout() -> None:
    d = Driver()
    member_id = d.join(session_ms=7_000).response.member_id
    d.advance(6_999)
    assert member_id in d.group().pending_joins
    d.advance(1)
    assert not d.group().pending_joins
    assert d.join(member_id).error is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_pending_id_holds_up_a_rebalance_until_it_expires() -> None:
    d = Driver()
    (leader,) = d.stable()
    pending = d.join(session_ms=6_000)
    assert pending.error is ErrorCode.MEMBER_ID_REQUIRED
    rejoined = d.join(leader)
    assert rejoined.response is None
    d.advance(6_000)
    assert rejoined.response.generation_id == 2


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"group": ""}, ErrorCode.INVALID_GROUP_ID),
        ({"session_ms": 5_999}, ErrorCode.INVALID_SESSION_TIMEOUT),
        ({"session_ms": 1_800_001}, ErrorCode.INVALID_SESSION_TIMEOUT),
        ({"protocols": {}}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol_type": ""}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"member_id": "made-up"}, ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_refusals(options: dict, error: ErrorCode) -> None:
    d = Driver()
    refused = d.join(**options)
    assert refused.error is error
    assert refused.response.member_id == options.get("member_id", "")


def test_a_member_must_share_protocol_type_and_a_protocol() -> None:
    d = Driver()
    d.stable()
    assert d.join(protocols={"sticky": b""}).error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert d.join(protocol_type="connect").error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_the_protocol_with_most_votes_among_the_common_ones_wins() -> None:
    d = Driver()
    meta = subscription("t")
    offers = [["a", "b", "c"], ["b", "c", "a"], ["x", "b", "a"]]
    tickets = [d.join_twice(protocols=dict.fromkeys(offer, meta))[1] for offer in offers]
    d.advance(60_000)
    assert {ticket.response.protocol_name for ticket in tickets} == {"b"}


def test_the_first_generation_waits_longer_as_long_as_members_arrive() -> None:
    d = Driver()
    first = d.join_twice()[1]
    d.advance(2_999)
    second = d.join_twice()[1]
    d.advance(1)
    assert first.response is None, "the delay starts anew because somebody joined during the last one"
    d.advance(2_999)
    assert first.response is None
    d.advance(1)
    assert first.response.generation_id == second.response.generation_id == 1
    assert len(first.response.members) == 2 and second.response.members == []


def test_the_first_generation_starts_at_the_rebalance_timeout_at_the_latest() -> None:
    d = Driver()
    first = d.join_twice(rebalance_ms=7_000)[1]
    for _ in range(6):
        d.advance(1_000)
        d.join_twice(rebalance_ms=7_000)
    d.advance(1_000)
    assert first.response is not None
    assert len(first.response.members) == 7


def test_no_initial_delay_still_waits_for_the_next_look_at_the_clock() -> None:
    d = Driver(initial_rebalance_delay_ms=0)
    joined = d.join_twice()[1]
    assert joined.response is None
    d.advance(0)
    assert joined.error is ErrorCode.NONE


def test_a_new_member_makes_the_others_rejoin() -> None:
    d = Driver()
    (leader,) = d.stable()
    newcomer, waiting = d.join_twice()
    assert waiting.response is None and d.group().state is GroupState.PREPARING_REBALANCE
    assert d.heartbeat(leader, 1) is ErrorCode.REBALANCE_IN_PROGRESS
    rejoined = d.join(leader)
    assert rejoined.response.generation_id == waiting.response.generation_id == 2
    assert rejoined.response.leader == leader
    assert {each.member_id for each in rejoined.response.members} == {leader, newcomer}
    assert waiting.response.members == []


def test_members_that_do_not_rejoin_in_time_are_out_and_the_leader_is_replaced() -> None:
    d = Driver()
    leader, follower = d.stable(2, session_ms=60_000)
    waiting = d.join(follower, protocols={"range": subscription("t", "u")}, session_ms=60_000)
    d.advance(29_999)
    assert waiting.response is None
    d.advance(1)
    assert waiting.response.leader == follower
    assert leader not in d.group().members


def test_a_follower_with_nothing_new_gets_the_current_generation_again() -> None:
    d = Driver()
    _, follower = d.stable(2)
    again = d.join(follower)
    assert again.error is ErrorCode.NONE and again.response.generation_id == 1
    assert again.response.members == []
    assert d.group().state is GroupState.STABLE


def test_a_follower_with_another_subscription_starts_a_rebalance() -> None:
    d = Driver()
    _, follower = d.stable(2)
    assert d.join(follower, protocols={"range": subscription("u")}).response is None
    assert d.group().state is GroupState.PREPARING_REBALANCE


def test_the_leader_starts_a_rebalance_even_with_nothing_new() -> None:
    d = Driver()
    leader, _ = d.stable(2)
    assert d.join(leader).response is None
    assert d.group().state is GroupState.PREPARING_REBALANCE


def test_who_missed_the_join_response_gets_it_again_while_the_leader_assigns() -> None:
    d = Driver()
    member_id, joined = d.join_twice()
    d.advance(3_000)
    again = d.join(member_id)
    assert again.response == joined.response
    assert d.group().state is GroupState.COMPLETING_REBALANCE


def test_a_second_join_takes_the_place_of_the_first() -> None:
    d = Driver()
    leader, follower = d.stable(2)
    first = d.join(leader)
    second = d.join(leader)
    assert first.error is ErrorCode.REBALANCE_IN_PROGRESS
    d.join(follower)
    assert second.error is ErrorCode.NONE


def test_a_full_group_turns_newcomers_away() -> None:
    d = Driver(max_size=2)
    leader, follower = d.stable(2)
    assert d.join().error is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert d.join(follower).error is ErrorCode.NONE
    rejoined = d.join(leader)
    d.join(follower)
    assert rejoined.error is ErrorCode.NONE


def test_a_group_over_a_lowered_limit_rebalances_after_loading_and_drops_the_last_to_come() -> None:
    d = Driver()
    members = d.stable(3)
    d.config = type(d.config)(max_size=2)
    d.restart()
    assert d.group().state is GroupState.PREPARING_REBALANCE
    tickets = [d.join(member_id) for member_id in members]
    assert tickets[2].error is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert tickets[0].response.generation_id == tickets[1].response.generation_id == 2


def test_a_new_member_whose_client_is_gone_is_given_up_after_five_minutes() -> None:
    d = Driver()
    (leader,) = d.stable(session_ms=1_000_000, rebalance_ms=1_000_000)
    newcomer, waiting = d.join_twice(rebalance_ms=1_000_000)
    d.advance(5 * 60_000 - 1)
    assert waiting.response is None
    d.advance(1)
    assert waiting.error is ErrorCode.UNKNOWN_MEMBER_ID
    assert newcomer not in d.group().members
    assert leader in d.group().members


def test_a_group_is_founded_in_the_log_before_it_has_members() -> None:
    d = Driver()
    d.join()
    (record,) = d.records
    assert record.key.group == "g" and record.value.generation == 0 and record.value.members == []
    d.restart()
    assert d.group().state is GroupState.EMPTY


def test_a_group_that_cannot_be_stored_is_not_founded() -> None:
    d = Driver()
    d.fail_with = ErrorCode.KAFKA_STORAGE_ERROR
    joined = d.join(version=3)
    assert joined.error is ErrorCode.NOT_COORDINATOR
    assert "g" not in d.coordinator.groups and not d.log
