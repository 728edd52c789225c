"""Workers that read everything, at either isolation level, and the last read of all when the run is over."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from headrace import client
from headrace.verify.client_settings import CALL_TIMEOUT_S, PERSISTENT, READING, TRANSACTIONAL
from headrace.verify.evidence import COMMITTED, UNCOMMITTED
from headrace.verify.history import OK, UNKNOWN
from headrace.verify.worker import Stage, Worker, client_errors, leave, reason, where

if TYPE_CHECKING:
    from confluent_kafka import Consumer

STABLE_WITHIN_S = 60.0
RESTART_SHARE = 0.005


class Unfinished(Exception):
    """The cluster did not come back, so that nothing can be said about what it holds."""


class Reader(Worker):
    """Reads all partitions from the beginning, over and over, without a group."""

    def __init__(self, stage: Stage, name: str, isolation: str) -> None:
        super().__init__(stage, name)
        self.isolation = isolation

    def work(self) -> None:
        session = 0
        self.ready.set()
        while not self.stopping.is_set():
            session += 1
            self._read(f"{self.label}/{session}")

    def _read(self, session: str) -> None:
        """One session: until the end of the run, or until chance says to start over."""
        consumer = self.consumer(None, {**READING, "isolation.level": self.isolation})
        consumer.assign(_from_the_beginning(self.stage))
        while not self.stopping.is_set() and self.random.random() >= RESTART_SHARE:
            identity = self.recorder.invoke(self.label, "poll", isolation=self.isolation, session=session)
            messages = [message for message in consumer.consume(200, timeout=0.2) if message.error() is None]
            self.recorder.end(identity, OK, records=[where(message) for message in messages])
        leave(consumer)


def _from_the_beginning(stage: Stage) -> list[Any]:
    from confluent_kafka import OFFSET_BEGINNING, TopicPartition

    return [
        TopicPartition(topic, partition, OFFSET_BEGINNING)
        for topic in (stage.source, stage.sink)
        for partition in range(stage.partitions)
    ]


class FinalReader(Worker):
    """Runs alone on a healed cluster: ends what is still open, then reads everything at both isolation levels."""

    def work(self) -> None:
        self._end_open_transactions()
        unstable = self._wait_until_stable()
        for isolation in (UNCOMMITTED, COMMITTED):
            self._read_all(isolation, unstable if isolation == COMMITTED else [])

    def _end_open_transactions(self) -> None:
        """Take every transactional id over once more, which aborts what its last session left behind."""
        taken = {event["producer"]: event["version"] for event in self.recorder.events if event.get("f") == "init"}
        for number, (transactional_id, version) in enumerate(sorted(taken.items())):
            fields = {"producer": transactional_id, "session": f"{self.label}/{number}", "version": version}
            for attempt in range(5):
                identity = self.recorder.invoke(self.label, "init", **fields)
                producer = self.producer({**TRANSACTIONAL, "transactional.id": transactional_id})
                try:
                    producer.init_transactions(CALL_TIMEOUT_S)
                    self.recorder.end(identity, OK)
                    break
                except client_errors() as error:
                    self.recorder.end(identity, UNKNOWN, error=str(reason(error)))
                    if attempt == 4:
                        raise Unfinished(f"{transactional_id} cannot be taken over: {reason(error)}") from None

    def _wait_until_stable(self) -> list[str]:
        """Partitions whose last stable offset stays behind their end, with both."""
        from confluent_kafka.admin import OffsetSpec

        admin = client.admin(self.stage.bootstrap_servers, {**PERSISTENT, **self.stage.properties})
        asked = {partition: OffsetSpec.latest() for partition in _from_the_beginning(self.stage)}
        deadline = time.monotonic() + STABLE_WITHIN_S
        while True:
            ends = self._ends(admin, asked, committed=False)
            stable = self._ends(admin, asked, committed=True)
            behind = [f"{where}: {stable[where]} < {end}" for where, end in ends.items() if stable[where] < end]
            if not behind or time.monotonic() > deadline:
                return behind
            time.sleep(0.2)

    def _ends(self, admin: Any, asked: Any, *, committed: bool) -> dict[str, int]:
        from confluent_kafka import IsolationLevel

        level = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
        futures = admin.list_offsets(asked, isolation_level=level, request_timeout=CALL_TIMEOUT_S)
        return {f"{p.topic}/{p.partition}": future.result().offset for p, future in futures.items()}

    def _read_all(self, isolation: str, unstable: list[str]) -> None:
        identity = self.recorder.invoke(self.label, "final", isolation=isolation)
        settings = {**READING, "isolation.level": isolation, "enable.partition.eof": True}
        consumer = self.consumer(None, settings)
        partitions = _from_the_beginning(self.stage)
        consumer.assign(partitions)
        records = self._until_the_end(consumer, len(partitions))
        leave(consumer)
        self.recorder.end(identity, OK, records=records, unstable=unstable)

    def _until_the_end(self, consumer: Consumer, open_partitions: int) -> list[Any]:
        from confluent_kafka import KafkaError

        records: list[Any] = []
        ended: set[tuple[str | None, int | None]] = set()
        deadline = time.monotonic() + STABLE_WITHIN_S
        while len(ended) < open_partitions:
            if time.monotonic() > deadline:
                raise Unfinished(f"the final read got to the end of {len(ended)} of {open_partitions} partitions")
            for message in consumer.consume(1000, timeout=0.2):
                if message.error() is None:
                    records.append(where(message))
                elif message.error().code() == KafkaError._PARTITION_EOF:
                    ended.add((message.topic(), message.partition()))
        return records
