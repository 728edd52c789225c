"""The leader's hand: takes changes one after another, decides on a state of its own, and writes what follows to the topic in transactions.

- **Fencing.** All leaders share one transactional id. Whoever is chosen begins with InitProducerId, which ends the transactions of the one before and
  refuses its later writes: a leader that was replaced without noticing cannot write any more, whatever it decides.
- **Nothing half done.** The records of a change, and of the changes that waited together, are one transaction. Answers are given when the reader has read them back.
- **Decisions see what was decided before.** `_ahead` is the committed state and what is on its way; when a transaction fails it is made anew.
- **Readers that know no transactions** (Confluent's registry, should somebody go back) would see what was aborted. A new leader therefore writes
  once more what the keys of aborted records really stand for.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from headrace import client
from headrace.registry.errors import NotLeader, RegistryError, Unsettled, too_large
from headrace.registry.records import (
    AssociationRecord,
    BadRecord,
    ClearSubjectRecord,
    ConfigRecord,
    ContextRecord,
    DeleteSubjectRecord,
    ModeRecord,
    NoopRecord,
    Record,
    SchemaRecord,
    decode,
    encode,
)
from headrace.registry.registration import Outcome
from headrace.registry.state import SharedState, State
from headrace.registry.topic import Read, TopicReader, TopicSettings, aborted_keys

if TYPE_CHECKING:
    from confluent_kafka import Producer

log = logging.getLogger(__name__)
MAX_WAITING = 10_000
MAX_TOGETHER = 200
TRANSACTION_TIMEOUT_MS = 10_000
Change = Callable[[State], Outcome]


@dataclass
class _Job:
    change: Change
    future: Future[Any] = field(default_factory=Future)
    answer: Any = None


class _Lost(Exception):
    """The lead is gone; the text says how."""


class Writer:
    """Leads from `lead` until `stop`. `submit` may be called from any thread."""

    def __init__(
        self, topic: TopicSettings, state: SharedState, reader: TopicReader, on_lost: Callable[[], None]
    ) -> None:
        self._topic = topic
        self._state = state
        self._reader = reader
        self._on_lost = on_lost
        self._jobs: queue.Queue[_Job | None] = queue.Queue(MAX_WAITING)
        self._read: deque[Read] = deque()
        self._own: set[int] = set()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._producer: Producer | None = None
        self._ahead = State()
        self.leading = False
        self.problem: str | None = None

    def lead(self, ready: Callable[[], None]) -> None:
        """Begin to lead, in the background; `ready` is called when changes are taken."""
        self._stopping.clear()
        self._thread = threading.Thread(target=self._run, args=(ready,), name="registry-writer", daemon=True)
        self._thread.start()

    def stop(self, reason: str = "Leader not known.") -> None:
        """Lead no more. What waits is refused; what is being written ends as the topic says."""
        self.leading = False
        self._stopping.set()
        if self._thread is not None:
            self._jobs.put(None)
            self._thread.join()
            self._thread = None
        self._refuse_waiting(NotLeader(reason))

    def submit(self, change: Change) -> Future[Any]:
        """Have a change decided and written; the future has its answer, or the `RegistryError` that refuses it."""
        job = _Job(change)
        if not self.leading:
            job.future.set_exception(NotLeader())
            return job.future
        try:
            self._jobs.put_nowait(job)
        except queue.Full:
            job.future.set_exception(RegistryError(50002, "Register operation timed out: too many changes are waiting"))
        if not self.leading:
            # It ended between the two lines above, and nobody takes jobs any more.
            self._refuse_waiting(NotLeader())
        return job.future

    def observe(self, read: Sequence[Read]) -> None:
        """What the reader read while this instance leads."""
        if self._thread is not None:
            self._read.extend(read)

    def _run(self, ready: Callable[[], None]) -> None:
        try:
            self._take_over()
            self.leading = True
            self.problem = None
            ready()
            while not self._stopping.is_set():
                jobs = self._next_jobs()
                if jobs:
                    self._serve(jobs)
        except _Lost as loss:
            self._lost(str(loss))
        except Exception as error:
            log.exception("the registry's writer failed")
            self._lost(str(error))
        finally:
            self.leading = False
            self._producer = None
            self._read.clear()
            self._refuse_waiting(NotLeader())

    def _lost(self, reason: str) -> None:
        self.leading = False
        self.problem = f"lost the lead: {reason}"
        log.warning("%s", self.problem)
        self._refuse_waiting(NotLeader())
        if not self._stopping.is_set():
            self._on_lost()

    def _refuse_waiting(self, error: RegistryError) -> None:
        while True:
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                return
            if job is not None:
                job.future.set_exception(error)

    def _next_jobs(self) -> list[_Job]:
        """The first that comes, and all that wait with it."""
        found = [self._jobs.get()]
        while len(found) < MAX_TOGETHER:
            try:
                found.append(self._jobs.get_nowait())
            except queue.Empty:
                break
        return [job for job in found if job is not None]

    # Taking over

    def _take_over(self) -> None:
        from confluent_kafka import KafkaException

        kafka = {**(self._topic.kafka or {})}
        options = {
            **kafka,
            "transactional.id": f"headrace-registry-{self._topic.name}",
            "transaction.timeout.ms": TRANSACTION_TIMEOUT_MS,
            "linger.ms": 0,
        }
        self._producer = client.producer(self._topic.bootstrap_servers, options)
        try:
            self._producer.init_transactions(self._topic.timeout_s)
        except KafkaException as error:
            raise _Lost(f"cannot begin to write: {error.args[0].str()}") from error
        self._own.clear()
        self._mend(self._write_read_back([NoopRecord()]))
        self._ahead = self._state.copy()

    def _mend(self, noop: int) -> None:
        """Write once more what the keys of aborted records stand for; they lie between our first record and the last one that counts."""
        before = next((read.previous for read in self._read if read.offset == noop), noop - 1)
        if noop - before <= 1:
            return
        keys = aborted_keys(self._topic, before + 1, noop)
        records = [record for key in keys for record in _present(self._state, key)]
        if records:
            log.warning("%d records of a write that was cut off are taken back", len(records))
            self._write_read_back(records)

    # Changes

    def _serve(self, jobs: list[_Job]) -> None:
        self._catch_up()
        records: list[Record] = []
        decided = [job for job in jobs if self._decide(job, records)]
        try:
            if records:
                self._write_read_back(records)
        except RegistryError as error:
            self._ahead = self._state.copy()
            for job in decided:
                job.future.set_exception(error)
            return
        except _Lost:
            for job in decided:
                job.future.set_exception(Unsettled("the lead was lost while writing; ask again"))
            raise
        for job in decided:
            job.future.set_result(job.answer)

    def _decide(self, job: _Job, records: list[Record]) -> bool:
        if not job.future.set_running_or_notify_cancel():
            return False
        try:
            outcome = job.change(self._ahead)
        except Exception as error:
            job.future.set_exception(error)
            return False
        for record in outcome.records:
            self._ahead.apply(record)
        records.extend(outcome.records)
        job.answer = outcome.answer
        return True

    def _catch_up(self) -> None:
        """Records that somebody else wrote: not expected, but the topic is right."""
        while self._read:
            read = self._read.popleft()
            if read.offset in self._own:
                self._own.discard(read.offset)
            elif not isinstance(read.record, NoopRecord):
                self._ahead.apply(read.record)

    def _write_read_back(self, records: Sequence[Record]) -> int:
        """One transaction; returns the last offset, when the reader has handed it on."""
        last = self._write(records)
        if not self._reader.wait_for(last, self._topic.timeout_s):
            raise _Lost(f"what was written was not read back within {self._topic.timeout_s:.0f} s")
        return last

    def _write(self, records: Sequence[Record]) -> int:
        from confluent_kafka import KafkaError, KafkaException

        assert self._producer is not None
        offsets: list[int] = []
        failures: list[KafkaError] = []

        def delivered(error: KafkaError | None, message: Any) -> None:
            failures.append(error) if error is not None else offsets.append(message.offset())

        try:
            self._producer.begin_transaction()
            for record in records:
                key, value = encode(record)
                self._producer.produce(self._topic.name, key=key, value=value, partition=0, on_delivery=delivered)
            self._producer.commit_transaction(self._topic.timeout_s)
        except KafkaException as error:
            self._abort(error, failures)
        self._own.update(offsets)
        return max(offsets)

    def _abort(self, error: Any, failures: Sequence[Any]) -> None:
        """A record that is too large is its sender's fault; anything else means that this writer starts anew."""
        from confluent_kafka import KafkaError, KafkaException

        reason = error.args[0]
        too_long = any(each.code() == KafkaError.MSG_SIZE_TOO_LARGE for each in (reason, *failures))
        assert self._producer is not None
        try:
            if too_long and not reason.fatal():
                self._producer.abort_transaction(self._topic.timeout_s)
                raise too_large()
        except KafkaException as worse:
            raise _Lost(worse.args[0].str()) from worse
        raise _Lost(reason.str())


def _present(state: State, key: bytes) -> list[Record]:
    """What a key stands for now, as records that say so to readers that saw something else."""
    try:
        cut_off = decode(key, None)
    except BadRecord:
        return []
    match cut_off:
        case SchemaRecord(subject, version, _):
            return [SchemaRecord(subject, version, state.version(subject, version, deleted=True))]
        case ConfigRecord(subject, _):
            return [ConfigRecord(subject, state.config(subject))]
        case ModeRecord(scope, _):
            return [ModeRecord(scope, state.mode(scope))]
        case ContextRecord(context, _):
            return [ContextRecord(context, state.has_context(context))]
        case AssociationRecord(where, _):
            return [AssociationRecord(where, state.association(where))]
        case DeleteSubjectRecord(subject, _):
            kept = [SchemaRecord(subject, each.version, each) for each in state.versions(subject)]
            return [DeleteSubjectRecord(subject, None), *kept]
        case ClearSubjectRecord(scope, _):
            return [ClearSubjectRecord(scope, False)]
        case _:
            return []
