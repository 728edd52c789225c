"""A classic group: its state, its members, and the counts that say when a phase of a rebalance is over.

    Empty ──join──► PreparingRebalance ──all joined, or time is up──► CompletingRebalance ──leader's sync──► Stable
      ▲                 │       ▲                                          │                                   │
      └──nobody left────┘       └──── a member joins, leaves, fails, or changes its subscription ──────────────┘

This class keeps itself consistent and decides nothing about time; `rebalance.py` moves it along.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from enum import Enum

from headrace.coordinator.member import NO_ASSIGNMENT, Member, Protocols
from headrace.coordinator.result import Result, Token
from headrace.coordinator.subscription import subscribed_topics
from headrace.coordinator.timers import Timer
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.join_group import JoinGroupResponse, JoinGroupResponseMember
from headrace.wire.messages.sync_group import SyncGroupResponse

CONSUMER_PROTOCOL_TYPE = "consumer"
UNKNOWN_MEMBER_ID = ""


class GroupState(Enum):
    """Kafka's names, as clients see them."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


_MAY_FOLLOW = {
    GroupState.EMPTY: {GroupState.PREPARING_REBALANCE},
    GroupState.PREPARING_REBALANCE: {GroupState.STABLE, GroupState.COMPLETING_REBALANCE, GroupState.EMPTY},
    GroupState.COMPLETING_REBALANCE: {GroupState.PREPARING_REBALANCE},
    GroupState.STABLE: {GroupState.COMPLETING_REBALANCE},
    GroupState.DEAD: set(GroupState),
}


class ClassicGroup:
    """One group. Members keep the order in which they joined."""

    __slots__ = (
        "assigned_generation",
        "awaiting_join",
        "generation_id",
        "group_id",
        "is_being_deleted",
        "join_timer",
        "leader_id",
        "members",
        "new_member_added",
        "offsets_stored",
        "pending_joins",
        "pending_syncs",
        "previous_state",
        "protocol_name",
        "protocol_type",
        "state",
        "state_timestamp_ms",
        "static_members",
        "subscribed_topics",
        "supported",
        "sync_timer",
        "taken_over",
    )

    def __init__(self, group_id: str, state_timestamp_ms: int) -> None:
        self.group_id = group_id
        self.state = GroupState.EMPTY
        self.previous_state = GroupState.DEAD
        self.state_timestamp_ms = state_timestamp_ms
        """Since when the group is in its state; -1 when an old record did not say."""
        self.protocol_type: str | None = None
        self.protocol_name: str | None = None
        self.generation_id = 0
        self.assigned_generation = -1
        """The last generation whose assignment the leader has brought, though it may not be in the log yet."""
        self.leader_id: str | None = None
        self.members: dict[str, Member] = {}
        self.static_members: dict[str, str] = {}
        """group.instance.id → member id."""
        self.pending_joins: dict[str, Timer] = {}
        """Ids given out with MEMBER_ID_REQUIRED whose owners have not come back yet."""
        self.pending_syncs: set[str] = set()
        self.awaiting_join = 0
        self.supported: Counter[str] = Counter()
        """Protocol → how many members can follow it."""
        self.subscribed_topics: set[str] | None = None
        """None while it is not known, because the group is no consumer group or its metadata does not parse."""
        self.new_member_added = False
        self.is_being_deleted = False
        """Its tombstone is on its way to the log: nobody may join until that has ended."""
        self.offsets_stored = False
        """An offset of it has come into the log, which makes it a group whoever joins."""
        self.taken_over: set[str] = set()
        """group.instance.ids whose new member id is on its way to the log."""
        self.join_timer: Timer | None = None
        self.sync_timer: Timer | None = None

    def in_state(self, *states: GroupState) -> bool:
        return self.state in states

    @property
    def can_rebalance(self) -> bool:
        return self.state in _MAY_FOLLOW[GroupState.PREPARING_REBALANCE]

    @property
    def has_all_members_joined(self) -> bool:
        return len(self.members) == self.awaiting_join and not self.pending_joins

    @property
    def uses_consumer_protocol(self) -> bool:
        return self.protocol_type == CONSUMER_PROTOCOL_TYPE

    @property
    def rebalance_timeout_ms(self) -> int:
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    def transition_to(self, state: GroupState, now_ms: int) -> None:
        assert self.state in _MAY_FOLLOW[state], f"group {self.group_id}: {state} cannot follow {self.state}"
        self.previous_state = self.state
        self.state = state
        self.state_timestamp_ms = now_ms

    # Members

    def add(self, member: Member, token: Token | None) -> None:
        if member.group_instance_id is not None:
            assert member.group_instance_id not in self.static_members
            self.static_members[member.group_instance_id] = member.member_id
        if not self.members:
            self.protocol_type = member.protocol_type
        if self.leader_id is None:
            self.leader_id = member.member_id
        self.members[member.member_id] = member
        self.supported.update(member.protocols.keys())
        pending = self.pending_joins.pop(member.member_id, None)
        if pending is not None:
            pending.cancel()
        self.await_join(member, token)

    def remove(self, member_id: str) -> None:
        """Forget a member or a pending one, and what counts on it."""
        member = self.members.pop(member_id, None)
        if member is not None:
            self.supported.subtract(member.protocols.keys())
            self.awaiting_join -= member.join_token is not None
            if member.group_instance_id is not None:
                self.static_members.pop(member.group_instance_id, None)
            if member.session is not None:
                member.session.cancel()
        if not self.members:
            self.supported.clear()
        if self.leader_id == member_id:
            self.leader_id = next(iter(self.members), None)
        pending = self.pending_joins.pop(member_id, None)
        if pending is not None:
            pending.cancel()
        self.pending_syncs.discard(member_id)

    def update(
        self,
        member: Member,
        protocols: Protocols,
        *,
        rebalance_timeout_ms: int,
        session_timeout_ms: int,
    ) -> None:
        """A member came with a new JoinGroup."""
        self.supported.subtract(member.protocols.keys())
        member.protocols = protocols
        self.supported.update(protocols.keys())
        member.rebalance_timeout_ms = rebalance_timeout_ms
        member.session_timeout_ms = session_timeout_ms

    def replace_static_member(self, instance_id: str, new_id: str, result: Result) -> Member:
        """A new process took over a group.instance.id: it gets everything of the old one, which is fenced."""
        old_id = self.static_members[instance_id]
        old = self.members.pop(old_id)
        self.complete_join(
            old,
            JoinGroupResponse(
                member_id=old_id, error_code=ErrorCode.FENCED_INSTANCE_ID, protocol_name=None, protocol_type=None
            ),
            result,
        )
        self.complete_sync(old, SyncGroupResponse(error_code=ErrorCode.FENCED_INSTANCE_ID), result)
        if old.session is not None:
            old.session.cancel()
        new = old.renamed(new_id)
        self.members[new_id] = new
        self.static_members[instance_id] = new_id
        if self.leader_id == old_id:
            self.leader_id = new_id
        if old_id in self.pending_syncs:
            self.pending_syncs.remove(old_id)
            self.pending_syncs.add(new_id)
        return new

    def check_member(self, member_id: str, instance_id: str | None) -> ErrorCode:
        """Whether these ids name a member: NONE, UNKNOWN_MEMBER_ID, or FENCED_INSTANCE_ID for a replaced static one."""
        if instance_id is not None:
            current = self.static_members.get(instance_id)
            if current is None:
                return ErrorCode.UNKNOWN_MEMBER_ID
            if current != member_id:
                return ErrorCode.FENCED_INSTANCE_ID
        return ErrorCode.NONE if member_id in self.members else ErrorCode.UNKNOWN_MEMBER_ID

    # Waiting requests

    def await_join(self, member: Member, token: Token | None) -> None:
        self.awaiting_join += (token is not None) - (member.join_token is not None)
        member.join_token = token

    def complete_join(self, member: Member, response: JoinGroupResponse, result: Result) -> None:
        """Answer the member's JoinGroup, if one waits."""
        if member.join_token is not None:
            result.complete(member.join_token, response)
            self.await_join(member, None)

    def complete_sync(self, member: Member, response: SyncGroupResponse, result: Result) -> bool:
        """Answer the member's SyncGroup, if one waits; says whether it did."""
        if member.sync_token is None:
            return False
        result.complete(member.sync_token, response)
        member.sync_token = None
        return True

    # Generations

    def elect_joined_leader(self) -> bool:
        """Make sure that the leader is among those who joined; False when nobody did, or the group is empty."""
        if self.leader_id is None:
            return False
        if self.members[self.leader_id].join_token is not None:
            return True
        for member in self.members.values():
            if member.join_token is not None:
                self.leader_id = member.member_id
                return True
        return False

    def start_next_generation(self, now_ms: int) -> None:
        self.generation_id += 1
        self.protocol_name = self.select_protocol() if self.members else None
        self.subscribed_topics = self.compute_subscribed_topics()
        self.transition_to(GroupState.COMPLETING_REBALANCE if self.members else GroupState.EMPTY, now_ms)
        self.pending_syncs.clear()

    def take_assignment(self, generation_id: int, assignments: Mapping[str, bytes], now_ms: int) -> None:
        """The leader's assignment is in the log. A group that has moved on since then does not want it any more, and one
        that was founded anew has the same generations with other members."""
        is_awaited = self.state is GroupState.COMPLETING_REBALANCE and self.generation_id == generation_id
        if is_awaited and self.members.keys() == assignments.keys():
            for member in self.members.values():
                member.assignment = assignments.get(member.member_id, NO_ASSIGNMENT)
            self.transition_to(GroupState.STABLE, now_ms)

    def supports(self, protocol_type: str, protocols: Iterable[str]) -> bool:
        """Whether a member with these protocols can be in this group."""
        if self.state is GroupState.EMPTY:
            return bool(protocol_type) and any(True for _ in protocols)
        return self.protocol_type == protocol_type and any(
            self.supported[name] == len(self.members) for name in protocols
        )

    def select_protocol(self) -> str:
        """The protocol with the most votes among those that every member can follow."""
        candidates = {name for name, count in self.supported.items() if count == len(self.members)}
        votes = Counter(member.vote(candidates) for member in self.members.values())
        return max(votes, key=votes.__getitem__)

    def compute_subscribed_topics(self) -> set[str] | None:
        if not self.uses_consumer_protocol:
            return None
        if not self.members:
            return set()
        if self.protocol_name is None:
            return None
        topics: set[str] = set()
        for member in self.members.values():
            parsed = subscribed_topics(member.protocols[self.protocol_name])
            if parsed is None:
                return None
            topics |= parsed
        return topics

    def is_subscribed_to(self, topic: str) -> bool:
        """A consumer group whose subscription is unknown counts as subscribed to everything."""
        if self.subscribed_topics is None:
            return self.uses_consumer_protocol
        return topic in self.subscribed_topics

    def join_response_members(self) -> list[JoinGroupResponseMember]:
        """What the leader needs to assign partitions."""
        assert self.protocol_name is not None
        return [
            JoinGroupResponseMember(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                metadata=member.protocols[self.protocol_name],
            )
            for member in self.members.values()
        ]

    def join_response(self, member_id: str) -> JoinGroupResponse:
        """The current generation as one of its members is told about it."""
        return JoinGroupResponse(
            members=self.join_response_members() if member_id == self.leader_id else [],
            member_id=member_id,
            generation_id=self.generation_id,
            protocol_name=self.protocol_name,
            protocol_type=self.protocol_type,
            leader=self.leader_id or "",
        )

    def cancel_timers(self) -> None:
        for timer in (self.join_timer, self.sync_timer, *self.pending_joins.values()):
            if timer is not None:
                timer.cancel()
        for member in self.members.values():
            if member.session is not None:
                member.session.cancel()
