"""The newest records of a topic as they come, on a thread of its own. At any rate it reads only what is going to be shown: a few records of each partition
every second, by jumping to the end; the others are counted as passed over."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.admin.cluster import Cluster
from headrace.admin.errors import Problem, from_kafka
from headrace.admin.positions import Partition
from headrace.admin.reading import is_end
from headrace.console.records import Record, record
from headrace.console.registry import Lens

INTERVAL_S = 1.0
SHOWN_EACH_TIME = 60
_READ_S = 2.0
# Small fetches: what is read ahead of the few records that are shown is wasted.
_CLIENT = {
    "fetch.message.max.bytes": 64 << 10,
    "fetch.max.bytes": 1 << 20,
    "queued.min.messages": 1,
    "queued.max.messages.kbytes": 1 << 10,
    "fetch.wait.max.ms": 50,
    "enable.partition.eof": True,
    "message.max.bytes": 1 << 20,
}


@dataclass(frozen=True, slots=True)
class Glimpse:
    """What came in an interval: the newest records and how many others there were."""

    records: tuple[Record, ...]
    passed_over: int
    problem: str = ""


class Tail:
    """Calls `on_glimpse` from its thread until it is stopped; while nobody wants to see it, nothing is read."""

    def __init__(
        self,
        cluster: Cluster,
        topic: str,
        partitions: Sequence[int],
        on_glimpse: Callable[[Glimpse], None],
        *,
        lens: Lens | None = None,
        wanted: Callable[[], bool] = lambda: True,
    ) -> None:
        self._cluster = cluster
        self._places: list[Partition] = [(topic, index) for index in partitions]
        self._on_glimpse = on_glimpse
        self._lens = lens or Lens()
        self._wanted = wanted
        self._positions: dict[Partition, int] = {}
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"console-tail-{topic}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Ends soon; `join` waits for it."""
        self._stopping.set()

    def join(self, timeout_s: float = 10.0) -> None:
        self._thread.join(timeout_s)

    def _run(self) -> None:
        consumer = self._cluster.consumer(None, _CLIENT)
        try:
            while not self._stopping.is_set():
                began = time.monotonic()
                if self._wanted():
                    self._look(consumer)
                else:
                    self._positions.clear()
                self._stopping.wait(max(0.05, INTERVAL_S - (time.monotonic() - began)))
        finally:
            consumer.close()

    def _look(self, consumer: Any) -> None:
        from confluent_kafka import KafkaException

        try:
            glimpse = self._glimpse(consumer)
        except Problem as error:
            glimpse = Glimpse((), 0, error.line())
        except KafkaException as error:
            glimpse = Glimpse((), 0, from_kafka(error.args[0]).line())
        if not self._stopping.is_set() and (glimpse.records or glimpse.passed_over or glimpse.problem):
            self._on_glimpse(glimpse)

    def _glimpse(self, consumer: Any) -> Glimpse:
        from headrace.admin.groups import end_offsets

        ends = end_offsets(self._cluster, self._places)
        first_time = not self._positions
        news = {place: (self._positions.get(place, end), end) for place, end in ends.items()}
        self._positions.update(ends)
        if first_time:
            return Glimpse((), 0)
        news = {place: span for place, span in news.items() if span[0] < span[1]}
        share = max(1, SHOWN_EACH_TIME // max(1, len(news)))
        starts = {place: max(begin, end - share) for place, (begin, end) in news.items()}
        passed_over = sum(starts[place] - begin for place, (begin, _) in news.items())
        records = self._read(consumer, starts, {place: end for place, (_, end) in news.items()})
        return Glimpse(tuple(records), passed_over)

    def _read(self, consumer: Any, starts: dict[Partition, int], ends: dict[Partition, int]) -> list[Record]:
        from confluent_kafka import TopicPartition

        if not starts:
            return []
        consumer.assign([TopicPartition(*place, offset) for place, offset in starts.items()])
        left, found = set(starts), []
        deadline = time.monotonic() + _READ_S
        try:
            while left and time.monotonic() < deadline and not self._stopping.is_set():
                for message in consumer.consume(SHOWN_EACH_TIME, timeout=0.1):
                    place = (message.topic(), message.partition())
                    if is_end(message):
                        left.discard(place)
                        continue
                    if message.offset() < ends[place]:
                        found.append(self._lens.apply(record(message)))
                    if message.offset() >= ends[place] - 1:
                        left.discard(place)
        finally:
            consumer.unassign()
        return sorted(found, key=lambda one: (one.timestamp_ms or 0, one.partition, one.offset))
