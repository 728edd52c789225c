"""Random producers against the coordinator, with slow appends, failing ones, lost markers and crashes in between.

The model knows what producers were told, and keeps the partitions' side: which transactions wrote where and which marker
ended them. Whatever happens, a transaction ends one way in all its partitions, and the way its producer was told.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field, replace

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from headrace.coordinator.transactions.checks import Producer
from headrace.coordinator.transactions.records import decode
from headrace.coordinator.transactions.transaction import (
    AT_REST,
    FOLLOWS,
    MAX_EPOCH,
    NO_EPOCH,
    PREPARED,
    TopicPartition,
    Transaction,
    TransactionState,
)
from headrace.wire.errors import ErrorCode
from tests.coordinator.transactions.driver import Driver, Ticket
from tests.model_settings import machine_settings

NAMES = st.sampled_from(["x", "y"])
PARTITIONS = st.sampled_from([("t", 0), ("t", 1), ("u", 0)])
VERSIONS = st.sampled_from([0, 2])
RETRIABLE = ErrorCode.NOT_LEADER_OR_FOLLOWER
TIMEOUT_MS = 60_000
EXPIRATION_MS = 300_000


@dataclass(eq=False)
class Open:
    """One transaction as its partitions see it: written under a producer's epoch, not ended yet."""

    name: str
    producer: Producer
    partitions: set[TopicPartition] = field(default_factory=set)
    asked: set[bool] = field(default_factory=set)
    """What its producer asked for: commit or abort."""
    ended: dict[TopicPartition, bool] = field(default_factory=dict)
    is_challenged: bool = False
    """Somebody asked for its producer's id meanwhile."""


class TransactionMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.d = Driver(
            abort_timed_out_interval_ms=10_000,
            transactional_id_expiration_ms=EXPIRATION_MS,
            remove_expired_interval_ms=100_000,
        )
        self.known: dict[str, list[Producer]] = {"x": [], "y": []}
        """Every identity that a producer was given, the newest last."""
        self.inits: list[tuple[str, Producer | None, Ticket]] = []
        self.is_offline = False
        self.adds: list[tuple[str, Producer, TopicPartition, Ticket]] = []
        self.ends: list[tuple[str, Producer, bool | None, int, Ticket]] = []
        self.transactions: list[Open] = []
        self.seen_markers = 0
        self.seen_log = 0
        self.latest: dict[str, Transaction] = {}

    # Producers

    def pick(self, name: str, age: int) -> Producer | None:
        known = self.known[name]
        return known[-1 - min(age, len(known) - 1)] if known else None

    @rule(name=NAMES, age=st.none() | st.integers(0, 2))
    def init(self, name: str, age: int | None) -> None:
        before = self.pick(name, age) if age is not None else None
        self.read_log()
        for each in self.transactions:
            each.is_challenged |= each.name == name
        self.inits.append((name, before, self.d.init(name, before, timeout_ms=TIMEOUT_MS)))
        self.listen()

    @rule(name=NAMES, age=st.sampled_from([0, 0, 0, 1]), partition=PARTITIONS, version=VERSIONS)
    def add(self, name: str, age: int, partition: TopicPartition, version: int) -> None:
        producer = self.pick(name, age)
        if producer is not None:
            ticket = self.d.add(producer, partition, name=name, version=version)
            self.adds.append((name, producer, partition, ticket))
            self.listen()

    @rule(name=NAMES, age=st.sampled_from([0, 0, 0, 1]), commit=st.booleans(), version=VERSIONS)
    def end(self, name: str, age: int, commit: bool, version: int) -> None:
        producer = self.pick(name, age)
        if producer is not None:
            opened = self.newest(name, producer)
            if opened is not None and not opened.ended:
                opened.asked.add(commit)
            written, entry = self.latest.get(name), self.d.coordinator.transactional_ids.get(name)
            ticket = self.d.end(producer, commit=commit, name=name, version=version)
            if (
                version == 2
                and entry is not None
                and entry.pending is None
                and self.is_repeated(written, producer, commit)
            ):
                assert ticket.error is ErrorCode.NONE, "a repeated request was refused"
            if version == 0 and (ticket.response is None or ticket.error is ErrorCode.NONE):
                assert written is not None
                assert (written.producer_id, written.producer_epoch) == (producer.producer_id, producer.epoch), "fenced"
            # An abort of version 2 may come before anything has begun; it then says nothing of the transaction before.
            is_empty = version == 2 and not commit and written is not None and written.state in AT_REST
            self.ends.append((name, producer, None if is_empty else commit, version, ticket))
            self.listen()

    @staticmethod
    def is_repeated(written: Transaction | None, producer: Producer, commit: bool) -> bool:
        """Whether the producer's last transaction has ended this way, and it has not heard of its next epoch."""
        ended = TransactionState.COMPLETE_COMMIT if commit else TransactionState.COMPLETE_ABORT
        return (
            written is not None
            and written.state is ended
            and (written.producer_id, written.producer_epoch) == (producer.producer_id, producer.epoch + 1)
        )

    @precondition(lambda self: not self.d.held and not self.d.markers)
    @rule(name=NAMES)
    def use_up_epochs(self, name: str) -> None:
        entry = self.d.coordinator.transactional_ids.get(name)
        if entry is None or entry.pending is not None or entry.current.producer_epoch == NO_EPOCH:
            return
        if entry.current.state in (
            TransactionState.EMPTY,
            TransactionState.COMPLETE_COMMIT,
            TransactionState.COMPLETE_ABORT,
        ):
            self.known[name].append(self.d.set_epoch(MAX_EPOCH - 1, name))
            self.seen_log = len(self.d.log)
            self.latest[name] = entry.current

    def listen(self) -> None:
        """Take over what was answered since."""
        for name, before, ticket in self._answered(self.inits):
            if ticket.error is ErrorCode.NONE:
                assert before is not None or ticket.producer not in self.known[name], "two producers with one epoch"
                self.known[name].append(ticket.producer)
        for name, producer, partition, ticket in self._answered(self.adds):
            if ticket.error is ErrorCode.NONE:
                opened = self.newest(name, producer)
                assert opened is not None and partition in opened.partitions, "answered before it was written"
        for name, producer, commit, version, ticket in self._answered(self.ends):
            if ticket.error is not ErrorCode.NONE:
                continue
            if version == 2:
                assert ticket.producer != producer, "each transaction has an epoch of its own"
                if ticket.producer not in self.known[name]:
                    self.known[name].append(ticket.producer)
            opened = self.newest(name, producer)
            assert None in (opened, commit) or set(opened.ended.values()) <= {commit}, (
                "told one thing, and ended another way"
            )

    @staticmethod
    def _answered(requests: list) -> list:  # type: ignore[type-arg]
        done = [each for each in requests if each[-1].response is not None]
        requests[:] = [each for each in requests if each[-1].response is None]
        return done

    def newest(self, name: str, producer: Producer) -> Open | None:
        self.read_log()
        found = [each for each in self.transactions if (each.name, each.producer) == (name, producer)]
        return found[-1] if found else None

    # What happens to the broker

    @rule(lost=st.sets(PARTITIONS, max_size=2))
    def write_markers(self, lost: set[TopicPartition]) -> None:
        self.d.write_markers(dict.fromkeys(lost, RETRIABLE))
        self.take_markers()
        self.listen()

    def take_markers(self) -> None:
        new, self.seen_markers = self.d.written[self.seen_markers :], len(self.d.written)
        self.read_log()
        for partition, producer_id, epoch, commit in new:
            ended = [each for each in self.transactions if each.producer.producer_id == producer_id][-1]
            assert partition in ended.partitions and epoch - 1 <= ended.producer.epoch <= epoch
            assert ended.ended.setdefault(partition, commit) is commit, "ended twice, in two ways"
            assert len(set(ended.ended.values())) == 1, "ended in different ways"
            assert not commit or True in ended.asked, "committed, and nobody asked"

    @rule(ms=st.sampled_from([1000, 20_000, 50_000, 80_000, 80_000, 500_000]))
    def advance(self, ms: int) -> None:
        self.d.advance(ms)
        self.listen()

    @rule()
    def settle_down(self) -> None:
        """Nothing is wrong for a while, so that the producers get on."""
        self.d.fail_with = None
        self.d.release()
        self.d.advance(2000)
        self.write_markers(set())

    @rule(name=NAMES, partitions=st.sets(PARTITIONS, min_size=1), commit=st.booleans(), version=VERSIONS)
    def whole_transaction(self, name: str, partitions: set[TopicPartition], commit: bool, version: int) -> None:
        for partition in sorted(partitions):
            self.add(name, 0, partition, version)
        self.end(name, 0, commit, version)

    @rule(name=NAMES, commit=st.booleans(), again=st.booleans(), version=VERSIONS)
    def end_again(self, name: str, commit: bool, again: bool, version: int) -> None:
        """The answer was lost: the producer knows of the epoch before only. Or it asks for something else."""
        self.settle_down()
        if not self.known[name]:
            self.init(name, None)
        self.whole_transaction(name, {("t", 0), ("u", 0)}, commit, version)
        self.settle_down()
        self.end(name, 1 if version == 2 else 0, again, version)

    @rule()
    def slow_log(self) -> None:
        self.d.hold = True

    @rule()
    def release(self) -> None:
        self.d.release()
        self.listen()

    @rule(error=st.sampled_from([None, None, ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.KAFKA_STORAGE_ERROR]))
    def failing_log(self, error: ErrorCode | None) -> None:
        self.d.fail_with = error
        self.is_offline |= error is ErrorCode.KAFKA_STORAGE_ERROR

    @rule()
    def expiry_that_fails(self) -> None:
        self.settle_down()
        self.d.fail_with = ErrorCode.NOT_ENOUGH_REPLICAS
        self.advance(500_000)
        self.d.fail_with = None

    @rule(written=st.sampled_from([0, 0, 1, 2]))
    def crash(self, written: int) -> None:
        """Of what was on its way, only the log knows how much was written. Nobody hears of it."""
        self.d.fail_with = None
        self.d.release_some(written)
        for requests in (self.inits, self.adds, self.ends):
            requests.clear()
        self.d.hold = self.is_offline = False
        self.d.restart()

    # What must hold

    def read_log(self) -> None:
        """Follow the log: each record may follow the one before it, and epochs rise one by one."""
        for key, value in self.d.log[self.seen_log :]:
            record = decode(key, value)
            assert record is not None
            name, after, before = record.transactional_id, record.transaction, self.latest.get(record.transactional_id)
            if after is None:
                forgotten = self.latest.pop(name)
                assert forgotten.state in AT_REST, "forgotten with its transaction open"
                assert self.d.now_ms - forgotten.last_update_ms >= EXPIRATION_MS, "forgotten early"
                continue
            if before is not None:
                assert before.state in FOLLOWS[after.state]
                identity = (after.producer_id, after.producer_epoch)
                assert identity >= (before.producer_id, before.producer_epoch)
                if after.producer_id == before.producer_id:
                    assert after.producer_epoch - before.producer_epoch <= 1
            if after.state in (*AT_REST, TransactionState.ONGOING):
                assert after.producer_epoch < MAX_EPOCH, "the highest epoch is kept back for fencing"
            if after.state is TransactionState.ONGOING:
                if before is not None and before.state is TransactionState.ONGOING:
                    assert before.partitions <= after.partitions, "a partition was forgotten"
                else:
                    self.transactions.append(Open(name, Producer(after.producer_id, after.producer_epoch)))
                [each for each in self.transactions if each.name == name][-1].partitions |= after.partitions
            elif after.state is TransactionState.PREPARE_ABORT and before is not None:
                self.check_abort(name, before, after)
            self.latest[name] = after
        self.seen_log = len(self.d.log)

    def check_abort(self, name: str, before: Transaction, after: Transaction) -> None:
        """Its producer asked for it, or somebody else for the id, or it took too long."""
        opened = [each for each in self.transactions if each.name == name][-1:]
        if before.state is TransactionState.ONGOING and opened and False not in opened[0].asked:
            assert opened[0].is_challenged or after.last_update_ms - before.start_ms > TIMEOUT_MS, "aborted early"

    @invariant()
    def a_partition_is_in_the_transaction_if_the_log_says_so(self) -> None:
        self.read_log()
        for name, known in self.known.items():
            for producer in known[-2:]:
                for partition in (("t", 0), ("u", 0)):
                    found = self.d.verify(producer, partition, name=name)
                    written = self.latest.get(name)
                    is_open = (
                        written is not None
                        and written.state is TransactionState.ONGOING
                        and (written.producer_id, written.producer_epoch) == (producer.producer_id, producer.epoch)
                    )
                    expected = written is not None and is_open and partition in written.partitions
                    assert (found is ErrorCode.NONE) is expected

    @invariant()
    def memory_is_what_the_log_says(self) -> None:
        self.read_log()
        for name, entry in self.d.coordinator.transactional_ids.items():
            current = entry.current
            if current.producer_epoch == NO_EPOCH:
                continue
            written = self.latest[name]
            if current.state in PREPARED:
                assert current.partitions <= written.partitions
                current = replace(current, partitions=written.partitions)
            assert replace(current, last_producer_epoch=NO_EPOCH) == replace(written, last_producer_epoch=NO_EPOCH)

    @invariant()
    def what_is_prepared_has_somebody_working_on_it(self) -> None:
        waiting = {each.transactional_id for each in self.d.markers}
        waiting |= {record.transactional_id for each in self.d.held for record in each.records}
        for name, entry in self.d.coordinator.transactional_ids.items():
            if entry.current.state in PREPARED:
                assert entry.pending is not None
                # With all markers written, only the last record is missing: it waits for its retry, or for a restart.
                assert name in waiting or not entry.current.partitions

    @invariant()
    def whoever_waits_waits_for_the_log(self) -> None:
        if not self.d.held:
            assert not self.inits and not self.adds and not self.ends, "a request was forgotten"

    def everybody_gets_on(self) -> None:
        """With a log that works, a new producer gets its id; unless the coordinator lost its log, which ends its service."""
        for name in () if self.is_offline else ("x", "y"):
            for _ in range(4):
                self.init(name, None)
                self.d.advance(2000)
                self.write_markers(set())
            ticket = self.d.init(name)
            assert ticket.error is ErrorCode.NONE, "an id is blocked for ever"
            self.inits.append((name, None, ticket))
            self.listen()

    def teardown(self) -> None:
        """In the end, with a log that works, everything comes to its end, and is then forgotten."""
        if sys.exception() is not None:
            return
        self.d.fail_with = None
        self.d.release()
        self.listen()
        self.whoever_waits_waits_for_the_log()
        self.everybody_gets_on()
        self.crash(0)
        self.d.advance(100_000)
        for _ in range(3):
            self.d.write_markers()
            self.take_markers()
        for entry in self.d.coordinator.transactional_ids.values():
            assert entry.pending is None and entry.current.state not in (*PREPARED, TransactionState.ONGOING)
        for each in self.transactions:
            assert set(each.ended) == each.partitions, "a partition was left open"
        self.d.advance(2 * EXPIRATION_MS)
        self.read_log()
        assert not self.latest and not self.d.coordinator.transactional_ids, "an id is kept for ever"


TestTransactions = TransactionMachine.TestCase
TestTransactions.settings = machine_settings(300, 40)
