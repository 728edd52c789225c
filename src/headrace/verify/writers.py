"""Workers that write: plain idempotent producers, and transactional ones that may be taken over in the middle."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from headrace.verify.client_settings import CALL_TIMEOUT_S, PRODUCING, RETURN_WITHIN_S, TRANSACTIONAL
from headrace.verify.history import FAIL, OK, UNKNOWN
from headrace.verify.worker import Sent, Stage, Stuck, Worker, bounded, client_errors, discard, reason

if TYPE_CHECKING:
    from confluent_kafka import Producer


class PlainProducer(Worker):
    """Sends records one after the other without waiting, each exactly once as far as the application is concerned."""

    def work(self) -> None:
        session = 0
        while not self.stopping.is_set():
            session += 1
            producer = self.producer(PRODUCING)
            # After a fatal error a client is of no use, and says so at the next call.
            with contextlib.suppress(*client_errors()):
                self._produce(producer, f"{self.label}/{session}")
            discard(producer)

    def _produce(self, producer: Producer, session: str) -> None:
        for partition in range(self.stage.partitions):
            # A log takes any sequence number from a producer that it does not know. When the first of two batches under way has to
            # be sent again, Kafka takes the second, calls the first a duplicate of it, and librdkafka reports it as delivered.
            self._send(producer, session, partition)
            producer.flush(CALL_TIMEOUT_S)
        self.ready.set()
        while not self.stopping.is_set():
            self._send(producer, session, self.random.randrange(self.stage.partitions))
            producer.poll(0)
            self.rest()
        producer.flush(CALL_TIMEOUT_S)

    def _send(self, producer: Producer, session: str, partition: int) -> None:
        self.send(producer, self.stage.source, partition, producer=self.label, session=session, txn=None)


class Session:
    """One life of a transactional producer: from taking the transactional id over until it is fenced or given up."""

    version = 1

    def __init__(self, worker: Worker, number: int) -> None:
        self.worker = worker
        self.recorder = worker.recorder
        self.name = f"{worker.label}/{number}"
        self.transactional_id = f"{worker.stage.group}-{worker.label}"
        self.producer: Producer = worker.producer({**TRANSACTIONAL, "transactional.id": self.transactional_id})
        self.must_abort = False
        self.stuck = False
        self.usable = self._init()
        self._transactions = 0

    def _init(self) -> bool:
        fields = {"producer": self.transactional_id, "session": self.name, "version": self.version}
        return self._note("init", fields, lambda: self.producer.init_transactions(CALL_TIMEOUT_S))

    def _note(self, f: str, fields: dict[str, Any], call: Any) -> bool:
        """Run one call as one operation. What it raises makes it unknown, and this session end."""
        identity = self.recorder.invoke(self.worker.label, f, **fields)
        try:
            bounded(call, RETURN_WITHIN_S)
        except client_errors() as error:
            self.recorder.end(identity, UNKNOWN, error=str(reason(error)))
            self.must_abort = reason(error).txn_requires_abort()
            return False
        except Stuck as error:
            self.recorder.end(identity, UNKNOWN, error=str(error))
            self.stuck, self.must_abort = True, False
            return False
        self.recorder.end(identity, OK)
        return True

    def begin(self) -> str:
        self._transactions += 1
        self.producer.begin_transaction()
        return f"{self.name}#{self._transactions}"

    def send(self, txn: str, topic: str, partition: int, source: list[Any] | None = None) -> Sent:
        fields = {"producer": self.transactional_id, "session": self.name, "txn": txn, "source": source}
        return self.worker.send(self.producer, topic, partition, **fields)

    def offsets(self, txn: str, offsets: dict[str, int], metadata: Any) -> bool:
        from confluent_kafka import TopicPartition

        positions = []
        for partition, offset in offsets.items():
            topic, _, index = partition.rpartition("/")
            positions.append(TopicPartition(topic, int(index), offset))
        fields = {"txn": txn, "group": self.worker.stage.group, "offsets": offsets, **self._owner()}
        return self._note(
            "offsets",
            fields,
            lambda: self.producer.send_offsets_to_transaction(positions, metadata, CALL_TIMEOUT_S),
        )

    def delivered(self, sends: list[Sent]) -> bool:
        """Wait for every answer; a transaction with an open question must not be committed, and ends its session.

        librdkafka takes a record that waits to be sent again for one that was never sent. When an abort throws it away, its sequence
        numbers go to other records in the same epoch, which the broker then takes for duplicates: they are lost.
        """
        with contextlib.suppress(*client_errors()):
            self.producer.flush(CALL_TIMEOUT_S)
        good = all(sent.outcome == OK for sent in sends)
        self.usable = self.usable and good
        return good

    def end(self, txn: str, *, commit: bool) -> bool:
        """Commit or abort. True when it is known to have happened; otherwise the transaction is aborted or the session over."""
        if self.stuck:
            self.usable = False
            return False
        fields = {"txn": txn, "commit": commit, **self._owner()}
        call = self.producer.commit_transaction if commit else self.producer.abort_transaction
        if self._note("end", fields, lambda: call(CALL_TIMEOUT_S)):
            self.worker.ready.set()
            return True
        if commit and self.must_abort:
            self.end(txn, commit=False)
        else:
            self.usable = False
        return False

    def _owner(self) -> dict[str, str]:
        return {"producer": self.transactional_id, "session": self.name}

    def close(self) -> None:
        if not self.stuck:
            discard(self.producer)


class SessionWorker(Worker):
    """A worker with a transactional producer, which gets a new session whenever the old one is of no use."""

    def __init__(self, stage: Stage, name: str) -> None:
        super().__init__(stage, name)
        self._sessions = 0

    def new_session(self) -> Session:
        self._sessions += 1
        return Session(self, self._sessions)

    def usable(self, session: Session | None) -> Session | None:
        """The session, or one in its place that works; None when there was none to be had this time."""
        if session is not None and session.usable:
            return session
        if session is not None:
            session.close()
        return self.new_session()


class TransactionalWriter(SessionWorker):
    """Writes transactions of several records over several partitions, and aborts some of them on purpose."""

    def work(self) -> None:
        session = None
        while not self.stopping.is_set():
            session = self.usable(session)
            if session is not None and session.usable:
                session = self._transact(session)
            self.rest()
        if session is not None:
            session.close()

    def _transact(self, session: Session) -> Session:
        txn = session.begin()
        sends = self._send_some(session, txn)
        if self.random.random() < self.stage.takeover_share:
            return self._taken_over(session, txn, sends)
        wanted = self.random.random() >= self.stage.abort_share
        session.end(txn, commit=session.delivered(sends) and wanted)
        return session

    def _send_some(self, session: Session, txn: str) -> list[Sent]:
        sends: list[Sent] = []
        for _ in range(self.random.randint(2, 6)):
            partition = self.random.randrange(self.stage.partitions)
            try:
                sends.append(session.send(txn, self.stage.source, partition))
            except client_errors():
                # Refused by the client itself, which knows already that this transaction or session is over.
                sends.append(Sent("", FAIL))
        return sends

    def _taken_over(self, session: Session, txn: str, sends: list[Sent]) -> Session:
        """A successor begins while the old session is in the middle; the old one goes on and must not get through."""
        session.delivered(sends)
        successor = self.new_session()
        if successor.usable:
            more = self._send_some(session, txn) if self.random.random() < 0.5 else []
            session.end(txn, commit=session.delivered(sends + more))
        session.close()
        return successor
