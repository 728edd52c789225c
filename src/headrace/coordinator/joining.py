"""JoinGroup: who becomes a member, under which id, and whether that starts a rebalance.

A dynamic member of version 4 and later joins twice: the first time it gets an id (MEMBER_ID_REQUIRED, KIP-394), so that
a client that gives up and retries leaves no ghost behind. A static member (KIP-345) is known by its group.instance.id:
a new process takes over the old one's place, without a rebalance when the group is stable and goes on with its protocol.
"""

from __future__ import annotations

from collections.abc import Callable

from headrace.coordinator import records
from headrace.coordinator.group import UNKNOWN_MEMBER_ID, ClassicGroup, GroupState
from headrace.coordinator.member import Member, Protocols
from headrace.coordinator.rebalance import Rebalancer
from headrace.coordinator.result import Caller, Completion, Result, Token, coordinator_error
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse

MEMBER_ID_REQUIRED_FROM = 4
SKIP_ASSIGNMENT_FROM = 9
BEING_STORED = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
"""Who takes over a static member's place while somebody else does is told to try again in a moment."""


class Join:
    """One JoinGroup request on its way through the rules."""

    __slots__ = ("caller", "group", "new_id", "now_ms", "protocols", "rebalancer", "request", "result", "token")

    def __init__(
        self,
        group: ClassicGroup,
        request: JoinGroupRequest,
        caller: Caller,
        token: Token,
        *,
        rebalancer: Rebalancer,
        new_id: Callable[[], str],
        now_ms: int,
    ) -> None:
        self.group = group
        self.request = request
        self.caller = caller
        self.token = token
        self.rebalancer = rebalancer
        self.new_id = new_id
        self.now_ms = now_ms
        self.protocols: Protocols = {protocol.name: protocol.metadata for protocol in request.protocols}
        self.result = Result()

    def run(self) -> Result:
        if not self._has_room():
            self.group.remove(self.request.member_id)
            self._refuse(ErrorCode.GROUP_MAX_SIZE_REACHED, UNKNOWN_MEMBER_ID)
            self.rebalancer.maybe_complete_join_phase(self.group, self.result, self.now_ms)
        elif not self.group.supports(self.request.protocol_type, self.protocols):
            self._refuse(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        elif self.request.member_id != UNKNOWN_MEMBER_ID:
            self._rejoin()
        elif self.request.group_instance_id is not None:
            self._join_static(self.request.group_instance_id)
        else:
            self._join_dynamic()
        return self.result

    def _has_room(self) -> bool:
        """While a group rebalances, only those who have joined count: the last to come are turned away."""
        group, limit = self.group, self.rebalancer.config.max_size
        member = group.members.get(self.request.member_id)
        if group.state is GroupState.EMPTY:
            return True
        if group.state is GroupState.PREPARING_REBALANCE:
            return (member is not None and member.join_token is not None) or group.awaiting_join < limit
        return member is not None or len(group.members) < limit

    def _refuse(self, error: ErrorCode, member_id: str | None = None) -> None:
        member_id = self.request.member_id if member_id is None else member_id
        self.result.complete(self.token, JoinGroupResponse(member_id=member_id, error_code=error))

    # New members

    def _join_dynamic(self) -> None:
        member_id = f"{self.caller.client_id or ''}-{self.new_id()}"
        if self.caller.api_version >= MEMBER_ID_REQUIRED_FROM:
            self.rebalancer.expect_join(self.group, member_id, self.now_ms + self.request.session_timeout_ms)
            self._refuse(ErrorCode.MEMBER_ID_REQUIRED, member_id)
        else:
            self._add(member_id)

    def _join_static(self, instance_id: str) -> None:
        member_id = f"{instance_id}-{self.new_id()}"
        if instance_id in self.group.taken_over:
            self._refuse(BEING_STORED)
        elif instance_id in self.group.static_members:
            self._replace_static(instance_id, member_id)
        else:
            self._add(member_id)

    def _add(self, member_id: str) -> None:
        group, request = self.group, self.request
        member = Member(
            member_id,
            group_instance_id=request.group_instance_id,
            client_id=self.caller.client_id or "",
            client_host=f"/{self.caller.client_host}",
            rebalance_timeout_ms=request.rebalance_timeout_ms,
            session_timeout_ms=request.session_timeout_ms,
            protocol_type=request.protocol_type,
            protocols=self.protocols,
        )
        member.is_new = True
        if group.state is GroupState.PREPARING_REBALANCE and group.previous_state is GroupState.EMPTY:
            group.new_member_added = True
        group.add(member, self.token)
        self.rebalancer.keep_alive(group, member, self.now_ms, self.rebalancer.config.new_member_join_timeout_ms)
        self._rebalance(f"member {member_id} joined")

    # Known members

    def _rejoin(self) -> None:
        group, member_id = self.group, self.request.member_id
        if member_id in group.pending_joins and self.request.group_instance_id is None:
            self._add(member_id)
            return
        error = group.check_member(member_id, self.request.group_instance_id)
        if error is not ErrorCode.NONE:
            self._refuse(error)
            return
        member = group.members[member_id]
        if group.state is GroupState.PREPARING_REBALANCE:
            self._update(member, f"member {member_id} rejoined")
        elif not member.same_protocols(self.protocols):
            self._update(member, f"member {member_id} changed its subscription")
        elif group.state is GroupState.STABLE and group.leader_id == member_id:
            # The leader alone sees changes that no subscription shows, such as new partitions.
            self._update(member, f"leader {member_id} rejoined")
        else:
            self.result.complete(self.token, group.join_response(member_id))

    def _update(self, member: Member, reason: str) -> None:
        self._supersede(member)
        self.group.update(
            member,
            self.protocols,
            rebalance_timeout_ms=self.request.rebalance_timeout_ms,
            session_timeout_ms=self.request.session_timeout_ms,
        )
        self.group.await_join(member, self.token)
        self._rebalance(reason)

    def _supersede(self, member: Member) -> None:
        """The client sent another JoinGroup without waiting for its last one, most often over a new connection."""
        self.group.complete_join(
            member,
            JoinGroupResponse(member_id=member.member_id, error_code=ErrorCode.REBALANCE_IN_PROGRESS),
            self.result,
        )

    def _rebalance(self, reason: str) -> None:
        reason = f"{reason}; {self.request.reason}" if self.request.reason else reason
        self.rebalancer.rebalance_or_complete_join(self.group, reason, self.result, self.now_ms)

    # Static members that come back

    def _replace_static(self, instance_id: str, new_id: str) -> None:
        group, request = self.group, self.request
        old_id, old_leader = group.static_members[instance_id], group.leader_id
        member = group.replace_static_member(instance_id, new_id, self.result)
        before = (member.protocols, member.rebalance_timeout_ms, member.session_timeout_ms)
        group.update(
            member,
            self.protocols,
            rebalance_timeout_ms=request.rebalance_timeout_ms,
            session_timeout_ms=request.session_timeout_ms,
        )
        self.rebalancer.keep_alive(group, member, self.now_ms)
        if group.state is GroupState.STABLE and group.select_protocol() == group.protocol_name:
            self._keep_generation(member, old_id, old_leader, before)
            return
        group.await_join(member, self.token)
        if group.state is GroupState.PREPARING_REBALANCE:
            self.rebalancer.maybe_complete_join_phase(group, self.result, self.now_ms)
        else:
            # In the sync phase the leader may be assigning to the old id, which would leave the new one with nothing.
            reason = f"static member {instance_id} came back as {new_id}"
            self.rebalancer.prepare(group, reason, self.result, self.now_ms)

    def _keep_generation(
        self, member: Member, old_id: str, old_leader: str | None, before: tuple[Protocols, int, int]
    ) -> None:
        """Nothing changes but the id: store that, and let the member carry on with the assignment of its predecessor."""
        group, generation_id = self.group, self.group.generation_id
        assignments = {each.member_id: each.assignment for each in group.members.values()}
        self.result.records.append(records.group_metadata(group, assignments))
        instance_id = member.group_instance_id
        assert instance_id is not None
        group.taken_over.add(instance_id)

        def settle(error: ErrorCode, now_ms: int) -> list[Completion]:
            group.taken_over.remove(instance_id)
            if error is ErrorCode.NONE:
                return [(self.token, self._kept_response(member.member_id, generation_id, old_leader))]
            settled = Result()
            if group.state is not GroupState.DEAD and group.members.get(member.member_id) is member:
                self._restore(member, old_id, before, settled, now_ms)
            response = JoinGroupResponse(member_id=UNKNOWN_MEMBER_ID, error_code=coordinator_error(error))
            settled.complete(self.token, response)
            return settled.completions

        self.result.settles.append(settle)

    def _restore(
        self, member: Member, old_id: str, before: tuple[Protocols, int, int], settled: Result, now_ms: int
    ) -> None:
        """The new id is not in the log: the place stays with the old one."""
        assert member.group_instance_id is not None
        protocols, rebalance_timeout_ms, session_timeout_ms = before
        self.group.update(
            member, protocols, rebalance_timeout_ms=rebalance_timeout_ms, session_timeout_ms=session_timeout_ms
        )
        old = self.group.replace_static_member(member.group_instance_id, old_id, settled)
        self.rebalancer.keep_alive(self.group, old, now_ms)

    def _kept_response(self, member_id: str, generation_id: int, old_leader: str | None) -> JoinGroupResponse:
        """Below version 9 a leader cannot be told to skip the assignment, so it is not told that it leads (KIP-814)."""
        group = self.group
        error = group.check_member(member_id, self.request.group_instance_id)
        if error is ErrorCode.NONE and not (group.state is GroupState.STABLE and group.generation_id == generation_id):
            error = ErrorCode.REBALANCE_IN_PROGRESS  # the group moved on while the append was under way
        if error is not ErrorCode.NONE:
            return JoinGroupResponse(member_id=member_id, error_code=error)
        response = group.join_response(member_id)
        if self.caller.api_version >= SKIP_ASSIGNMENT_FROM:
            response.skip_assignment = member_id == group.leader_id
        else:
            response.members = []
            response.leader = old_leader or ""
        return response
