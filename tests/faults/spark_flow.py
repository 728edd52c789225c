"""The input of the Spark kill test: produced a portion at a time, at a steady rate, and held at barriers until it is processed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

from confluent_kafka import Message

from headrace import client
from tests.faults.spark_workloads import Barrier, Input


class Flow(threading.Thread):
    """Produces the input. `wait_processed` is called at barriers, with the time when all that came was with the broker."""

    def __init__(
        self, bootstrap_servers: str, records: Iterator[Input | Barrier], wait_processed: Callable[[float], None]
    ) -> None:
        super().__init__(name="flow", daemon=True)
        self.sent = 0
        self.barriers = 0
        self.problems: list[str] = []
        self._records = records
        self._wait_processed = wait_processed
        self._allowed, self._rate = 0, 1.0
        self._changed = threading.Condition()
        self._ended = False
        self._producer = client.producer(
            bootstrap_servers,
            {
                "linger.ms": 5,
                "reconnect.backoff.max.ms": 200,
                "message.timeout.ms": 300_000,
                "queue.buffering.max.messages": 1_000_000,
            },
        )

    def allow(self, up_to: int, seconds: float) -> None:
        """Let the flow go on up to a record, in about this time."""
        with self._changed:
            self._allowed = up_to
            self._rate = max(1.0, (up_to - self.sent) / max(seconds, 0.01))
            self._changed.notify()

    def finish(self) -> None:
        """Wait until all that was allowed is with the broker."""
        with self._changed:
            self._ended = True
            self._changed.notify()
        self.join(300)
        assert not self.is_alive(), "the flow did not end"
        self._flush()

    def check(self) -> None:
        """Raise what went wrong in the flow's own thread."""
        assert not self.problems, f"the input came to a stop: {self.problems[:3]}"

    def run(self) -> None:
        try:
            self._run()
        except Exception as error:
            self.problems.append(repr(error))
            raise

    def _run(self) -> None:
        for record in self._records:
            if isinstance(record, Barrier):
                self._flush()
                self._wait_processed(time.time())
                self.barriers += 1
                continue
            with self._changed:
                while self.sent >= self._allowed:
                    if self._ended:
                        return
                    self._changed.wait(1.0)
            self._send(record)
            self.sent += 1
            if self.sent % 100 == 0:
                self._producer.poll(0)
                time.sleep(100 / self._rate)  # paces the flow; nothing is awaited here

    def _send(self, record: Input) -> None:
        while True:
            try:
                self._producer.produce(
                    record.topic,
                    record.value,
                    record.key,
                    record.partition,
                    on_delivery=self._delivered,
                    timestamp=record.timestamp_ms,
                )
                return
            except BufferError:
                self._producer.poll(0.1)

    def _flush(self) -> None:
        left = self._producer.flush(120)
        assert not left and not self.problems, f"input was not delivered: {left} without an answer, {self.problems[:3]}"

    def _delivered(self, error: object, _message: Message) -> None:
        if error is not None:
            self.problems.append(str(error))
