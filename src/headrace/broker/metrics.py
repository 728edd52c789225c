"""What the broker can be asked about itself, as Prometheus metrics.

Nothing is kept here: each metric is declared once with the function that reads it from the broker when Prometheus asks, so
the hot path pays nothing. The reference page is made from `METRICS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from headrace.broker.dispatch import LATENCY_BUCKETS

if TYPE_CHECKING:
    from headrace.broker.server import Broker

Sample = tuple[tuple[str, ...], float]


@dataclass(frozen=True, slots=True)
class Measure:
    """One metric: its name, kind, meaning, labels, and how to read it."""

    name: str
    kind: str
    doc: str
    labels: tuple[str, ...]
    read: Callable[[Broker], Iterable[Sample]]


def _one(read: Callable[[Broker], float]) -> Callable[[Broker], Iterable[Sample]]:
    return lambda broker: [((), float(read(broker)))]


def _per_partition(read: Callable[..., float]) -> Callable[[Broker], Iterable[Sample]]:
    def samples(broker: Broker) -> Iterator[Sample]:
        for partition in broker.replicas.all():
            yield (partition.topic, str(partition.partition)), float(read(partition))

    return samples


def _requests(broker: Broker) -> Iterator[Sample]:
    for entry in broker.dispatcher.entries.values():
        yield (entry.name,), float(entry.requests)


def _lag(broker: Broker) -> Iterator[Sample]:
    for group, topic, partition, lag in broker.groups.lag():
        yield (group, topic, str(partition)), float(lag)


def _group_states(broker: Broker) -> Iterator[Sample]:
    for state, count in sorted(broker.groups.count_by_state().items()):
        yield (state,), float(count)


def _directories(broker: Broker) -> Iterator[Sample]:
    for directory in broker.replicas.directories:
        yield (str(directory.files.path),), float(directory.files.offline is not None)


def _slow_writes(broker: Broker) -> Iterator[Sample]:
    for directory in broker.replicas.directories:
        yield (str(directory.files.path),), float(directory.writer.slow_writes)


PARTITION = ("topic", "partition")
METRICS: tuple[Measure, ...] = (
    Measure("headrace_bytes_in", "counter", "Bytes of record batches that producers sent.", (), _one(lambda b: b.meters.bytes_in)),
    Measure("headrace_bytes_out", "counter", "Bytes of record batches that consumers were sent.", (), _one(lambda b: b.meters.bytes_out)),
    Measure("headrace_failed_produce", "counter", "Batches that were refused, by any error.", (), _one(lambda b: b.meters.failed_produce_requests)),
    Measure("headrace_requests", "counter", "Requests answered, per API.", ("api",), _requests),
    Measure("headrace_connections", "gauge", "Client connections open now.", (), _one(lambda b: b.limits.total)),
    Measure("headrace_connections_refused", "counter", "Connections refused by a limit.", (), _one(lambda b: b.limits.refused)),
    Measure("headrace_malformed_requests", "counter", "Connections closed because of a malformed request.", (), _one(lambda b: b.dispatcher.malformed)),
    Measure("headrace_unsent_bytes", "gauge", "Bytes of responses that slow clients have not taken yet.", (), _one(lambda b: sum(b.dispatcher.held_output.values()))),
    Measure("headrace_long_polls", "gauge", "Fetch requests that wait for data.", (), _one(lambda b: len(b.long_polls))),
    Measure("headrace_fetch_sessions", "gauge", "Incremental fetch sessions in the cache.", (), _one(lambda b: len(b.fetch_sessions))),
    Measure("headrace_topics", "gauge", "Topics.", (), _one(lambda b: len(b.image.topics))),
    Measure("headrace_partitions", "gauge", "Partitions on this node.", (), _one(lambda b: b.replicas.partition_count)),
    Measure("headrace_offline_partitions", "gauge", "Partitions whose log directory failed.", (), _one(lambda b: sum(p.offline for p in b.replicas.all()))),
    Measure("headrace_log_directory_offline", "gauge", "1 when the log directory failed.", ("path",), _directories),
    Measure("headrace_slow_writes", "counter", "Appends that took more than 5 ms.", ("path",), _slow_writes),
    Measure("headrace_log_size_bytes", "gauge", "Size of a partition's log.", PARTITION, _per_partition(lambda p: p.log.size)),
    Measure("headrace_log_start_offset", "gauge", "First offset of a partition.", PARTITION, _per_partition(lambda p: p.log_start_offset)),
    Measure("headrace_log_end_offset", "gauge", "Offset that the next record will get.", PARTITION, _per_partition(lambda p: p.log.log_end_offset)),
    Measure("headrace_groups", "gauge", "Consumer groups, by state.", ("state",), _group_states),
    Measure("headrace_group_lag", "gauge", "Records between a group's committed offset and the end.", ("group", *PARTITION), _lag),
)  # fmt: skip
LATENCY = "headrace_request_seconds"
LATENCY_DOC = "Time from a request's arrival to its answer, per API; a long poll's waiting included."


class BrokerCollector:
    """What prometheus_client asks at each scrape."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def collect(self) -> Iterator[Metric]:
        for measure in METRICS:
            family = (CounterMetricFamily if measure.kind == "counter" else GaugeMetricFamily)(
                measure.name, measure.doc, labels=measure.labels
            )
            for labels, value in measure.read(self._broker):
                family.add_metric(labels, value)
            yield family
        yield self._latency()

    def _latency(self) -> Metric:
        family = HistogramMetricFamily(LATENCY, LATENCY_DOC, labels=("api",))
        for entry in self._broker.dispatcher.entries.values():
            if not entry.requests:
                continue
            total, buckets = 0, []
            for bound, count in zip([*map(str, LATENCY_BUCKETS), "+Inf"], entry.buckets, strict=True):
                total += count
                buckets.append((bound, total))
            family.add_metric((entry.name,), buckets, entry.seconds)
        return family
