"""Random consumers, committers and administrators against the group coordinator: any order of their requests, with slow
appends, failing ones and a crash between any two steps, and always what the model in `group_model` promises.
"""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from headrace.coordinator.group import ClassicGroup, GroupState
from headrace.wire.errors import ErrorCode
from headrace.wire.records.group import OffsetCommitKey
from tests.coordinator.driver import Driver, Marker, subscription
from tests.coordinator.group_clients import Client
from tests.coordinator.group_model import ModelDriver
from tests.model_settings import machine_settings

GROUPS = st.sampled_from(["g", "g", "g", "h"])
TOPICS = st.sampled_from(["t", "u"])
WHO = st.sampled_from([0, 0, 0, 1, 1, 2, 3, 4, 5])
PRODUCERS = st.integers(1, 2)
PROTOCOLS = st.sampled_from(
    [
        {"range": subscription("t")},
        {"range": subscription("t"), "sticky": subscription("t")},
        {"sticky": subscription("u"), "range": subscription("u")},
        {"other": b"?"},
    ]
)
ERRORS = st.sampled_from([None, None, ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.KAFKA_STORAGE_ERROR])
A, B = b"A" * 16, b"B" * 16
HOUR = 3_600_000
CONFIG = {
    "offsets_retention_ms": 400_000,
    "offsets_retention_check_interval_ms": 100_000,
    "max_size": 4,
}
ALL_TIMEOUTS_MS = 150_000
"""Longer than a session, a rebalance and another session together."""


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
        self.d = ModelDriver(**CONFIG)
        self.clients = {
            group: [
                Client(self.d, group, None),
                Client(self.d, group, None, session_ms=20_000, rebalance_ms=20_000),
                Client(self.d, group, None, version=3),
                Client(self.d, group, "one"),
                Client(self.d, group, "one", version=5),
                Client(self.d, group, "two", session_ms=6_000),
            ]
            for group in ("g", "h")
        }
        self.sequence = 0
        self.has_failed = False
        self.compared = -1

    def listen(self) -> None:
        for clients in self.clients.values():
            for client in clients:
                client.listen()

    # Consumers

    @initialize(group=GROUPS, who=st.sets(WHO, max_size=3), calm=st.booleans())
    def begin(self, group: str, who: set[int], calm: bool) -> None:
        if calm and who:
            self.everybody_behaves(group, who, 6)

    @rule(group=GROUPS, who=WHO, protocols=st.none() | st.none() | PROTOCOLS)
    def join(self, group: str, who: int, protocols: dict[str, bytes] | None) -> None:
        self.clients[group][who].join(protocols)

    @rule(group=GROUPS, who=WHO)
    def go_on(self, group: str, who: int) -> None:
        """Whatever a consumer would do next; without an answer so far, it asks again over a new connection."""
        client = self.clients[group][who]
        client.listen()
        client.hang_up() if client.waits else client.step()

    @rule(group=GROUPS, who=st.sets(WHO, min_size=1, max_size=3), slow=st.booleans())
    def all_join(self, group: str, who: set[int], slow: bool) -> None:
        """Several consumers begin the next generation; the disk may be slow from then on."""
        clients = [self.clients[group][each] for each in sorted(who)]
        for client in clients:
            for _ in range(2):
                client.listen()
                if not client.waits:
                    client.join()
        for _ in range(40):
            if all(each.joining is None for each in clients):
                break
            self.advance(1_000)
        self.d.hold |= slow
        for client in clients:
            if client.is_in:
                self._work(client, 0)
            if client.is_in and not client.members and not client.waits:
                client.sync()

    @rule(
        group=GROUPS,
        who=st.sets(WHO, min_size=1, max_size=3),
        then=st.sampled_from(
            ["leave", "fail", "crash", "change", "silent", "twice", "lead", "idle", "deaf", "replace"]
        ),
    )
    def rebalance(self, group: str, who: set[int], then: str) -> None:
        """Up to the assignment, and there something happens."""
        self.all_join(group, who, False)
        clients = [self.clients[group][each] for each in sorted(who)]
        for client in [each for each in clients if each.is_in and not each.waits and each.members]:
            self.d.hold |= then in ("fail", "crash", "twice")
            for _ in range(2 if then == "twice" else then in ("fail", "crash", "lead", "deaf", "replace")):
                client.sync()
        if then == "leave":
            self.d.leave((clients[-1].member_id, clients[-1].instance), group=group)
        elif then == "fail":
            self.release(100, ErrorCode.NOT_ENOUGH_REPLICAS)
        elif then == "crash":
            self.crash(len(who) % 2)
        elif then == "change":
            clients[-1].join({"range": subscription("u")})
        elif then == "replace":
            self.d.hold = True
            for client in clients:
                client.forget()
                client.join()
            self.release(100, ErrorCode.NOT_ENOUGH_REPLICAS if len(who) < 3 else None)
        elif then == "silent":
            self.advance(31_000)
        elif then == "idle":
            self._only_heartbeat(clients)
        elif then == "deaf":
            clients[-1].join({"range": subscription("u")})
            self._only_heartbeat(clients)
        self.listen()

    def _only_heartbeat(self, clients: list[Client]) -> None:
        """Members that live and do nothing else keep nobody waiting for longer than the rebalance timeout."""
        for client in clients:
            client.listen()
        joins = [each.joining for each in clients if each.joining is not None]
        syncs = [each.syncing for each in clients if each.syncing is not None]
        for _ in range(35):
            self.advance(1_000)
            for client in [each for each in clients if not each.waits]:
                self.d.heartbeat(client.member_id, client.generation, group=client.group, instance=client.instance)
        if not self.d.held:
            assert all(each.error is ErrorCode.NONE for each in joins), "whoever waits needs no heartbeat"
            assert all(each.response is not None for each in syncs), "somebody waits for a member that idles"

    def pick(self, group: str, who: int) -> Client:
        """One that has been a member, if there is any."""
        clients = self.clients[group]
        members = [each for each in clients if each.generation > 0]
        return members[who % len(members)] if members else clients[who]

    @rule(group=GROUPS, who=WHO, back=st.sampled_from([0, 0, 0, 1, -1]), times=st.sampled_from([1, 1, 2]))
    def sync(self, group: str, who: int, back: int, times: int) -> None:
        client = self.pick(group, who)
        for _ in range(times):
            if client.generation > 0:
                client.sync(client.generation - back)

    @rule(group=GROUPS, who=WHO, back=st.sampled_from([0, 1]))
    def poll(self, group: str, who: int, back: int) -> None:
        """A consumer at work, maybe with a request from before the last rebalance that was late."""
        client = self.pick(group, who)
        if client.generation > 0:
            self._work(client, back)

    def _work(self, client: Client, back: int) -> None:
        ids = {"member_id": client.member_id, "instance": client.instance, "generation": client.generation - back}
        self.d.commit({("t", 0): self._next_offset()}, group=client.group, **ids)
        self.d.txn_commit({("t", 1): self._next_offset()}, group=client.group, producer=1, **ids)
        self._heartbeat(client)

    def _heartbeat(self, client: Client) -> None:
        current = self.d.is_current(client.group, client.member_id, client.generation)
        described = self.d.coordinator.describe_group(client.group, 5)
        state = described.group_state
        of_instance = {each.group_instance_id: each.member_id for each in described.members}
        is_replaced = client.instance in of_instance and of_instance[client.instance] != client.member_id
        is_replaced &= client.instance is not None
        answer = client.heartbeat()
        assert (answer is ErrorCode.FENCED_INSTANCE_ID) is is_replaced
        if answer is ErrorCode.NONE:
            assert current and state in (GroupState.STABLE.value, GroupState.COMPLETING_REBALANCE.value)
        elif answer is ErrorCode.REBALANCE_IN_PROGRESS:
            assert current and state == GroupState.PREPARING_REBALANCE.value
        else:
            assert answer in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION) or is_replaced

    @rule(group=GROUPS, who=WHO, by_instance=st.booleans())
    def leave(self, group: str, who: int, by_instance: bool) -> None:
        client = self.pick(group, who)
        member_id = "" if by_instance and client.instance is not None else client.member_id
        self.d.leave((member_id, client.instance), group=group)
        self.listen()

    @rule(group=GROUPS, who=WHO)
    def start_anew(self, group: str, who: int) -> None:
        self.clients[group][who].forget()

    @rule(group=GROUPS, who=st.sets(WHO, min_size=1, max_size=3), rounds=st.sampled_from([6, 6, 110]))
    def everybody_behaves(self, group: str, who: set[int], rounds: int) -> None:
        """Some consumers do all that they should, all others are silent: soon those are the group, and stay it."""
        self.refuse(None)
        self.release(100, None)
        if {3, 4} <= who:
            who = who - {4}
        clients = [self.clients[group][each] for each in sorted(who)]
        for client in clients:
            if "range" not in client.protocols:
                client.protocols = {"range": subscription("t")}
                client.hang_up()
        for _ in range(ALL_TIMEOUTS_MS // 2000):
            for client in clients:
                client.step()
            if self._is_settled(group, clients):
                break
            self.d.advance(2000)
        self._check_settled(group, clients)
        for client in clients:
            self._work(client, 0)
        for _ in range(rounds):
            self.d.advance(5000)
            for client in clients:
                assert client.heartbeat() is ErrorCode.NONE, "a member that behaves was dropped"
        self._check_settled(group, clients)
        self.listen()

    def _is_settled(self, group: str, clients: list[Client]) -> bool:
        described = self.d.coordinator.describe_group(group, 5)
        members = {each.member_id for each in described.members}
        return (
            described.group_state == GroupState.STABLE.value
            and members == {each.member_id for each in clients}
            and all(each.assignment is not None for each in clients)
        )

    def _check_settled(self, group: str, clients: list[Client]) -> None:
        assert self._is_settled(group, clients), "consumers that behave did not become a group"
        assert len({each.generation for each in clients}) == 1
        stored = self.d.stored[group]
        assert stored is not None
        assert {each.member_id: each.assignment for each in stored.members} == {
            each.member_id: each.assignment for each in clients
        }

    # Offsets

    def _next_offset(self) -> int:
        self.sequence += 1
        return self.sequence

    @rule(
        group=GROUPS, who=st.none() | WHO, topic=TOPICS, partition=st.integers(0, 1), topic_id=st.sampled_from([A, B])
    )
    def commit(self, group: str, who: int | None, topic: str, partition: int, topic_id: bytes) -> None:
        ids = self._identity(group, who)
        self.d.commit({(topic, partition): self._next_offset()}, group=group, topic_id=topic_id, **ids)

    @rule(group=GROUPS, who=st.none() | WHO, topic=TOPICS, partition=st.integers(0, 1), producer=PRODUCERS)
    def txn_commit(self, group: str, who: int | None, topic: str, partition: int, producer: int) -> None:
        ids = self._identity(group, who)
        self.d.txn_commit({(topic, partition): self._next_offset()}, group=group, producer=producer, **ids)

    def _identity(self, group: str, who: int | None) -> dict[str, Any]:
        if who is None:
            return {}
        client = self.pick(group, who)
        return {"member_id": client.member_id, "generation": client.generation, "instance": client.instance}

    @rule(producer=PRODUCERS, commit=st.booleans())
    def end_transaction(self, producer: int, commit: bool) -> None:
        self.d.end_transaction(commit, producer)

    @rule(group=GROUPS, topic=TOPICS, partition=st.integers(0, 1))
    def delete_offset(self, group: str, topic: str, partition: int) -> None:
        found = self.d.coordinator.groups.get(group)
        subscribed = found is not None and found.state is GroupState.STABLE and found.is_subscribed_to(topic)
        ticket = self.d.delete_offsets(topic, partition, group=group)
        if ticket.response is not None and ticket.response.topics and subscribed:
            assert ticket.response.topics[0].partitions[0].error_code == ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC

    def _put_under_way(self, *keys: tuple[str, str]) -> None:
        """The disk is slow, and commits of nobody in particular are on their way."""
        self.d.hold |= bool(keys)
        for group, topic in keys:
            self.d.commit({(topic, 0): self._next_offset()}, group=group, topic_id=A)
            self.d.txn_commit({(topic, 1): self._next_offset()}, group=group, producer=2)

    @rule(topic=TOPICS, topic_id=st.sampled_from([A, B]), late=st.booleans())
    def delete_topic(self, topic: str, topic_id: bytes, late: bool) -> None:
        self._put_under_way(*[("g", topic)] * late)
        self.d.delete_topic(topic, topic_id)

    @rule(group=GROUPS, late=st.booleans())
    def delete_group(self, group: str, late: bool) -> None:
        self._put_under_way(*[(group, "t")] * late)
        state = self.d.coordinator.describe_group(group, 5).group_state
        ticket = self.d._submit(self.d.coordinator.on_delete_groups, [group], 2)
        if ticket.response is not None and ticket.response[0].error_code == 0:
            assert state == GroupState.EMPTY.value

    # Time, disk and crashes

    @rule(ms=st.sampled_from([0, 1_000, 3_000, 6_000, 12_000, 31_000, 110_000]))
    def advance(self, ms: int) -> None:
        self.d.advance(ms)
        self.listen()

    @rule(late=st.booleans())
    def retention_passes(self, late: bool) -> None:
        self.d.commit({("t", 0): self._next_offset()}, group="h")
        self.d.advance(395_000)
        self._put_under_way(*[("g", "t"), ("h", "t")] * late)
        self.d.advance(115_000)
        self.listen()

    @precondition(lambda self: not self.d.hold)
    @rule()
    def slow_disk(self) -> None:
        self.d.hold = True

    @precondition(lambda self: self.d.hold)
    @rule(count=st.sampled_from([1, 1, 2, 100]), error=ERRORS)
    def release(self, count: int, error: ErrorCode | None) -> None:
        self.has_failed |= bool(error and self.d.held)
        self.d.fail_with = error
        self.d.release_some(count)
        self.d.fail_with = None
        self.d.hold = bool(self.d.held)
        self.compared = -1
        self.listen()

    @rule(error=ERRORS)
    def refuse(self, error: ErrorCode | None) -> None:
        """From now on the log takes nothing (or everything again); what is under way goes on."""
        self.has_failed |= error is not None
        self.d.refuse_with = error

    @rule(written=st.sampled_from([0, 0, 1, 2, 100]))
    def crash(self, written: int) -> None:
        self.d.crash(written)
        for clients in self.clients.values():
            for client in clients:
                client.hang_up()

    # What must always hold

    @invariant()
    def offsets_are_those_acknowledged(self) -> None:
        on_their_way = {
            (record.key.group, record.key.topic, record.key.partition)
            for held in self.d.held
            if not isinstance(held, Marker) and held.producer_id >= 0
            for record in held.records
            if isinstance(record.key, OffsetCommitKey)
        }
        for group in ("g", "h"):
            for topic in ("t", "u"):
                for partition in range(2):
                    key = group, topic, partition
                    expected = self.d.offsets.committed.get(key)
                    found = self.d.coordinator.offsets.get(*key)
                    assert (found and (found.offset, found.topic_id)) == (
                        expected and (expected.offset, expected.topic_id)
                    )
                    assert self.d.committed(topic, partition, group=group) == (expected.offset if expected else -1)
                    unstable = self.d.offsets.is_pending(key) or key in on_their_way
                    assert self.d.is_unstable(topic, partition, group=group) is unstable

    @invariant()
    def groups_are_consistent(self) -> None:
        for group in self.d.coordinator.groups.values():
            members = group.members
            assert group.awaiting_join == sum(each.join_token is not None for each in members.values())
            assert +group.supported == Counter(name for each in members.values() for name in each.protocols)
            assert group.static_members == {
                each.group_instance_id: each.member_id
                for each in members.values()
                if each.group_instance_id is not None
            }
            assert group.pending_syncs <= set(members) and not set(group.pending_joins) & set(members)
            assert (group.leader_id in members) if members else group.leader_id is None
            assert len(members) <= 2 * self.d.config.max_size and group.awaiting_join <= self.d.config.max_size
            assert not members or group.state is not GroupState.EMPTY
            if any(each.sync_token is not None for each in members.values()):
                assert group.state is GroupState.COMPLETING_REBALANCE

    @invariant()
    def whoever_waits_is_remembered(self) -> None:
        """A request without an answer is that of a member, or waits for the log."""
        held = {id(settle) for each in self.d.held if not isinstance(each, Marker) for settle in each.settles}
        tokens = {
            token
            for group in self.d.coordinator.groups.values()
            for each in group.members.values()
            for token in (each.join_token, each.sync_token)
        }
        forgotten = [ticket.request for ticket in self.d.waiting if ticket not in tokens]
        assert not forgotten or held, "a request was forgotten"

    @invariant()
    def no_timer_outlives_what_it_is_for(self) -> None:
        coordinator = self.d.coordinator
        owned = {coordinator._expiry}
        for group in coordinator.groups.values():
            owned |= {group.join_timer, group.sync_timer, *group.pending_joins.values()}
            owned |= {each.session for each in group.members.values()}
            for each in group.members.values():
                assert each.has_satisfied_heartbeat or (each.session and each.session.deadline_ms is not None)
        set_timers = {entry[2] for entry in coordinator.timers._heap if entry[2].deadline_ms is not None}
        assert set_timers <= owned, "a timer was left behind"

    @invariant()
    def the_log_brings_everything_back(self) -> None:
        if self.d.held or self.compared == len(self.d.log):
            return
        self.compared = len(self.d.log)
        live = self.d.coordinator
        replayed = Driver(**CONFIG)
        replayed.now_ms, replayed.log = self.d.now_ms, self.d.log
        replayed.restart()
        again = replayed.coordinator
        assert dict(again.offsets.groups()) == dict(live.offsets.groups())
        assert dict(again.offsets.pending.items()) == dict(live.offsets.pending.items())
        assert again.groups.keys() == live.groups.keys() == self.d.stored.keys()
        for group_id, group in live.groups.items():
            assert live.offsets.is_awaited(group_id) == again.offsets.is_awaited(group_id)
            # A generation that became empty and could not be stored is the one thing that a crash may undo.
            if group.state is GroupState.STABLE or (group.state is GroupState.EMPTY and not self.has_failed):
                assert durable(again.groups[group_id]) == durable(group)

    def teardown(self) -> None:
        """Nobody waits for ever: with all clients silent, time alone answers every request, and then clears away all."""
        if sys.exception() is not None:
            return
        self.d.fail_with = self.d.refuse_with = None
        self.d.release()
        self.d.advance(ALL_TIMEOUTS_MS)
        assert not self.d.waiting, "somebody waits for ever"
        for group in self.d.coordinator.groups.values():
            assert group.state is GroupState.EMPTY and not group.pending_joins
        for producer in (1, 2):
            self.d.end_transaction(True, producer)
        self.offsets_are_those_acknowledged()
        self.the_log_brings_everything_back()
        self.d.advance(HOUR)
        assert not self.d.coordinator.groups and not self.d.offsets.committed and not self.d.stored
        assert len(self.d.coordinator.timers) == 1, "only the next expiry is left to wait for"
        self.d.restart()
        assert not self.d.coordinator.groups


TestGroupModel = GroupMachine.TestCase
TestGroupModel.settings = machine_settings(150, 40)
