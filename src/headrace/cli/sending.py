"""A producer at work for `headrace produce`: sends records, counts what was acknowledged where, shows progress when it takes long."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from headrace.admin.errors import from_kafka
from headrace.admin.records_in import NewRecord
from headrace.admin.times import counted
from headrace.cli.output import PATIENCE_S, print_json, say


@dataclass(slots=True)
class Sending:
    """A producer at work: what was acknowledged where, what failed, and progress when it takes long."""

    topic: str
    producer: Any
    sent: int = 0
    delivered: int = 0
    failures: int = 0
    first_error: Any = None
    offsets: dict[int, list[int]] = field(default_factory=dict)
    begin: float = field(default_factory=time.monotonic)
    _shown: float = 0.0

    def run(self, records: Iterable[NewRecord]) -> None:
        """Send everything; on Ctrl-C and on bad input, what was read before still goes out."""
        try:
            for record in records:
                self._send(record)
                if self.sent % 256 == 0 or sys.stdin.isatty():
                    self.producer.poll(0)
                    self._progress()
        finally:
            while self.producer.flush(1.0):
                self._progress()
            if self._shown:
                sys.stderr.write("\r\x1b[K")

    def _send(self, record: NewRecord) -> None:
        from confluent_kafka import KafkaException

        optional: dict[str, Any] = {} if record.partition is None else {"partition": record.partition}
        if record.timestamp_ms is not None:
            optional["timestamp"] = record.timestamp_ms
        while True:
            try:
                self.producer.produce(
                    self.topic,
                    record.value,
                    record.key,
                    headers=record.headers or None,
                    on_delivery=self._on_delivery,
                    **optional,
                )
                self.sent += 1
                return
            except BufferError:
                self.producer.poll(0.1)
                self._progress()
            except KafkaException as error:
                raise from_kafka(error.args[0], f"Record {self.sent + 1}") from None

    def _on_delivery(self, error: Any, message: Any) -> None:
        if error is not None:
            self.failures += 1
            self.first_error = self.first_error or error
            return
        self.delivered += 1
        offset = message.offset()
        span = self.offsets.setdefault(message.partition(), [offset, offset])
        span[0], span[1] = min(span[0], offset), max(span[1], offset)

    def _progress(self) -> None:
        now = time.monotonic()
        if now - self.begin < PATIENCE_S or now - self._shown < 0.2 or not sys.stderr.isatty() or sys.stdin.isatty():
            return
        self._shown = now
        sys.stderr.write(f"\r\x1b[K{self.delivered:,} records sent, {self.delivered / (now - self.begin):,.0f}/s")
        sys.stderr.flush()

    def report(self, *, as_json: bool) -> None:
        """Say what became of it; a record that was not delivered is a failure."""
        if as_json:
            partitions = {
                str(partition): {"first_offset": low, "last_offset": high}
                for partition, (low, high) in sorted(self.offsets.items())
            }
            print_json({"topic": self.topic, "sent": self.delivered, "failed": self.failures, "partitions": partitions})
        elif sys.stderr.isatty() and not self.failures:
            say(f"{counted(self.delivered, 'record')} sent to {self.topic}")
        if self.failures:
            raise from_kafka(self.first_error, f"{self.failures:,} of {self.sent:,} records were not delivered")
