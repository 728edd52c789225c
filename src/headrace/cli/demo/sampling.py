"""What the demo's table shows, asked from the broker once a second as any client could: offsets, sizes, the group's lag."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, field

from headrace.admin import groups as group_view
from headrace.admin.cluster import Cluster
from headrace.admin.log_dirs import partition_sizes
from headrace.cli.demo.events import FEEDS
from headrace.cli.demo.streaming import GROUP

HISTORY = 40


@dataclass(slots=True)
class TopicSample:
    """One topic at a moment, and its rate over the last ones."""

    name: str
    partitions: int
    records: int = 0
    bytes: int | None = None
    rates: deque[float] = field(default_factory=lambda: deque(maxlen=HISTORY))
    _end: int | None = None

    def update(self, start: int, end: int, size: int | None, seconds: float) -> None:
        if self._end is not None and seconds > 0:
            self.rates.append((end - self._end) / seconds)
        self._end, self.records, self.bytes = end, end - start, size

    @property
    def rate(self) -> float:
        recent = list(self.rates)[-3:]
        return sum(recent) / len(recent) if recent else 0.0


class Sampler:
    """Asks the broker and remembers. `lags` is the group's lag over the last samples."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.topics = [TopicSample(feed.topic, feed.partitions) for feed in FEEDS]
        self.lags: deque[int] = deque(maxlen=HISTORY)
        self._last = time.monotonic()

    def sample(self) -> None:
        from confluent_kafka import TopicPartition
        from confluent_kafka.admin import OffsetSpec

        metadata = self._cluster.topics()
        partitions = [
            TopicPartition(t.name, p) for t in self.topics if t.name in metadata for p in metadata[t.name].partitions
        ]
        starts = self._cluster.offsets(partitions, OffsetSpec.earliest())
        ends = self._cluster.offsets(partitions, OffsetSpec.latest())
        sizes = partition_sizes(self._cluster)
        now = time.monotonic()
        for topic in self.topics:
            mine = [partition for partition in ends if partition[0] == topic.name]
            topic.partitions = len(mine)
            topic.update(
                sum(starts.get(partition, 0) for partition in mine),
                sum(ends[partition] for partition in mine),
                sum(sizes.get(partition, 0) for partition in mine) if sizes else None,
                now - self._last,
            )
        self._last = now
        committed = group_view.committed(self._cluster, GROUP)
        self.lags.append(sum(max(0, end - committed.get(p, starts.get(p, 0))) for p, end in ends.items()))
