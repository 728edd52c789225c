"""SyncGroup, Heartbeat and LeaveGroup: what a member does between two joins."""

from __future__ import annotations

from headrace.coordinator.group import UNKNOWN_MEMBER_ID, ClassicGroup, GroupState
from headrace.coordinator.rebalance import Rebalancer, sync_response
from headrace.coordinator.result import Result, Token
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.leave_group import MemberIdentity, MemberResponse
from headrace.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse


def sync(group: ClassicGroup, request: SyncGroupRequest, token: Token, rebalancer: Rebalancer) -> Result:
    """Wait for the leader's assignment, bring it, or get it again."""
    result = Result()
    error = _check_sync(group, request)
    if error is ErrorCode.NONE and group.state is GroupState.PREPARING_REBALANCE:
        error = ErrorCode.REBALANCE_IN_PROGRESS
    if error is not ErrorCode.NONE:
        result.complete(token, SyncGroupResponse(error_code=error))
        return result
    member = group.members[request.member_id]
    rebalancer.received_sync(group, request.member_id)
    if group.state is GroupState.STABLE:
        result.complete(token, sync_response(group, member))
        return result
    # A second SyncGroup of one member takes the place of the first, whose connection is most likely gone.
    group.complete_sync(member, SyncGroupResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS), result)
    member.sync_token = token
    if group.leader_id == request.member_id:
        assignments = {each.member_id: each.assignment for each in request.assignments}
        rebalancer.store_assignment(group, assignments, result)
    return result


def _check_sync(group: ClassicGroup, request: SyncGroupRequest) -> ErrorCode:
    error = group.check_member(request.member_id, request.group_instance_id)
    if error is not ErrorCode.NONE:
        return error
    if request.generation_id != group.generation_id:
        return ErrorCode.ILLEGAL_GENERATION
    if _differ(request.protocol_type, group.protocol_type) or _differ(request.protocol_name, group.protocol_name):
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    return ErrorCode.NONE


def _differ(asked: str | None, actual: str | None) -> bool:
    return asked is not None and actual is not None and asked != actual


def heartbeat(
    group: ClassicGroup,
    member_id: str,
    instance_id: str | None,
    generation_id: int,
    rebalancer: Rebalancer,
    now_ms: int,
) -> ErrorCode:
    """The hot path: thousands of these a second. The answer tells a member of a rebalance it has not noticed."""
    error = group.check_member(member_id, instance_id)
    if error is not ErrorCode.NONE:
        return error
    if generation_id != group.generation_id:
        return ErrorCode.ILLEGAL_GENERATION
    rebalancer.keep_alive(group, group.members[member_id], now_ms)
    if group.state is GroupState.PREPARING_REBALANCE:
        return ErrorCode.REBALANCE_IN_PROGRESS
    return ErrorCode.NONE


def leave(
    group: ClassicGroup, members: list[MemberIdentity], rebalancer: Rebalancer, result: Result, now_ms: int
) -> list[MemberResponse]:
    """Remove members at their own wish or, static ones by their group.instance.id alone, at an administrator's."""
    responses = [
        MemberResponse(
            member_id=identity.member_id,
            group_instance_id=identity.group_instance_id,
            error_code=_leave_one(group, identity, rebalancer, result),
        )
        for identity in members
    ]
    left = [response.member_id for response in responses if not response.error_code]
    if left:
        reason = f"members left: {', '.join(left)}"
        if group.in_state(GroupState.STABLE, GroupState.COMPLETING_REBALANCE):
            rebalancer.prepare(group, reason, result, now_ms)
        else:
            rebalancer.maybe_complete_join_phase(group, result, now_ms)
    return responses


def _leave_one(group: ClassicGroup, identity: MemberIdentity, rebalancer: Rebalancer, result: Result) -> ErrorCode:
    member_id, instance_id = identity.member_id, identity.group_instance_id
    if member_id == UNKNOWN_MEMBER_ID and instance_id is not None:
        member_id = group.static_members.get(instance_id, UNKNOWN_MEMBER_ID)
    if member_id in group.pending_joins:
        group.remove(member_id)
        return ErrorCode.NONE
    error = group.check_member(member_id, instance_id)
    if error is ErrorCode.NONE:
        rebalancer.drop(group, group.members[member_id], result)
    return error
