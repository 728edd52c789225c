"""How a classic group moves from one generation to the next: who is waited for, for how long, and what they are told.

Owns every timer of a group: sessions, pending ids, the join phase, the sync phase. All functions change the group at
once and add answers and records to the `Result` they are given.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from headrace.coordinator import records
from headrace.coordinator.config import GroupConfig
from headrace.coordinator.group import UNKNOWN_MEMBER_ID, ClassicGroup, GroupState
from headrace.coordinator.member import NO_ASSIGNMENT, Member
from headrace.coordinator.result import Completion, Result, coordinator_error
from headrace.coordinator.timers import Timer, Timers
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.join_group import JoinGroupResponse
from headrace.wire.messages.sync_group import SyncGroupResponse

log = logging.getLogger("headrace.groups")


class Rebalancer:
    """Drives the groups of one coordinator."""

    def __init__(self, config: GroupConfig, timers: Timers) -> None:
        self.config = config
        self.timers = timers

    # Sessions

    def keep_alive(self, group: ClassicGroup, member: Member, now_ms: int, timeout_ms: int | None = None) -> None:
        """The member showed up: give it another session timeout."""
        timer = member.session
        if timer is None:
            timer = member.session = Timer(lambda result, now: self._session_expired(group, member, result, now))
        self.timers.schedule(timer, now_ms + (member.session_timeout_ms if timeout_ms is None else timeout_ms))

    def expect_join(self, group: ClassicGroup, member_id: str, deadline_ms: int) -> None:
        """An id was given out with MEMBER_ID_REQUIRED: keep a place for it until the deadline."""

        def expired(result: Result, now_ms: int) -> None:
            if group.pending_joins.get(member_id) is timer:
                group.remove(member_id)
                if group.state is GroupState.PREPARING_REBALANCE and group.has_all_members_joined:
                    self.complete_join_phase(group, result, now_ms)

        timer = group.pending_joins[member_id] = Timer(expired)
        self.timers.schedule(timer, deadline_ms)

    def _session_expired(self, group: ClassicGroup, member: Member, result: Result, now_ms: int) -> None:
        if group.members.get(member.member_id) is not member or member.has_satisfied_heartbeat:
            return
        log.info("group %s: member %s has failed and is removed", group.group_id, member.member_id)
        self.drop(group, member, result)
        if group.in_state(GroupState.STABLE, GroupState.COMPLETING_REBALANCE):
            self.prepare(group, f"member {member.member_id} failed", result, now_ms)
        elif group.state is GroupState.PREPARING_REBALANCE and group.has_all_members_joined:
            self.complete_join_phase(group, result, now_ms)

    def drop(self, group: ClassicGroup, member: Member, result: Result) -> None:
        """Remove a member and send home whatever request of it still waits; its client will start over."""
        group.complete_join(
            member, JoinGroupResponse(member_id=UNKNOWN_MEMBER_ID, error_code=ErrorCode.UNKNOWN_MEMBER_ID), result
        )
        group.complete_sync(member, SyncGroupResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID), result)
        group.remove(member.member_id)

    # The join phase

    def rebalance_or_complete_join(self, group: ClassicGroup, reason: str, result: Result, now_ms: int) -> None:
        """Something changed: start a rebalance, or see whether it was the last thing a running one waited for."""
        if group.can_rebalance:
            self.prepare(group, reason, result, now_ms)
        else:
            self.maybe_complete_join_phase(group, result, now_ms)

    def prepare(self, group: ClassicGroup, reason: str, result: Result, now_ms: int) -> None:
        """Ask everybody to join again."""
        if group.state is GroupState.COMPLETING_REBALANCE:
            self._reset_assignments(group, ErrorCode.REBALANCE_IN_PROGRESS, result, now_ms)
        group.pending_syncs.clear()
        if group.sync_timer is not None:
            group.sync_timer.cancel()
        is_initial = group.state is GroupState.EMPTY
        group.transition_to(GroupState.PREPARING_REBALANCE, now_ms)
        log.info("group %s: rebalancing after generation %d (%s)", group.group_id, group.generation_id, reason)
        if is_initial:
            delay_ms = self.config.initial_rebalance_delay_ms
            self._delay_initial_rebalance(group, delay_ms, max(group.rebalance_timeout_ms - delay_ms, 0), now_ms)
        elif group.has_all_members_joined:
            self.complete_join_phase(group, result, now_ms)
        else:
            self._limit_join_phase(group, now_ms)

    def maybe_complete_join_phase(self, group: ClassicGroup, result: Result, now_ms: int) -> None:
        """Move on when all have joined. A first generation waits for its delay, so that it starts with more members."""
        if (
            group.state is GroupState.PREPARING_REBALANCE
            and group.previous_state is not GroupState.EMPTY
            and group.has_all_members_joined
        ):
            self.complete_join_phase(group, result, now_ms)

    def complete_join_phase(self, group: ClassicGroup, result: Result, now_ms: int) -> None:
        """Start the next generation with those who joined. Static members stay although they have not."""
        if group.join_timer is not None:
            group.join_timer.cancel()
        for member in list(group.members.values()):
            if member.join_token is None and member.group_instance_id is None:
                log.info("group %s: member %s did not rejoin in time", group.group_id, member.member_id)
                group.remove(member.member_id)
        if not group.elect_joined_leader() and group.members:
            # Only silent static members are left. Their sessions run out, or one of them comes back.
            self._limit_join_phase(group, now_ms)
            return
        group.start_next_generation(now_ms)
        if group.state is GroupState.EMPTY:
            log.info("group %s: generation %d is empty", group.group_id, group.generation_id)
            result.records.append(records.group_metadata(group, {}))
            return
        log.info("group %s: generation %d has %d members", group.group_id, group.generation_id, len(group.members))
        for member in group.members.values():
            group.complete_join(member, group.join_response(member.member_id), result)
            self.keep_alive(group, member, now_ms)
            member.is_new = False
            group.pending_syncs.add(member.member_id)
        self._limit_sync_phase(group, now_ms)

    def _limit_join_phase(self, group: ClassicGroup, now_ms: int) -> None:
        timer = Timer(lambda result, now: self.complete_join_phase(group, result, now))
        self._set_join_timer(group, timer, now_ms + group.rebalance_timeout_ms)

    def _delay_initial_rebalance(self, group: ClassicGroup, delay_ms: int, remaining_ms: int, now_ms: int) -> None:
        """Wait for more first members: in steps, as long as the last step brought some and the time allows."""

        def step(result: Result, now: int) -> None:
            if group.new_member_added and remaining_ms:
                group.new_member_added = False
                next_delay_ms = min(self.config.initial_rebalance_delay_ms, remaining_ms)
                self._delay_initial_rebalance(group, next_delay_ms, max(remaining_ms - delay_ms, 0), now)
            else:
                self.complete_join_phase(group, result, now)

        self._set_join_timer(group, Timer(step), now_ms + delay_ms)

    def _set_join_timer(self, group: ClassicGroup, timer: Timer, deadline_ms: int) -> None:
        if group.join_timer is not None:
            group.join_timer.cancel()
        group.join_timer = timer
        self.timers.schedule(timer, deadline_ms)

    # The sync phase

    def received_sync(self, group: ClassicGroup, member_id: str) -> None:
        group.pending_syncs.discard(member_id)
        if not group.pending_syncs and group.sync_timer is not None:
            group.sync_timer.cancel()

    def _limit_sync_phase(self, group: ClassicGroup, now_ms: int) -> None:
        """Members that joined and never ask for their assignment are removed after the rebalance timeout."""
        generation_id = group.generation_id

        def expired(result: Result, now: int) -> None:
            active = group.in_state(GroupState.COMPLETING_REBALANCE, GroupState.STABLE)
            if not active or group.generation_id != generation_id or not group.pending_syncs:
                return
            silent = sorted(group.pending_syncs)
            for member_id in silent:
                self.drop(group, group.members[member_id], result)
            self.prepare(group, f"no SyncGroup from {', '.join(silent)}", result, now)

        if group.sync_timer is not None:
            group.sync_timer.cancel()
        group.sync_timer = Timer(expired)
        self.timers.schedule(group.sync_timer, now_ms + group.rebalance_timeout_ms)

    def store_assignment(self, group: ClassicGroup, assignments: Mapping[str, bytes], result: Result) -> None:
        """The leader's assignment goes to the log first and to the members when it is there. Asked again meanwhile, perhaps
        with another one, the leader waits for the first: a generation has one assignment, whoever reads the log."""
        generation_id = group.generation_id
        if group.assigned_generation == generation_id:
            return
        group.assigned_generation = generation_id
        complete = {member_id: assignments.get(member_id, NO_ASSIGNMENT) for member_id in group.members}
        result.records.append(records.group_metadata(group, complete))

        def settle(error: ErrorCode, now_ms: int) -> list[Completion]:
            # The group may have moved on while the append was under way; then others have answered its members.
            settled = Result()
            if group.generation_id != generation_id:
                return []
            if group.state is GroupState.STABLE:
                self._propagate(group, ErrorCode.NONE, settled, now_ms)
            elif group.state is GroupState.COMPLETING_REBALANCE:
                reason = coordinator_error(error)
                self._reset_assignments(group, reason, settled, now_ms)
                self.prepare(group, f"{reason.name} while storing its assignment", settled, now_ms)
            return settled.completions

        result.settles.append(settle)

    def _reset_assignments(self, group: ClassicGroup, error: ErrorCode, result: Result, now_ms: int) -> None:
        for member in group.members.values():
            member.assignment = NO_ASSIGNMENT
        self._propagate(group, error, result, now_ms)

    def _propagate(self, group: ClassicGroup, error: ErrorCode, result: Result, now_ms: int) -> None:
        for member in group.members.values():
            if group.complete_sync(member, sync_response(group, member, error), result):
                # Its session may have run out unnoticed while it waited.
                self.keep_alive(group, member, now_ms)


def sync_response(group: ClassicGroup, member: Member, error: ErrorCode = ErrorCode.NONE) -> SyncGroupResponse:
    if error is not ErrorCode.NONE:
        return SyncGroupResponse(error_code=error)
    return SyncGroupResponse(
        protocol_type=group.protocol_type, protocol_name=group.protocol_name, assignment=member.assignment
    )
