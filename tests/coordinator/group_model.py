"""A simple model of the group coordinator's promises, and a driver that holds the coordinator to them at every answer.

The model follows two things and nothing else: which requests were acknowledged, in which order, and what is in the log. From
the first it knows every committed offset; from the second which generation and assignment a member may have been told.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from headrace.coordinator.group import ClassicGroup, GroupState
from headrace.coordinator.records import decode
from headrace.coordinator.result import Result
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse
from headrace.wire.messages.leave_group import LeaveGroupRequest
from headrace.wire.messages.offset_commit import OffsetCommitRequest
from headrace.wire.messages.offset_delete import OffsetDeleteRequest
from headrace.wire.messages.sync_group import SyncGroupRequest
from headrace.wire.messages.txn_offset_commit import TxnOffsetCommitRequest
from headrace.wire.records.group import GroupMetadataKey, GroupMetadataValue, OffsetCommitKey, OffsetCommitValue
from tests.coordinator.driver import Caller, Driver, Marker, Ticket

Key = tuple[str, str, int]
"""Group, topic, partition."""


class Put(NamedTuple):
    place: int
    offset: int
    at_ms: int
    topic_id: bytes


@dataclass
class OffsetModel:
    """What is committed and what open transactions hold, after every acknowledged request so far."""

    committed: dict[Key, Put] = field(default_factory=dict)
    pending: dict[int, dict[Key, Put]] = field(default_factory=dict)
    place: int = 0

    def put(self, key: Key, offset: int, at_ms: int, topic_id: bytes, producer: int | None = None) -> None:
        self.place += 1
        target = self.committed if producer is None else self.pending.setdefault(producer, {})
        target[key] = Put(self.place, offset, at_ms, topic_id)

    def end(self, producer: int, commit: bool) -> None:
        for key, put in self.pending.pop(producer, {}).items():
            known = self.committed.get(key)
            if commit and (known is None or put.place > known.place):
                self.committed[key] = put

    def delete(self, gone: Callable[[Key, Put], bool]) -> None:
        for offsets in (self.committed, *self.pending.values()):
            for key in [key for key, put in offsets.items() if gone(key, put)]:
                del offsets[key]

    def is_pending(self, key: Key) -> bool:
        return any(key in offsets for offsets in self.pending.values())


@dataclass(eq=False)
class Founding:
    """One group from its founding to its end, or to a crash."""

    group: ClassicGroup
    newest: int = 0
    """The newest generation that anybody was told of."""
    leaders: dict[int, str] = field(default_factory=dict)
    assigned: dict[int, list[dict[str, bytes]]] = field(default_factory=dict)
    """Generation → what its leader brought, each time it did."""
    gone: set[str] = field(default_factory=set)
    """Member ids whose end was acknowledged."""


class ModelDriver(Driver):
    """A driver that checks each answer when it is given, and each record when it is written."""

    def __init__(self, **config: int) -> None:
        self.offsets = OffsetModel()
        self.stored: dict[str, GroupMetadataValue | None] = {}
        """Groups that the log knows, each with its last record."""
        self.foundings: dict[str, Founding] = {}
        self.waiting: dict[Ticket, int] = {}
        """Requests without an answer, with the time they came."""
        self.read = 0
        self.all_foundings: list[Founding] = []
        super().__init__(**config)

    # Requests

    def _submit(self, entry: Any, request: Any, version: int, **caller: Any) -> Ticket:
        ticket = Ticket(request=request)
        self.waiting[ticket] = self.now_ms
        result = entry(request, Caller(version, **caller), ticket, self.now_ms)
        if result.records and isinstance(request, OffsetCommitRequest | TxnOffsetCommitRequest):
            self._check_committer(request)
        if isinstance(request, SyncGroupRequest) and result.records:
            self._check_assigner(request)
        self._carry_out(result)
        return ticket

    def delete_topic(self, name: str, topic_id: bytes) -> None:
        """Its offsets go, but for partitions with an offset of another topic of that name, there or on its way."""
        result = self.coordinator.on_topics_deleted([(name, topic_id)])
        ids = bytes(16), topic_id
        puts = [
            *self.offsets.committed.items(),
            *(each for all_ in self.offsets.pending.values() for each in all_.items()),
        ]
        others = {key for key, put in puts if put.topic_id not in ids}
        for held in self.held:
            for record in held.records if isinstance(held, Result) else []:
                if isinstance(record.value, OffsetCommitValue) and record.value.topic_id not in ids:
                    others.add((record.key.group, record.key.topic, record.key.partition))
        self._then(result, lambda: self.offsets.delete(lambda key, put: key[1] == name and key not in others))
        self._carry_out(result)

    def advance(self, ms: int) -> None:
        end = self.now_ms + ms
        while (deadline := self.coordinator.next_deadline_ms()) is not None and deadline <= end:
            self.now_ms = max(self.now_ms, deadline)
            result = self.coordinator.on_timer(self.now_ms)
            self._expect_expiry(result)
            self._carry_out(result)
        self.now_ms = end

    @staticmethod
    def _then(result: Result, effect: Callable[[], None]) -> None:
        """Have the effect when the records are written."""
        result.settles.append(lambda error, now_ms: effect() or [] if error is ErrorCode.NONE else [])

    # Writing

    def _append(self, result: Result | Marker) -> None:
        super()._append(result)
        self.read_log()

    def release_some(self, count: int) -> None:
        """The oldest appends under way come to their end, the others wait on, unless it is a bad end for all."""
        if self.fail_with is not None:
            count = len(self.held)
        first, self.held = self.held[:count], self.held[count:]
        for result in first:
            self._append(result)

    def crash(self, written: int) -> None:
        """Lose everything but the log, which got some of what was under way. Nobody hears of that."""
        self.fail_with = self.refuse_with = None
        self.release_some(written)
        self.held, self.hold = [], False
        self.waiting.clear()
        self.foundings.clear()
        self.restart()

    def read_log(self) -> None:
        entries, self.read = self.log[self.read :], len(self.log)
        for entry in entries:
            if isinstance(entry, Marker):
                self.offsets.end(entry.producer_id, entry.commit)
                continue
            record = decode(entry[0], entry[1])
            assert record is not None
            if isinstance(record.key, OffsetCommitKey):
                if record.value is not None:
                    self.stored.setdefault(record.key.group, None)
            elif record.value is None:
                self.stored.pop(record.key.group, None)
            else:
                assert isinstance(record.key, GroupMetadataKey) and isinstance(record.value, GroupMetadataValue)
                self._check_record(record.key.group, record.value)
                self.stored[record.key.group] = record.value

    def _check_record(self, group_id: str, value: GroupMetadataValue) -> None:
        """Generations grow, and one generation has one assignment, which its leader brought."""
        before = self.stored.get(group_id)
        if before is not None:
            assert value.generation >= before.generation, "a generation came back"
            assert value.members or not before.members or value.generation > before.generation
        if not value.members:
            return
        assert value.leader in [each.member_id for each in value.members]
        if before is not None and before.members and before.generation == value.generation:
            assert _by_identity(value) == _by_identity(before), "one generation, two assignments"
            return
        brought = [
            given for founding in self._foundings_of(group_id) for given in founding.assigned.get(value.generation, [])
        ]
        stored = {each.member_id: each.assignment for each in value.members}
        assert any(stored == {each: given.get(each, b"") for each in stored} for given in brought), (
            "nobody's assignment"
        )

    def _foundings_of(self, group_id: str) -> list[Founding]:
        return [each for each in self.all_foundings if each.group.group_id == group_id]

    # Answers

    def answered(self, ticket: Ticket) -> None:
        self.read_log()
        came_ms = self.waiting.pop(ticket)
        request, response = ticket.request, ticket.response
        if isinstance(request, JoinGroupRequest):
            self._check_join(request, response)
        elif isinstance(request, SyncGroupRequest):
            self._check_sync(request, response)
        elif isinstance(request, OffsetCommitRequest | TxnOffsetCommitRequest):
            producer = request.producer_id if isinstance(request, TxnOffsetCommitRequest) else None
            for topic, answers in zip(request.topics, response.topics, strict=True):
                topic_id = bytes(16) if producer is not None else topic.topic_id  # type: ignore[union-attr]
                for each, answer in zip(topic.partitions, answers.partitions, strict=True):
                    if answer.error_code == 0:
                        key = request.group_id, topic.name, each.partition_index
                        self.offsets.put(key, each.committed_offset, came_ms, topic_id, producer)
        elif isinstance(request, OffsetDeleteRequest):
            deleted = {
                (request.group_id, topic.name, each.partition_index)
                for topic in response.topics
                for each in topic.partitions
                if each.error_code == 0
            }
            self.offsets.delete(lambda key, put: key in deleted)
        elif isinstance(request, LeaveGroupRequest):
            if request.group_id in self.coordinator.groups:
                left = {each.member_id for each in response.members if each.error_code == 0}
                self.founding(request.group_id).gone |= left - {""}
        elif isinstance(request, list):
            groups = {each.group_id for each in response if each.error_code == 0}
            assert not groups & self.stored.keys()
            self.offsets.delete(lambda key, put: key[0] in groups)

    def founding(self, group_id: str) -> Founding:
        group = self.coordinator.groups[group_id]
        known = self.foundings.get(group_id)
        if known is None or known.group is not group:
            known = self.foundings[group_id] = Founding(group)
            self.all_foundings.append(known)
        return known

    def _check_join(self, request: JoinGroupRequest, response: JoinGroupResponse) -> None:
        if response.error_code:
            assert not response.members and response.generation_id == -1
            return
        founding, generation = self.founding(request.group_id), response.generation_id
        stored = self.stored.get(request.group_id)
        assert generation >= max(founding.newest, stored.generation if stored is not None else 0), "generations grow"
        founding.newest = generation
        assert request.member_id in ("", response.member_id) and response.member_id not in founding.gone
        assert response.protocol_name in [each.name for each in request.protocols]
        if response.leader == response.member_id and not response.skip_assignment:
            leader = founding.leaders.setdefault(generation, response.member_id)
            assert leader == response.member_id, "two leaders"
            offered = {each.name: each.metadata for each in request.protocols}
            (own,) = [each for each in response.members if each.member_id == response.member_id]
            assert own.metadata == offered[str(response.protocol_name)]
        elif not response.skip_assignment:
            assert not response.members, "only the leader needs to know the members"

    def _check_sync(self, request: SyncGroupRequest, response: Any) -> None:
        if response.error_code:
            assert response.assignment == b""
            return
        stored = self.stored[request.group_id]
        assert stored is not None and stored.generation == request.generation_id, "not the stored generation"
        (own,) = [each for each in stored.members if each.member_id == request.member_id]
        assert response.assignment == own.assignment, "not the stored assignment"

    # Who may

    def is_current(self, group_id: str, member_id: str, generation: int) -> bool:
        """Whether a member of this generation may still be one, as far as anybody was told."""
        group = self.coordinator.groups.get(group_id)
        if group is None:
            return False
        founding, stored = self.founding(group_id), self.stored.get(group_id)
        newest = max(founding.newest, stored.generation if stored is not None else 0)
        return generation >= newest and member_id not in founding.gone

    def _check_committer(self, request: OffsetCommitRequest | TxnOffsetCommitRequest) -> None:
        if isinstance(request, TxnOffsetCommitRequest):
            generation = request.generation_id
        else:
            generation = request.generation_id_or_member_epoch
        state = self.coordinator.describe_group(request.group_id, 5).group_state
        if generation >= 0:
            assert self.is_current(request.group_id, request.member_id, generation), "a commit of somebody fenced"
            assert isinstance(request, TxnOffsetCommitRequest) or state != GroupState.COMPLETING_REBALANCE.value
        elif isinstance(request, OffsetCommitRequest):
            assert state in (GroupState.EMPTY.value, GroupState.DEAD.value), "a stranger among members"

    def _check_assigner(self, request: SyncGroupRequest) -> None:
        founding = self.founding(request.group_id)
        assert founding.leaders[request.generation_id] == request.member_id, "only the leader assigns"
        given = {each.member_id: each.assignment for each in request.assignments}
        founding.assigned.setdefault(request.generation_id, []).append(given)

    # Expiry

    def _expect_expiry(self, result: Result) -> None:
        """Offsets may only go when they are old, no transaction holds them, and nobody subscribes to them."""
        decided_ms = self.now_ms
        offsets, groups, empty_since = set(), set(), {}
        for record in result.records:
            if record.value is None and isinstance(record.key, OffsetCommitKey):
                offsets.add((record.key.group, record.key.topic, record.key.partition))
            elif record.value is None:
                groups.add(record.key.group)
        for key in offsets:
            group = self.coordinator.groups[key[0]]
            assert group.protocol_type is None or group.in_state(GroupState.EMPTY, GroupState.STABLE)
            assert group.state is not GroupState.STABLE or not group.is_subscribed_to(key[1])
            assert not self.offsets.is_pending(key)
            if group.protocol_type is not None and group.state is GroupState.EMPTY:
                empty_since[key] = group.state_timestamp_ms
        for name in groups:
            assert self.coordinator.groups[name].state is GroupState.EMPTY
            assert not any(key[0] == name and key not in offsets for key in self.offsets.committed)

        def expire() -> None:
            for key in offsets & self.offsets.committed.keys():
                age_ms = decided_ms - empty_since.get(key, self.offsets.committed[key].at_ms)
                assert age_ms >= self.config.offsets_retention_ms, "an offset expired early"
            self.offsets.delete(lambda key, put: key in offsets)

        if offsets:
            self._then(result, expire)

    def restart(self) -> None:
        self.all_foundings = []
        super().restart()


def _by_identity(value: GroupMetadataValue) -> dict[str, bytes]:
    """Assignments by group.instance.id, which outlives member ids, or by member id."""
    return {each.group_instance_id or each.member_id: each.assignment for each in value.members}
