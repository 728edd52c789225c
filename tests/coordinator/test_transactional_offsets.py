"""TxnOffsetCommit: offsets that count with their transaction's commit marker, and never before."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from headrace.coordinator.group import GroupState
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.offset_fetch import OffsetFetchRequestGroup
from tests.coordinator.driver import Driver, Marker, Ticket

DAY = 86_400_000
A = b"A" * 16


def errors(ticket: Ticket) -> list[int]:
    return [each.error_code for topic in ticket.response.topics for each in topic.partitions]


@pytest.mark.parametrize("commit", [True, False])
def test_offsets_wait_for_the_end_of_their_transaction(commit: bool) -> None:
    d = Driver()
    d.commit({("t", 0): 3})
    assert errors(d.txn_commit({("t", 0): 5, ("t", 1): 6})) == [0, 0]
    for _ in range(2):
        assert d.committed() == 3 and d.committed(partition=1) == -1
        assert d.is_unstable() and d.is_unstable(partition=1) and not d.is_unstable(partition=2)
        d.restart()
    d.end_transaction(commit)
    for _ in range(2):
        assert d.committed() == (5 if commit else 3) and d.committed(partition=1) == (6 if commit else -1)
        assert not d.is_unstable() and not d.is_unstable(partition=1)
        d.restart()


def test_all_offsets_of_a_group_with_an_open_transaction() -> None:
    d = Driver()
    d.commit({("t", 0): 3, ("t", 1): 4})
    d.txn_commit({("t", 1): 5, ("u", 0): 6})
    response = d.coordinator.fetch_offsets(OffsetFetchRequestGroup(group_id="g", topics=None), require_stable=True)
    (topic,) = response.topics
    assert [(each.partition_index, each.committed_offset, each.error_code) for each in topic.partitions] == [
        (0, 3, 0),
        (1, -1, ErrorCode.UNSTABLE_OFFSET_COMMIT),
    ]


def test_an_offset_is_unstable_while_it_is_being_written() -> None:
    d = Driver()
    d.hold = True
    ticket = d.txn_commit({("t", 0): 5})
    assert ticket.response is None and d.is_unstable()
    d.end_transaction(True)
    d.release()
    assert errors(ticket) == [0] and not d.is_unstable() and d.committed() == 5


def test_an_offset_that_could_not_be_written_leaves_nothing() -> None:
    d = Driver()
    d.fail_with = ErrorCode.KAFKA_STORAGE_ERROR
    assert errors(d.txn_commit({("t", 0): 5})) == [ErrorCode.NOT_COORDINATOR]
    d.fail_with = None
    assert not d.is_unstable()
    d.end_transaction(True)
    assert d.committed() == -1


def test_the_newest_record_wins_not_the_newest_marker() -> None:
    d = Driver()
    d.txn_commit({("t", 0): 5})
    d.commit({("t", 0): 9})
    d.end_transaction(True)
    assert d.committed() == 9
    d.restart()
    assert d.committed() == 9


def test_two_transactions_of_one_partition() -> None:
    d = Driver()
    d.txn_commit({("t", 0): 5}, producer=1)
    d.txn_commit({("t", 0): 6}, producer=2)
    d.end_transaction(True, producer=2)
    assert d.committed() == 6 and d.is_unstable()
    d.end_transaction(True, producer=1)
    assert d.committed() == 6 and not d.is_unstable()


def test_a_marker_without_offsets_changes_nothing() -> None:
    d = Driver()
    d.commit({("t", 0): 1})
    d.end_transaction(True, producer=99)
    assert d.committed() == 1


def test_members_are_fenced_by_generation_member_and_instance() -> None:
    d = Driver()
    (member,) = d.stable()
    assert errors(d.txn_commit({("t", 0): 1}, member_id=member, generation=1)) == [0]
    assert errors(d.txn_commit({("t", 0): 1}, member_id=member, generation=0)) == [ErrorCode.ILLEGAL_GENERATION]
    assert errors(d.txn_commit({("t", 0): 1}, member_id=member)) == [ErrorCode.ILLEGAL_GENERATION]
    assert errors(d.txn_commit({("t", 0): 1}, member_id="x", generation=1)) == [ErrorCode.UNKNOWN_MEMBER_ID]
    assert errors(d.txn_commit({("t", 0): 1}, member_id=member, instance="i")) == [ErrorCode.UNKNOWN_MEMBER_ID]
    assert errors(d.txn_commit({("t", 0): 1}, version=2)) == [0], "older clients name no member"


def test_a_replaced_static_member_is_fenced() -> None:
    d = Driver()
    d.join(instance="i")
    d.advance(9_000)
    old = d.group().static_members["i"]
    d.join(instance="i")
    answer = d.txn_commit({("t", 0): 1}, member_id=old, instance="i", generation=d.group().generation_id)
    assert errors(answer) == [ErrorCode.FENCED_INSTANCE_ID]


def test_a_group_that_is_not_there() -> None:
    d = Driver()
    assert errors(d.txn_commit({("t", 0): 1}, member_id="m", generation=3)) == [ErrorCode.ILLEGAL_GENERATION]
    assert errors(d.txn_commit({("t", 0): 1})) == [0]
    assert d.group().state is GroupState.EMPTY and d.group().protocol_type is None


def test_a_rebalance_is_no_obstacle() -> None:
    d = Driver()
    leader, follower = d.stable(2)
    d.join(leader)
    d.join(follower)
    assert d.group().state is GroupState.COMPLETING_REBALANCE
    assert errors(d.txn_commit({("t", 0): 2}, member_id=follower, generation=2)) == [0]


def test_metadata_has_a_limit() -> None:
    d = Driver(offset_metadata_max_bytes=10)
    assert errors(d.txn_commit({("t", 0): 1}, metadata="x" * 11)) == [ErrorCode.OFFSET_METADATA_TOO_LARGE]
    assert not d.is_unstable() and not d.log


def test_deleted_offsets_do_not_come_back_with_the_marker() -> None:
    d = Driver()
    d.txn_commit({("t", 0): 1, ("t", 1): 2})
    d.delete_offsets("t", 0)
    assert not d.is_unstable() and d.is_unstable(partition=1)
    d.end_transaction(True)
    for _ in range(2):
        assert d.committed() == -1 and d.committed(partition=1) == 2
        d.restart()


def test_a_deleted_group_takes_pending_offsets_with_it() -> None:
    d = Driver()
    d.txn_commit({("t", 0): 1})
    assert d.delete_groups("g") == {"g": ErrorCode.NONE}
    d.end_transaction(True)
    for _ in range(2):
        assert d.committed() == -1 and "g" not in d.coordinator.groups
        d.restart()


def test_a_deleted_topic_takes_pending_offsets_with_it() -> None:
    d = Driver()
    d.txn_commit({("t", 0): 1})
    d.delete_topics(("t", A))
    d.end_transaction(True)
    assert d.committed() == -1


def test_an_open_transaction_keeps_offsets_and_group_from_expiring() -> None:
    d = Driver(offsets_retention_ms=DAY)
    d.commit({("t", 0): 1})
    d.txn_commit({("t", 0): 2})
    d.txn_commit({("t", 0): 2}, group="h")
    d.advance(3 * DAY)
    assert d.committed() == 1 and {"g", "h"} <= d.coordinator.groups.keys()
    d.end_transaction(False)
    d.advance(DAY)
    assert not d.coordinator.groups


class TransactionalOffsetsMachine(RuleBasedStateMachine):
    """Producers and plain consumers over two groups; the model reads the log from its start each time."""

    def __init__(self) -> None:
        super().__init__()
        self.d = Driver(offsets_retention_ms=10_000 * DAY)
        self.offset = 0
        self.events: list[tuple[object, ...]] = []

    groups = st.sampled_from(["g", "h"])
    producers = st.integers(1, 3)

    def _then(self, *event: object) -> None:
        self.events.append(event)

    @rule(group=groups, partition=st.integers(0, 1))
    def commit(self, group: str, partition: int) -> None:
        self.offset += 1
        self.d.commit({("t", partition): self.offset}, group=group)
        self._then("put", None, group, partition, self.offset)

    @rule(group=groups, partition=st.integers(0, 1), producer=producers)
    def txn_commit(self, group: str, partition: int, producer: int) -> None:
        self.offset += 1
        self.d.txn_commit({("t", partition): self.offset}, group=group, producer=producer)
        self._then("put", producer, group, partition, self.offset)

    @rule(producer=producers, commit=st.booleans())
    def end(self, producer: int, commit: bool) -> None:
        self.d.end_transaction(commit, producer)
        self._then("end", producer, commit)

    @precondition(lambda self: not self.d.hold)
    @rule(group=groups)
    def delete_group(self, group: str) -> None:
        if self.d.delete_groups(group)[group] is ErrorCode.NONE:
            self._then("delete", group)

    @rule()
    def slow_disk(self) -> None:
        self.d.hold = True

    @rule()
    def release(self) -> None:
        self.d.release()

    @rule()
    def crash(self) -> None:
        for held in self.d.held:
            count = 1 if isinstance(held, Marker) else len(held.records)
            del self.events[len(self.events) - count :]
        self.d.held, self.d.hold = [], False
        self.d.restart()

    @invariant()
    def it_is_as_the_log_says(self) -> None:
        if self.d.held:
            return
        committed: dict[tuple[object, object], tuple[int, object]] = {}
        pending: dict[object, dict[tuple[object, object], tuple[int, object]]] = {}
        for place, (what, *rest) in enumerate(self.events):
            if what == "put":
                producer, group, partition, offset = rest
                target = committed if producer is None else pending.setdefault(producer, {})
                target[group, partition] = place, offset
            elif what == "end":
                for key, value in pending.pop(rest[0], {}).items():
                    if rest[1] and value > committed.get(key, (-1, None)):
                        committed[key] = value
            else:
                for offsets in (committed, *pending.values()):
                    for key in [key for key in offsets if key[0] == rest[0]]:
                        del offsets[key]
        for group in ("g", "h"):
            for partition in range(2):
                expected = committed.get((group, partition), (0, -1))[1]
                assert self.d.committed("t", partition, group=group) == expected
                unstable = any((group, partition) in each for each in pending.values())
                assert self.d.is_unstable("t", partition, group=group) is unstable


TestTransactionalOffsets = TransactionalOffsetsMachine.TestCase
TestTransactionalOffsets.settings = settings(
    max_examples=40, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
)
