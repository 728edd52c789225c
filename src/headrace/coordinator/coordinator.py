"""The group coordinator of one `__consumer_offsets` partition: requests in, records and answers out.

`replay` is the only writer of what survives a restart: offsets, the existence of groups, their assignments. What a
rebalance needs in between (who waits, who has joined) lives in the group and is gone with the process, as in Kafka.

A caller does, for every `on_...` that returns a Result: send its completions; append its records; call `settle`.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable

from headrace.coordinator import committing, expiry, membership, records
from headrace.coordinator.config import GroupConfig
from headrace.coordinator.describing import describe, listed
from headrace.coordinator.group import ClassicGroup, GroupState
from headrace.coordinator.joining import Join
from headrace.coordinator.loading import load_group
from headrace.coordinator.offsets import NO_PRODUCER_ID, Offsets
from headrace.coordinator.rebalance import Rebalancer
from headrace.coordinator.records import GroupRecord
from headrace.coordinator.result import Caller, Completion, Result, Token, coordinator_error
from headrace.coordinator.timers import Timer, Timers
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.delete_groups import DeletableGroupResult
from headrace.wire.messages.describe_groups import DescribedGroup
from headrace.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from headrace.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse
from headrace.wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity, MemberResponse
from headrace.wire.messages.list_groups import ListedGroup
from headrace.wire.messages.offset_commit import OffsetCommitRequest
from headrace.wire.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteResponse
from headrace.wire.messages.offset_fetch import OffsetFetchRequestGroup, OffsetFetchResponseGroup
from headrace.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from headrace.wire.messages.txn_offset_commit import TxnOffsetCommitRequest
from headrace.wire.records.group import GroupMetadataKey, GroupMetadataValue, OffsetCommitKey, OffsetCommitValue

BEING_DELETED = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
"""What whoever comes to a group hears while its tombstone is on its way to the log: try again."""


def _random_id() -> str:
    return str(uuid.uuid4())


class GroupCoordinator:
    """Every method takes the time in milliseconds; none of them waits."""

    def __init__(self, config: GroupConfig, new_id: Callable[[], str] = _random_id) -> None:
        self.config = config
        self.groups: dict[str, ClassicGroup] = {}
        self.offsets = Offsets()
        self.timers = Timers()
        self._rebalancer = Rebalancer(config, self.timers)
        self._new_id = new_id
        self._expiry = Timer(self._expire)
        self._loaded = False

    # Membership

    def on_join_group(self, request: JoinGroupRequest, caller: Caller, token: Token, now_ms: int) -> Result:
        error = self._check_join(request)
        if error is not ErrorCode.NONE:
            result = Result()
            result.complete(token, JoinGroupResponse(member_id=request.member_id, error_code=error))
            return result
        group = self.groups.get(request.group_id)
        is_new = group is None
        if group is None:
            group = self.groups[request.group_id] = ClassicGroup(request.group_id, now_ms)
        if caller.api_version == 0:
            request.rebalance_timeout_ms = request.session_timeout_ms
        result = Join(
            group, request, caller, token, rebalancer=self._rebalancer, new_id=self._new_id, now_ms=now_ms
        ).run()
        if is_new:
            result.records.append(records.new_group(group))
            result.settles.append(lambda error, now_ms: self._settle_new_group(group, error, now_ms))
        return result

    def _check_join(self, request: JoinGroupRequest) -> ErrorCode:
        if not request.group_id:
            return ErrorCode.INVALID_GROUP_ID
        shortest, longest = self.config.min_session_timeout_ms, self.config.max_session_timeout_ms
        if not shortest <= request.session_timeout_ms <= longest:
            return ErrorCode.INVALID_SESSION_TIMEOUT
        group = self.groups.get(request.group_id)
        if request.member_id and group is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        return BEING_DELETED if group is not None and group.is_being_deleted else ErrorCode.NONE

    def _settle_new_group(self, group: ClassicGroup, error: ErrorCode, now_ms: int) -> list[Completion]:
        """A group that could not be stored has not been founded: those who waited for it hear why. Offsets that came into
        the log meanwhile are a group all the same."""
        if error is ErrorCode.NONE or self.groups.get(group.group_id) is not group:
            return []
        completions = self._abandon(group, coordinator_error(error))
        if group.offsets_stored:
            self._group_in_log(group.group_id, now_ms)
        return completions

    def on_sync_group(self, request: SyncGroupRequest, caller: Caller, token: Token, now_ms: int) -> Result:
        group = self.groups.get(request.group_id)
        error = ErrorCode.NONE
        if not request.group_id:
            error = ErrorCode.INVALID_GROUP_ID
        elif caller.api_version >= 5 and (request.protocol_type is None or request.protocol_name is None):
            error = ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        elif group is not None:
            return membership.sync(group, request, token, self._rebalancer)
        else:
            error = ErrorCode.UNKNOWN_MEMBER_ID
        result = Result()
        result.complete(token, SyncGroupResponse(error_code=error))
        return result

    def heartbeat(self, request: HeartbeatRequest, now_ms: int) -> HeartbeatResponse:
        group = self.groups.get(request.group_id)
        if group is None:
            error = ErrorCode.UNKNOWN_MEMBER_ID if request.group_id else ErrorCode.INVALID_GROUP_ID
        else:
            error = membership.heartbeat(
                group, request.member_id, request.group_instance_id, request.generation_id, self._rebalancer, now_ms
            )
        return HeartbeatResponse(error_code=error)

    def on_leave_group(self, request: LeaveGroupRequest, caller: Caller, token: Token, now_ms: int) -> Result:
        result = Result()
        single = caller.api_version < 3
        members = [MemberIdentity(member_id=request.member_id)] if single else request.members
        group = self.groups.get(request.group_id)
        if not request.group_id:
            result.complete(token, LeaveGroupResponse(error_code=ErrorCode.INVALID_GROUP_ID))
            return result
        if group is None:
            responses = [_unknown_member(each) for each in members]
        else:
            responses = membership.leave(group, members, self._rebalancer, result, now_ms)
        if single:
            response = LeaveGroupResponse(error_code=responses[0].error_code)
        else:
            response = LeaveGroupResponse(members=responses)
        result.answer_when_written(token, response, lambda error: LeaveGroupResponse(error_code=error))
        return result

    # Offsets

    def on_offset_commit(self, request: OffsetCommitRequest, caller: Caller, token: Token, now_ms: int) -> Result:
        result = Result()
        group = self.groups.get(request.group_id)
        error = committing.check_commit(group, request, caller.api_version)
        if error is not ErrorCode.NONE:
            result.complete(token, committing.refuse_commit(request, error))
            return result
        if group is not None and group.in_state(GroupState.STABLE, GroupState.PREPARING_REBALANCE):
            self._rebalancer.keep_alive(group, group.members[request.member_id], now_ms)
        result.records, response = committing.commit(request, self.config, now_ms)
        self.offsets.begin_append(result.records)
        result.answer_when_written(token, response, lambda error: committing.refuse_commit(request, error))
        return result

    def on_txn_offset_commit(
        self, request: TxnOffsetCommitRequest, caller: Caller, token: Token, now_ms: int
    ) -> Result:
        """Offsets that wait for the end of the producer's transaction. That it is open is the shell's business."""
        result = Result(producer_id=request.producer_id, producer_epoch=request.producer_epoch)
        error = committing.check_txn_commit(self.groups.get(request.group_id), request)
        if error is not ErrorCode.NONE:
            result.complete(token, committing.refuse_txn_commit(request, error))
            return result
        result.records, response = committing.txn_commit(request, self.config, now_ms)
        self.offsets.begin_append(result.records)
        self.offsets.pending.begin_append(result.records)
        result.answer_when_written(token, response, lambda error: committing.refuse_txn_commit(request, error))
        return result

    def fetch_offsets(self, request: OffsetFetchRequestGroup, require_stable: bool = False) -> OffsetFetchResponseGroup:
        """Offsets that are in the log. A group that does not exist has committed nothing, which is no error."""
        topics = self.offsets.fetch(request.group_id, request.topics, require_stable)
        return OffsetFetchResponseGroup(group_id=request.group_id, topics=topics)

    def on_offset_delete(self, request: OffsetDeleteRequest, caller: Caller, token: Token, now_ms: int) -> Result:
        result = Result()
        group = self.groups.get(request.group_id)
        error = committing.check_delete(group) if request.group_id else ErrorCode.INVALID_GROUP_ID
        if group is None or error is not ErrorCode.NONE:
            result.complete(token, OffsetDeleteResponse(error_code=error))
            return result
        result.records, response = committing.delete(group, request, self.offsets)
        result.answer_when_written(token, response, lambda error: OffsetDeleteResponse(error_code=error))
        return result

    def on_topics_deleted(self, topics: Iterable[tuple[str, bytes]]) -> Result:
        """Topics, each by name and id, are gone: their offsets go too."""
        tombstones = [
            record for name, topic_id in topics for record in self.offsets.tombstones_of_topic(name, topic_id)
        ]
        return Result(records=tombstones, atomic=False)

    # Administration

    def describe_group(self, group_id: str, api_version: int) -> DescribedGroup:
        return describe(group_id, self.groups.get(group_id), api_version)

    def list_groups(self, states: Iterable[str], types: Iterable[str]) -> list[ListedGroup]:
        return listed(self.groups.values(), states, types)

    def on_delete_groups(self, group_ids: list[str], caller: Caller, token: Token, now_ms: int) -> Result:
        result = Result()
        responses = [DeletableGroupResult(group_id=each, error_code=self._delete(each, result)) for each in group_ids]

        def refused(error: ErrorCode) -> list[DeletableGroupResult]:
            return [DeletableGroupResult(group_id=each, error_code=error) for each in group_ids]

        result.answer_when_written(token, responses, refused)
        return result

    def _delete(self, group_id: str, result: Result) -> ErrorCode:
        group = self.groups.get(group_id)
        if group is None:
            return ErrorCode.GROUP_ID_NOT_FOUND
        if group.is_being_deleted:
            return BEING_DELETED
        if group.state is not GroupState.EMPTY:
            return ErrorCode.NON_EMPTY_GROUP
        result.records += self.offsets.tombstones(group_id)
        result.records.append(records.group_tombstone(group_id))
        self._close(group, result)
        return ErrorCode.NONE

    @staticmethod
    def _close(group: ClassicGroup, result: Result) -> None:
        """Its tombstone is among the records: nobody may join any more, unless they cannot be written."""
        group.is_being_deleted = True

        def settle(error: ErrorCode, now_ms: int) -> list[Completion]:
            group.is_being_deleted = False
            return []

        result.settles.append(settle)

    # Time

    def next_deadline_ms(self) -> int | None:
        return self.timers.next_deadline_ms()

    def on_timer(self, now_ms: int) -> Result:
        """Do what is due."""
        result = Result(atomic=False)
        for timer in self.timers.due(now_ms):
            timer.action(result, now_ms)
        return result

    def _expire(self, result: Result, now_ms: int) -> None:
        expired = expiry.expired(self.groups.values(), self.offsets, self.config.offsets_retention_ms, now_ms)
        result.records += expired
        for record in expired:
            if isinstance(record.key, GroupMetadataKey):
                self._close(self.groups[record.key.group], result)
        self.timers.schedule(self._expiry, now_ms + self.config.offsets_retention_check_interval_ms)

    def on_clock_set(self, delta_ms: int) -> None:
        """Somebody set the wall clock: nobody's session may end for that."""
        self.timers.shift(delta_ms)

    # Durable state

    def settle(self, result: Result, error: ErrorCode, now_ms: int) -> list[Completion]:
        """The append of a result ended: with NONE its records are in the log, else they are not and never will be."""
        completions: list[Completion] = []
        if result.records:
            if error is ErrorCode.NONE:
                for record in result.records:
                    self.replay(record, now_ms, result.producer_id)
            self.offsets.end_append(result.records)
            if result.producer_id != NO_PRODUCER_ID:
                self.offsets.pending.end_append(result.records)
        for settle in result.settles:
            completions += settle(error, now_ms)
        return completions

    def replay(self, record: GroupRecord, now_ms: int, producer_id: int = NO_PRODUCER_ID) -> None:
        """Take over one record of the log, while loading as well as right after its append. The records of a transaction
        come with its producer; `replay_marker` says what becomes of them."""
        key, value = record.key, record.value
        if isinstance(key, OffsetCommitKey):
            assert value is None or isinstance(value, OffsetCommitValue)
            if value is not None:
                self._group_in_log(key.group, now_ms)
            self.offsets.replay(key, value, producer_id)
        else:
            assert isinstance(key, GroupMetadataKey) and (value is None or isinstance(value, GroupMetadataValue))
            self._replay_group(key.group, value, now_ms)

    def _group_in_log(self, group_id: str, now_ms: int) -> None:
        group = self.groups.get(group_id)
        if group is None:
            group = self.groups[group_id] = ClassicGroup(group_id, now_ms)
        group.offsets_stored = True

    def replay_marker(self, producer_id: int, commit: bool) -> None:
        """A transaction's end is in the log."""
        self.offsets.end_transaction(producer_id, commit)

    def _replay_group(self, group_id: str, value: GroupMetadataValue | None, now_ms: int) -> None:
        group = self.groups.get(group_id)
        if value is None:
            if group is not None:
                self._remove(group, now_ms)
        elif group is not None and self._loaded:
            group.take_assignment(value.generation, {each.member_id: each.assignment for each in value.members}, now_ms)
        else:
            self.groups[group_id] = load_group(group_id, value)

    def _await_members(self, group: ClassicGroup, now_ms: int) -> None:
        for member in group.members.values():
            self._rebalancer.keep_alive(group, member, now_ms)

    def on_loaded(self, now_ms: int) -> None:
        """Everything is replayed: members have a session timeout from now to show up."""
        self._loaded = True
        for group_id, _ in self.offsets.groups():
            if group_id not in self.groups:
                # Apache Kafka ends a classic group that went over to a newer protocol; its offsets are as good as before.
                self._group_in_log(group_id, now_ms)
        for group in self.groups.values():
            self._await_members(group, now_ms)
            if len(group.members) > self.config.max_size:
                self._rebalancer.prepare(group, "group.max.size was lowered", Result(), now_ms)
        self.timers.schedule(self._expiry, now_ms + self.config.offsets_retention_check_interval_ms)

    def unload(self, error: ErrorCode = ErrorCode.NOT_COORDINATOR) -> list[Completion]:
        """This node stops being the coordinator: everybody who waits is told so."""
        completions = [each for group in list(self.groups.values()) for each in self._abandon(group, error)]
        self._expiry.cancel()
        return completions

    def _abandon(self, group: ClassicGroup, error: ErrorCode) -> list[Completion]:
        result = Result()
        for member in group.members.values():
            group.complete_join(member, JoinGroupResponse(member_id=member.member_id, error_code=error), result)
            group.complete_sync(member, SyncGroupResponse(error_code=error), result)
        self._remove(group, group.state_timestamp_ms)
        return result.completions

    def _remove(self, group: ClassicGroup, now_ms: int) -> None:
        """Dead, so that an append which ends after this changes nothing any more."""
        group.cancel_timers()
        group.transition_to(GroupState.DEAD, now_ms)
        del self.groups[group.group_id]


def _unknown_member(identity: MemberIdentity) -> MemberResponse:
    return MemberResponse(
        member_id=identity.member_id,
        group_instance_id=identity.group_instance_id,
        error_code=ErrorCode.UNKNOWN_MEMBER_ID,
    )
