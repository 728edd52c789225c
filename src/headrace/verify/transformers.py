"""Workers that consume, transform and produce in one transaction with the offsets they consumed."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from headrace.verify.client_settings import CALL_TIMEOUT_S, IN_GROUP
from headrace.verify.history import OK, UNKNOWN
from headrace.verify.worker import client_errors, leave, reason, where
from headrace.verify.writers import Session, SessionWorker

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message

BATCH = 10
POLL_S = 0.3


class Transformer(SessionWorker):
    """Reads the source in a group and writes one output per input into the sink, exactly once."""

    def work(self) -> None:
        self._reads = 0
        self._metadata: Any = None
        consumer = self._subscribe()
        session = None
        while not self.stopping.is_set():
            session = self.usable(session)
            if session is None or not session.usable:
                continue
            batch = self._read(consumer)
            if batch and not self._transact(session, batch) and not self._rewind(consumer):
                leave(consumer)
                consumer = self._subscribe()
        if session is not None:
            session.close()
        leave(consumer)

    def _subscribe(self) -> Consumer:
        self._reads += 1
        consumer = self.consumer(self.stage.group, IN_GROUP)
        consumer.subscribe([self.stage.source], on_assign=self._on_assign, on_revoke=self._on_revoke)
        return consumer

    def _on_assign(self, consumer: Consumer, _partitions: Any) -> None:
        self._reads += 1
        # Taken now: a member that is thrown out later must present itself as the one it was when it read.
        self._metadata = consumer.consumer_group_metadata()

    def _on_revoke(self, _consumer: Consumer, _partitions: Any) -> None:
        self._reads += 1

    def _read(self, consumer: Consumer) -> list[Message]:
        """Records of one assignment. One that a rebalance interrupts is noted as read, and not used."""
        identity = self._begin_poll()
        batch: list[Message] = []
        reads, deadline = self._reads, time.monotonic() + POLL_S
        while len(batch) < BATCH and time.monotonic() < deadline:
            message = consumer.poll(max(0.0, deadline - time.monotonic()))
            if reads != self._reads:
                self._end_poll(identity, batch)
                identity, batch, reads = self._begin_poll(), [], self._reads
            if message is not None and message.error() is None:
                batch.append(message)
        self._end_poll(identity, batch)
        return batch

    def _begin_poll(self) -> str:
        session = f"{self.label}/{self._reads}"
        return self.recorder.invoke(self.label, "poll", isolation="read_committed", session=session)

    def _end_poll(self, identity: str, batch: list[Message]) -> None:
        self.recorder.end(identity, OK, records=[where(message) for message in batch])

    def _transact(self, session: Session, batch: list[Message]) -> bool:
        """Whether the batch is known to be done; otherwise its place in the source must be asked for."""
        txn = session.begin()
        sends, offsets = [], {}
        try:
            for message in batch:
                partition, offset, _ = where(message)
                sends.append(session.send(txn, self.stage.sink, message.partition(), [partition, offset]))
                offsets[partition] = offset + 1
        except client_errors():
            session.delivered(sends)
            session.usable = False
            return session.end(txn, commit=False) and False
        noted = session.offsets(txn, offsets, self._metadata)
        good = session.delivered(sends) and noted
        wanted = self.random.random() >= self.stage.abort_share
        return session.end(txn, commit=good and wanted) and good and wanted

    def _rewind(self, consumer: Consumer) -> bool:
        """Back to what the group has committed; false when this consumer cannot say."""
        from confluent_kafka import OFFSET_BEGINNING

        try:
            positions = consumer.committed(consumer.assignment(), timeout=CALL_TIMEOUT_S)
            for position in positions:
                if position.error is not None:
                    return False
                position.offset = position.offset if position.offset >= 0 else OFFSET_BEGINNING
                consumer.seek(position)
        except client_errors():
            return False
        self._reads += 1
        return True


class OffsetWatcher(SessionWorker):
    """Asks again and again what the group has committed."""

    def work(self) -> None:
        consumer = self.consumer(self.stage.group, IN_GROUP)
        while not self.stopping.is_set():
            ask_committed(self, consumer)
            self.ready.set()
            self.stopping.wait(0.5)
        leave(consumer)


def ask_committed(worker: Any, consumer: Consumer) -> bool:
    """One `committed` operation over all partitions of the source."""
    from confluent_kafka import TopicPartition

    stage = worker.stage
    asked = [TopicPartition(stage.source, partition) for partition in range(stage.partitions)]
    identity = stage.recorder.invoke(worker.label, "committed", group=stage.group)
    try:
        held = consumer.committed(asked, timeout=CALL_TIMEOUT_S)
    except client_errors() as error:
        stage.recorder.end(identity, UNKNOWN, error=str(reason(error)))
        return False
    if any(position.error is not None for position in held):
        stage.recorder.end(identity, UNKNOWN)
        return False
    offsets = {f"{p.topic}/{p.partition}": max(0, p.offset) for p in held}
    stage.recorder.end(identity, OK, offsets=offsets)
    return True
