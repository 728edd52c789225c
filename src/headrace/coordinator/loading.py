"""A group as its last record left it."""

from __future__ import annotations

from headrace.coordinator.group import ClassicGroup, GroupState
from headrace.coordinator.member import Member
from headrace.wire.records.group import GroupMetadataValue, MemberMetadata


def load_group(group_id: str, value: GroupMetadataValue) -> ClassicGroup:
    """Members come back with the one protocol that the group had chosen; a rebalance under way is forgotten."""
    group = ClassicGroup(group_id, value.current_state_timestamp)
    group.generation_id = value.generation
    group.protocol_type = value.protocol_type or None
    group.protocol_name = value.protocol
    group.leader_id = value.leader
    for each in value.members:
        group.add(_load_member(each, value), None)
    if value.members:
        group.state = GroupState.STABLE
    group.subscribed_topics = group.compute_subscribed_topics()
    return group


def _load_member(member: MemberMetadata, value: GroupMetadataValue) -> Member:
    return Member(
        member.member_id,
        group_instance_id=member.group_instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout_ms=member.session_timeout if member.rebalance_timeout == -1 else member.rebalance_timeout,
        session_timeout_ms=member.session_timeout,
        protocol_type=value.protocol_type,
        protocols={value.protocol or "": member.subscription},
        assignment=member.assignment,
    )
