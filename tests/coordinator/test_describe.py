"""DescribeGroups and ListGroups."""

from __future__ import annotations

from headrace.wire.errors import ErrorCode
from tests.coordinator.driver import Driver, subscription


def test_a_stable_group_shows_its_members() -> None:
    d = Driver()
    leader, _ = d.stable(2)
    group = d.coordinator.describe_group("g", 6)
    assert (group.group_state, group.protocol_type, group.protocol_data) == ("Stable", "consumer", "range")
    member = next(each for each in group.members if each.member_id == leader)
    assert member.client_id == "client" and member.client_host == "/10.0.0.1"
    assert member.member_metadata == subscription("t") and member.member_assignment == leader.encode()


def test_metadata_is_hidden_while_the_group_rebalances() -> None:
    d = Driver()
    leader, _ = d.stable(2)
    d.join(leader)
    group = d.coordinator.describe_group("g", 6)
    assert group.group_state == "PreparingRebalance" and group.protocol_data == ""
    assert all(each.member_metadata == b"" for each in group.members)


def test_a_group_that_is_not_there() -> None:
    d = Driver()
    assert d.coordinator.describe_group("x", 5).group_state == "Dead"
    assert d.coordinator.describe_group("x", 5).error_code == 0
    described = d.coordinator.describe_group("x", 6)
    assert described.error_code == ErrorCode.GROUP_ID_NOT_FOUND and described.error_message == "Group x not found."


def test_lists_with_filters() -> None:
    d = Driver()
    d.stable(group="busy")
    d.commit({("t", 0): 1}, group="simple")

    def ids(states: list[str], types: list[str]) -> set[str]:
        return {each.group_id for each in d.coordinator.list_groups(states, types)}

    assert ids([], []) == {"busy", "simple"}
    assert ids(["stable"], []) == ids(["STABLE", "dead"], ["Classic"]) == {"busy"}
    assert ids(["Empty"], []) == {"simple"}
    assert ids(["nonsense"], []) == ids([], ["consumer"]) == set()
    listed = {each.group_id: each for each in d.coordinator.list_groups([], [])}
    assert listed["busy"].protocol_type == "consumer" and listed["busy"].group_type == "classic"
    assert listed["simple"].protocol_type == "" and listed["simple"].group_state == "Empty"
