"""Groups as DescribeGroups and ListGroups show them."""

from __future__ import annotations

from collections.abc import Iterable

from headrace.coordinator.group import ClassicGroup, GroupState
from headrace.coordinator.member import Member
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.describe_groups import DescribedGroup, DescribedGroupMember
from headrace.wire.messages.list_groups import ListedGroup

GROUP_TYPE = "classic"
NOT_FOUND_IS_AN_ERROR_FROM = 6


def describe(group_id: str, group: ClassicGroup | None, api_version: int) -> DescribedGroup:
    """A group that does not exist is Dead, and since version 6 also an error (KIP-1043)."""
    if group is None:
        described = DescribedGroup(group_id=group_id, group_state=GroupState.DEAD.value)
        if api_version >= NOT_FOUND_IS_AN_ERROR_FROM:
            described.error_code = ErrorCode.GROUP_ID_NOT_FOUND
            described.error_message = f"Group {group_id} not found."
        return described
    is_stable = group.state is GroupState.STABLE
    return DescribedGroup(
        group_id=group_id,
        group_state=group.state.value,
        protocol_type=group.protocol_type or "",
        protocol_data=(group.protocol_name or "") if is_stable else "",
        members=[_member(each, group.protocol_name if is_stable else None) for each in group.members.values()],
    )


def _member(member: Member, protocol_name: str | None) -> DescribedGroupMember:
    """Metadata is shown only when the group has agreed on the protocol that it belongs to."""
    return DescribedGroupMember(
        member_id=member.member_id,
        group_instance_id=member.group_instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        member_metadata=member.protocols[protocol_name] if protocol_name is not None else b"",
        member_assignment=member.assignment,
    )


def listed(groups: Iterable[ClassicGroup], states: Iterable[str], types: Iterable[str]) -> list[ListedGroup]:
    """Groups in one of these states and of one of these types, compared without case; an empty filter takes all."""
    wanted_states = {state.strip().lower() for state in states}
    wanted_types = {name.lower() for name in types}
    if wanted_types and GROUP_TYPE not in wanted_types:
        return []
    return [
        ListedGroup(
            group_id=group.group_id,
            protocol_type=group.protocol_type or "",
            group_state=group.state.value,
            group_type=GROUP_TYPE,
        )
        for group in groups
        if not wanted_states or group.state.value.lower() in wanted_states
    ]
