"""Random clients against the coordinator, with crashes, slow appends and failing ones in between.

The model knows only what clients were told: which offsets were acknowledged, which assignments a leader brought. Whatever
happens, the coordinator must agree with it, be consistent in itself, and come back from its log as it was.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from headrace.coordinator.group import ClassicGroup, GroupState
from headrace.wire.errors import ErrorCode
from tests.coordinator.driver import Driver, Ticket, subscription

GROUPS = st.sampled_from(["g", "h"])
PARTITIONS = st.integers(0, 2)
PROTOCOLS = st.sampled_from(
    [
        {"range": subscription("t")},
        {"range": subscription("t"), "sticky": subscription("t")},
        {"sticky": subscription("u"), "range": subscription("u")},
    ]
)
DAY = 86_400_000


def durable(group: ClassicGroup) -> tuple[Any, ...]:
    """What must come back after a crash."""
    protocol = group.protocol_name
    members = {
        each.member_id: (
            each.group_instance_id,
            each.client_id,
            each.client_host,
            each.rebalance_timeout_ms,
            each.session_timeout_ms,
            each.protocols[protocol] if protocol is not None else None,
            each.assignment,
        )
        for each in group.members.values()
    }
    return group.state, group.generation_id, group.protocol_type, protocol, group.leader_id, members


class GroupMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.d = Driver(offsets_retention_ms=10_000 * DAY, max_size=5)
        self.offsets: dict[tuple[str, int], int] = {}
        self.commits: list[tuple[Ticket, str, int, int]] = []
        self.tickets: list[Ticket] = []
        self.joins: list[tuple[str, str | None, Ticket]] = []
        self.syncs: list[tuple[str, str, int, Ticket]] = []
        self.assigned: dict[tuple[str, int, str], set[bytes]] = {}
        self.sequence = 0
        self.has_failed = False

    # Clients

    def known_ids(self, group: str) -> list[tuple[str, str | None]]:
        """Ids that some client has been given, alive or not, with their instance."""
        ids = {
            (ticket.response.member_id, instance): None
            for name, instance, ticket in self.joins
            if name == group and ticket.response is not None and ticket.response.member_id
        }
        return list(ids)[-6:]

    def _join(self, group: str, member_id: str, instance: str | None, **options: Any) -> None:
        ticket = self.d.join(member_id, group=group, instance=instance, **options)
        self.tickets.append(ticket)
        self.joins.append((group, instance, ticket))

    @rule(group=GROUPS, protocols=PROTOCOLS, version=st.sampled_from([3, 4, 9]))
    def join_new(self, group: str, protocols: dict[str, bytes], version: int) -> None:
        self._join(group, "", None, protocols=protocols, version=version)

    @rule(group=GROUPS, protocols=PROTOCOLS, instance=st.sampled_from(["one", "two"]), version=st.sampled_from([5, 9]))
    def join_static(self, group: str, protocols: dict[str, bytes], instance: str, version: int) -> None:
        self._join(group, "", instance, protocols=protocols, version=version)

    @rule(group=GROUPS, protocols=PROTOCOLS, pick=st.randoms(use_true_random=False))
    def rejoin(self, group: str, protocols: dict[str, bytes], pick: Any) -> None:
        ids = self.known_ids(group)
        if ids:
            member_id, instance = pick.choice(ids)
            self._join(group, member_id, instance, protocols=protocols)

    @rule(group=GROUPS)
    def everybody_rejoins(self, group: str) -> None:
        found = self.d.coordinator.groups.get(group)
        for member in list(found.members.values()) if found is not None else []:
            if member.join_token is None:
                self._join(group, member.member_id, member.group_instance_id, protocols=dict(member.protocols))

    @rule(group=GROUPS)
    def everybody_syncs(self, group: str) -> None:
        found = self.d.coordinator.groups.get(group)
        for member in list(found.members.values()) if found is not None else []:
            if member.sync_token is None and found is not None:
                self._sync(group, member.member_id, member.group_instance_id, found)

    def _sync(self, group: str, member_id: str, instance: str | None, found: ClassicGroup) -> None:
        generation = found.generation_id
        leads = found.leader_id == member_id
        self.sequence += 1
        assignments = {each: f"{each}@{self.sequence}".encode() for each in found.members} if leads else {}
        if found.state is GroupState.COMPLETING_REBALANCE:
            for each, data in assignments.items():
                self.assigned.setdefault((group, generation, each), {b""}).add(data)
        ticket = self.d.sync(
            member_id, generation, assignments, group=group, instance=instance, protocol=found.protocol_name
        )
        self.tickets.append(ticket)
        self.syncs.append((group, member_id, generation, ticket))

    @rule(group=GROUPS, pick=st.randoms(use_true_random=False))
    def heartbeat(self, group: str, pick: Any) -> None:
        found = self.d.coordinator.groups.get(group)
        for member in list(found.members.values()) if found is not None else []:
            if pick.random() < 0.7 and found is not None:
                answer = self.d.heartbeat(
                    member.member_id, found.generation_id, group=group, instance=member.group_instance_id
                )
                preparing = found.state is GroupState.PREPARING_REBALANCE
                assert answer is (ErrorCode.REBALANCE_IN_PROGRESS if preparing else ErrorCode.NONE)

    @rule(group=GROUPS, pick=st.randoms(use_true_random=False))
    def leave(self, group: str, pick: Any) -> None:
        ids = self.known_ids(group)
        if ids:
            self.tickets.append(self.d.leave(pick.choice(ids), group=group))

    @rule(group=GROUPS, partition=PARTITIONS, as_member=st.booleans())
    def commit(self, group: str, partition: int, as_member: bool) -> None:
        self.sequence += 1
        found = self.d.coordinator.groups.get(group)
        member = next(iter(found.members.values()), None) if found is not None else None
        if as_member and found is not None and member is not None:
            ids = {"member_id": member.member_id, "instance": member.group_instance_id}
            ticket = self.d.commit(
                {("t", partition): self.sequence}, group=group, generation=found.generation_id, **ids
            )
        else:
            ticket = self.d.commit({("t", partition): self.sequence}, group=group)
        self.tickets.append(ticket)
        self.commits.append((ticket, group, partition, self.sequence))
        self._note_commits()

    def _note_commits(self) -> None:
        waiting = []
        for ticket, group, partition, offset in self.commits:
            if ticket.response is None:
                waiting.append((ticket, group, partition, offset))
            elif ticket.response.topics[0].partitions[0].error_code == 0:
                self.offsets[group, partition] = offset
        self.commits = waiting

    # Administration, only while nothing is under way, so that the order of events is known

    @precondition(lambda self: not self.d.held)
    @rule(group=GROUPS, partition=PARTITIONS)
    def delete_offset(self, group: str, partition: int) -> None:
        ticket = self.d.delete_offsets("t", partition, group=group)
        if self.d.hold:
            self.release(None)
        if ticket.response.error_code == 0 and ticket.response.topics[0].partitions[0].error_code == 0:
            self.offsets.pop((group, partition), None)

    @precondition(lambda self: not self.d.held and not self.d.hold)
    @rule(group=GROUPS)
    def delete_group(self, group: str) -> None:
        if self.d.delete_groups(group)[group] is ErrorCode.NONE:
            assert group not in self.d.coordinator.groups
            self.offsets = {key: offset for key, offset in self.offsets.items() if key[0] != group}

    # Time, disk and crashes

    @rule(ms=st.sampled_from([0, 1_000, 3_000, 6_000, 31_000]))
    def advance(self, ms: int) -> None:
        self.d.advance(ms)

    @precondition(lambda self: not self.d.hold)
    @rule()
    def slow_disk(self) -> None:
        self.d.hold = True

    @rule(error=st.sampled_from([None, None, None, ErrorCode.KAFKA_STORAGE_ERROR]))
    def release(self, error: ErrorCode | None) -> None:
        self.has_failed |= bool(error and self.d.held)
        self.d.fail_with = error
        self.d.release()
        self.d.fail_with = None
        self._note_commits()

    @rule()
    def crash(self) -> None:
        """What was under way is lost, and nobody was told that it succeeded."""
        lost = self.d.held
        self.d.held, self.d.hold = [], False
        assert all(ticket.response is None for ticket, *_ in self.commits) or not lost
        self.commits.clear()
        self.joins = [each for each in self.joins if each[2].response is not None]
        self.tickets.clear()
        self.syncs = [each for each in self.syncs if each[3].response is not None]
        self.d.restart()

    # What must always hold

    @invariant()
    def offsets_are_those_acknowledged(self) -> None:
        for group in ("g", "h"):
            for partition in range(3):
                assert self.d.committed("t", partition, group=group) == self.offsets.get((group, partition), -1)

    @invariant()
    def groups_are_consistent(self) -> None:
        for group in self.d.coordinator.groups.values():
            members = group.members
            assert group.awaiting_join == sum(each.join_token is not None for each in members.values())
            counted = Counter(name for each in members.values() for name in each.protocols)
            assert +group.supported == counted
            assert set(group.static_members.values()) == {
                each.member_id for each in members.values() if each.group_instance_id is not None
            }
            assert group.pending_syncs <= set(members) and not set(group.pending_joins) & set(members)
            assert (group.leader_id in members) if members else group.leader_id is None
            assert group.awaiting_join <= 5
            assert not members if group.state is GroupState.EMPTY else True
            waiting_sync = any(each.sync_token is not None for each in members.values())
            assert not waiting_sync or group.state is GroupState.COMPLETING_REBALANCE

    @invariant()
    def members_get_what_a_leader_assigned(self) -> None:
        for group, member_id, generation, ticket in self.syncs:
            if ticket.response is not None and ticket.response.error_code == 0:
                possible = self.assigned.get((group, generation, member_id), {b""})
                old_ids = [
                    data for key, each in self.assigned.items() if key[:2] == (group, generation) for data in each
                ]
                assert ticket.response.assignment in possible or ticket.response.assignment in old_ids

    @invariant()
    def the_log_brings_everything_back(self) -> None:
        if self.d.held:
            return
        live = self.d.coordinator
        replayed = Driver(offsets_retention_ms=10_000 * DAY, max_size=5)
        replayed.log = self.d.log
        replayed.restart()
        assert dict(replayed.coordinator.offsets.groups()) == dict(live.offsets.groups())
        assert replayed.coordinator.groups.keys() == live.groups.keys()
        for group_id, group in live.groups.items():
            # A generation that became empty and could not be stored is the one thing that a crash may undo.
            if group.state is GroupState.STABLE or (group.state is GroupState.EMPTY and not self.has_failed):
                assert durable(replayed.coordinator.groups[group_id]) == durable(group)

    def teardown(self) -> None:
        """Nobody waits for ever: with all clients silent, time alone answers every request."""
        self.d.fail_with = None
        self.d.release()
        self.d.advance(DAY)
        assert all(ticket.response is not None for ticket in self.tickets)
        for group in self.d.coordinator.groups.values():
            assert group.state is GroupState.EMPTY and not group.pending_joins


TestGroupModel = GroupMachine.TestCase
TestGroupModel.settings = settings(
    max_examples=150,
    stateful_step_count=40,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
