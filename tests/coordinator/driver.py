"""A coordinator with a log in memory and a clock in a variable, driven by short calls.

Every request returns a `Ticket`; its response is there at once or after whatever the group waits for.
"""

from __future__ import annotations

import itertools
import struct
from dataclasses import dataclass
from typing import Any, NamedTuple

from headrace.coordinator.config import GroupConfig
from headrace.coordinator.coordinator import GroupCoordinator
from headrace.coordinator.group import ClassicGroup
from headrace.coordinator.records import GroupRecord, decode
from headrace.coordinator.result import Result
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.heartbeat import HeartbeatRequest
from headrace.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from headrace.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from headrace.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from headrace.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from headrace.wire.messages.offset_fetch import OffsetFetchRequestGroup, OffsetFetchRequestTopics
from headrace.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from headrace.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)

START_MS = 1_700_000_000_000


class Marker(NamedTuple):
    """The end of a producer's transaction in the log."""

    producer_id: int
    commit: bool


@dataclass(frozen=True)
class Caller:
    api_version: int
    client_id: str | None = "client"
    client_host: str = "10.0.0.1"


@dataclass(eq=False)
class Ticket:
    """One request: `response` is None while it waits."""

    response: Any = None
    answers: int = 0
    request: Any = None

    @property
    def error(self) -> ErrorCode:
        assert self.response is not None, "the request still waits"
        return ErrorCode(self.response.error_code)


def subscription(*topics: str, version: int = 1) -> bytes:
    """The metadata that a consumer sends with its assignor."""
    names = b"".join(struct.pack(">h", len(name.encode())) + name.encode() for name in topics)
    return struct.pack(">hi", version, len(topics)) + names + struct.pack(">ii", -1, 0)


class Driver:
    """`log` holds what was appended, as bytes; `fail_with` makes appends fail; `hold` keeps them under way.

    As in a partition, an append is either refused before it begins (`refuse_with`), whatever else is under way, or it
    fails with everything behind it, because a log takes nothing more after a write that failed.
    """

    def __init__(self, **config: int) -> None:
        self.config = GroupConfig(**config)
        self.now_ms = START_MS
        self.log: list[tuple[bytes, bytes | None] | tuple[bytes, bytes | None, int] | Marker] = []
        self.fail_with: ErrorCode | None = None
        self.refuse_with: ErrorCode | None = None
        self.hold = False
        self.held: list[Result | Marker] = []
        self._ids = itertools.count(1)
        self.coordinator = self._new_coordinator()
        self.coordinator.on_loaded(self.now_ms)

    def _new_coordinator(self) -> GroupCoordinator:
        return GroupCoordinator(self.config, new_id=lambda: f"id{next(self._ids)}")

    # What the shell does

    def _carry_out(self, result: Result) -> None:
        self._send(result.completions)
        if result.records and self.refuse_with is not None:
            self._send(self.coordinator.settle(result, self.refuse_with, self.now_ms))
        elif result.records and self.hold:
            self.held.append(result)
        else:
            self._append(result)

    def _append(self, result: Result | Marker) -> None:
        if isinstance(result, Marker):
            if self.fail_with is None:
                self.log.append(result)
                self.coordinator.replay_marker(*result)
            return
        error = (self.fail_with or ErrorCode.NONE) if result.records else ErrorCode.NONE
        if error is ErrorCode.NONE and result.producer_id >= 0:
            self.log += [(*record.encode(), result.producer_id) for record in result.records]
        elif error is ErrorCode.NONE:
            self.log += [record.encode() for record in result.records]
        self._send(self.coordinator.settle(result, error, self.now_ms))

    def release(self) -> None:
        """Let the appends under way come to their end."""
        self.hold = False
        held, self.held = self.held, []
        for result in held:
            self._append(result)

    def _send(self, completions: list[tuple[object, Any]]) -> None:
        for ticket, response in completions:
            assert isinstance(ticket, Ticket)
            ticket.response = response
            ticket.answers += 1
            assert ticket.answers == 1, "a request was answered twice"
            self.answered(ticket)

    def answered(self, ticket: Ticket) -> None:
        """A request has its answer."""

    def _submit(self, entry: Any, request: Any, version: int, **caller: Any) -> Ticket:
        ticket = Ticket(request=request)
        self._carry_out(entry(request, Caller(version, **caller), ticket, self.now_ms))
        return ticket

    # Time

    def advance(self, ms: int) -> None:
        """Let time pass, stopping at every deadline on the way as the shell would."""
        end = self.now_ms + ms
        while (deadline := self.coordinator.next_deadline_ms()) is not None and deadline <= end:
            self.now_ms = max(self.now_ms, deadline)
            self._carry_out(self.coordinator.on_timer(self.now_ms))
        self.now_ms = end

    def restart(self) -> None:
        """Crash, and load what the log holds."""
        self.coordinator = self._new_coordinator()
        for entry in self.log:
            if isinstance(entry, Marker):
                self.coordinator.replay_marker(*entry)
            elif (record := decode(entry[0], entry[1])) is not None:
                self.coordinator.replay(record, self.now_ms, entry[2] if len(entry) > 2 else -1)
        self.coordinator.on_loaded(self.now_ms)

    @property
    def records(self) -> list[GroupRecord]:
        decoded = [decode(entry[0], entry[1]) for entry in self.log if not isinstance(entry, Marker)]
        return [record for record in decoded if record is not None]

    def group(self, group_id: str = "g") -> ClassicGroup:
        return self.coordinator.groups[group_id]

    # Requests

    def join(
        self,
        member_id: str = "",
        *,
        group: str = "g",
        instance: str | None = None,
        protocols: dict[str, bytes] | None = None,
        protocol_type: str = "consumer",
        session_ms: int = 10_000,
        rebalance_ms: int = 30_000,
        version: int = 9,
        **caller: Any,
    ) -> Ticket:
        offered = {"range": subscription("t")} if protocols is None else protocols
        request = JoinGroupRequest(
            group_id=group,
            member_id=member_id,
            group_instance_id=instance,
            protocol_type=protocol_type,
            protocols=[JoinGroupRequestProtocol(name=name, metadata=data) for name, data in offered.items()],
            session_timeout_ms=session_ms,
            rebalance_timeout_ms=rebalance_ms if version else -1,
        )
        return self._submit(self.coordinator.on_join_group, request, version, **caller)

    def join_twice(self, **options: Any) -> tuple[str, Ticket]:
        """A new dynamic member: get an id, join with it."""
        first = self.join(**options)
        assert first.error is ErrorCode.MEMBER_ID_REQUIRED
        member_id = first.response.member_id
        return member_id, self.join(member_id, **options)

    def sync(
        self,
        member_id: str,
        generation: int,
        assignments: dict[str, bytes] | None = None,
        *,
        group: str = "g",
        instance: str | None = None,
        protocol_type: str | None = "consumer",
        protocol: str | None = "range",
        version: int = 5,
    ) -> Ticket:
        request = SyncGroupRequest(
            group_id=group,
            member_id=member_id,
            group_instance_id=instance,
            generation_id=generation,
            protocol_type=protocol_type,
            protocol_name=protocol,
            assignments=[
                SyncGroupRequestAssignment(member_id=each, assignment=data)
                for each, data in (assignments or {}).items()
            ],
        )
        return self._submit(self.coordinator.on_sync_group, request, version)

    def heartbeat(self, member_id: str, generation: int, *, group: str = "g", instance: str | None = None) -> ErrorCode:
        request = HeartbeatRequest(
            group_id=group, member_id=member_id, generation_id=generation, group_instance_id=instance
        )
        return ErrorCode(self.coordinator.heartbeat(request, self.now_ms).error_code)

    def leave(self, *members: str | tuple[str, str | None], group: str = "g", version: int = 5) -> Ticket:
        if version < 3:
            request = LeaveGroupRequest(group_id=group, member_id=str(members[0]))
        else:
            pairs = [each if isinstance(each, tuple) else (each, None) for each in members]
            identities = [MemberIdentity(member_id=each, group_instance_id=instance) for each, instance in pairs]
            request = LeaveGroupRequest(group_id=group, members=identities)
        return self._submit(self.coordinator.on_leave_group, request, version)

    def commit(
        self,
        offsets: dict[tuple[str, int], int],
        *,
        group: str = "g",
        member_id: str = "",
        generation: int = -1,
        instance: str | None = None,
        metadata: str | None = "",
        epoch: int = -1,
        retention_ms: int = -1,
        topic_id: bytes = bytes(16),
        version: int = 9,
    ) -> Ticket:
        topics: dict[str, list[OffsetCommitRequestPartition]] = {}
        for (topic, index), offset in offsets.items():
            partition = OffsetCommitRequestPartition(
                partition_index=index,
                committed_offset=offset,
                committed_metadata=metadata,
                committed_leader_epoch=epoch,
            )
            topics.setdefault(topic, []).append(partition)
        request = OffsetCommitRequest(
            group_id=group,
            member_id=member_id,
            generation_id_or_member_epoch=generation,
            group_instance_id=instance,
            retention_time_ms=retention_ms,
            topics=[
                OffsetCommitRequestTopic(name=name, topic_id=topic_id, partitions=partitions)
                for name, partitions in topics.items()
            ],
        )
        return self._submit(self.coordinator.on_offset_commit, request, version)

    def txn_commit(
        self,
        offsets: dict[tuple[str, int], int],
        *,
        producer: int = 7,
        group: str = "g",
        member_id: str = "",
        generation: int = -1,
        instance: str | None = None,
        metadata: str | None = "",
        version: int = 4,
    ) -> Ticket:
        topics: dict[str, list[TxnOffsetCommitRequestPartition]] = {}
        for (topic, index), offset in offsets.items():
            partition = TxnOffsetCommitRequestPartition(
                partition_index=index, committed_offset=offset, committed_metadata=metadata
            )
            topics.setdefault(topic, []).append(partition)
        request = TxnOffsetCommitRequest(
            transactional_id="x",
            group_id=group,
            producer_id=producer,
            producer_epoch=0,
            generation_id=generation,
            member_id=member_id,
            group_instance_id=instance,
            topics=[TxnOffsetCommitRequestTopic(name=name, partitions=each) for name, each in topics.items()],
        )
        return self._submit(self.coordinator.on_txn_offset_commit, request, version)

    def end_transaction(self, commit: bool, producer: int = 7) -> None:
        """A marker goes into the log, after what is on its way there."""
        marker = Marker(producer, commit)
        if self.hold:
            self.held.append(marker)
        else:
            self._append(marker)

    def is_unstable(self, topic: str = "t", partition: int = 0, *, group: str = "g") -> bool:
        """Whether OffsetFetch refuses a reader that wants stable offsets."""
        topics = [OffsetFetchRequestTopics(name=topic, partition_indexes=[partition])]
        response = self.coordinator.fetch_offsets(OffsetFetchRequestGroup(group_id=group, topics=topics), True)
        (answer,) = response.topics[0].partitions
        assert answer.error_code in (ErrorCode.NONE, ErrorCode.UNSTABLE_OFFSET_COMMIT)
        return answer.error_code == ErrorCode.UNSTABLE_OFFSET_COMMIT

    def committed(self, topic: str = "t", partition: int = 0, *, group: str = "g", topic_id: bytes = bytes(16)) -> int:
        """One committed offset, as OffsetFetch answers it."""
        topics = [OffsetFetchRequestTopics(name=topic, topic_id=topic_id, partition_indexes=[partition])]
        response = self.coordinator.fetch_offsets(OffsetFetchRequestGroup(group_id=group, topics=topics))
        assert response.error_code == 0
        return response.topics[0].partitions[0].committed_offset

    def delete_offsets(self, topic: str, *partitions: int, group: str = "g") -> Ticket:
        indexes = [OffsetDeleteRequestPartition(partition_index=index) for index in partitions]
        request = OffsetDeleteRequest(group_id=group, topics=[OffsetDeleteRequestTopic(name=topic, partitions=indexes)])
        return self._submit(self.coordinator.on_offset_delete, request, 0)

    def delete_groups(self, *groups: str) -> dict[str, ErrorCode]:
        ticket = self._submit(self.coordinator.on_delete_groups, list(groups), 2)
        return {each.group_id: ErrorCode(each.error_code) for each in ticket.response}

    def delete_topics(self, *topics: tuple[str, bytes]) -> None:
        self._carry_out(self.coordinator.on_topics_deleted(topics))

    # Whole rebalances

    def stable(self, count: int = 1, *, group: str = "g", **options: Any) -> list[str]:
        """A group with `count` new dynamic members, in its first generation, the leader first."""
        joined = [self.join_twice(group=group, **options) for _ in range(count)]
        self.advance(self.config.initial_rebalance_delay_ms * (count + 1))
        generation = joined[0][1].response.generation_id
        ids = [member_id for member_id, _ in joined]
        assignments = {member_id: member_id.encode() for member_id in ids}
        for member_id, ticket in reversed(joined):
            assert ticket.error is ErrorCode.NONE
            given = assignments if member_id == ids[0] else None
            synced = self.sync(member_id, generation, given, group=group, protocol=None, protocol_type=None, version=4)
            assert synced.response is None or synced.error is ErrorCode.NONE
        return ids
