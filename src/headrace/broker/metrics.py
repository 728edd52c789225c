"""What the broker can be asked about itself, as Prometheus metrics.

Nothing is kept here: each metric is declared once with the function that reads it from the broker when Prometheus asks, so
the hot path pays nothing. The reference page is made from `METRICS`.

The text is written here too, a slice at a time: with ten thousand partitions it has megabytes, and the event loop that
makes it has clients to answer in between.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.broker.dispatch import LATENCY_BUCKETS

if TYPE_CHECKING:
    from headrace.broker.server import Broker

Sample = tuple[tuple[str, ...], float]
LINES_AT_ONCE = 1000


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


def _transaction_states(broker: Broker) -> Iterator[Sample]:
    for state, count in sorted(broker.transactions.count_by_state().items()):
        yield (state,), float(count)


def _ended_transactions(broker: Broker) -> Iterator[Sample]:
    for outcome, count in broker.transactions.count_ended().items():
        yield (outcome,), float(count)


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
    Measure("headrace_slow_writes", "counter", "Appends that took longer than headrace.slow.append.ms.", ("path",), _slow_writes),
    Measure("headrace_log_size_bytes", "gauge", "Size of a partition's log.", PARTITION, _per_partition(lambda p: p.log.size)),
    Measure("headrace_log_start_offset", "gauge", "First offset of a partition.", PARTITION, _per_partition(lambda p: p.log_start_offset)),
    Measure("headrace_log_end_offset", "gauge", "Offset that the next record will get.", PARTITION, _per_partition(lambda p: p.log.log_end_offset)),
    Measure("headrace_groups", "gauge", "Consumer groups, by state.", ("state",), _group_states),
    Measure("headrace_group_lag", "gauge", "Records between a group's committed offset and the end.", ("group", *PARTITION), _lag),
    Measure("headrace_transactions", "gauge", "Transactional ids, by the state of their transaction.", ("state",), _transaction_states),
    Measure("headrace_transactions_ended", "counter", "Transactions whose markers are all written, by outcome.", ("outcome",), _ended_transactions),
    Measure("headrace_transaction_markers_pending", "gauge", "Transactions whose outcome is decided and whose markers are being written.", (), _one(lambda b: b.transactions.markers_under_way)),
    Measure("headrace_log_cleaner_rounds", "counter", "Logs compacted.", (), _one(lambda b: b.cleaner.rounds)),
    Measure("headrace_log_cleaner_bytes_read", "counter", "Bytes that compaction read; the dirty part of a log is read twice.", (), _one(lambda b: b.cleaner.bytes_read)),
    Measure("headrace_log_cleaner_bytes_written", "counter", "Bytes that compaction wrote.", (), _one(lambda b: b.cleaner.bytes_written)),
    Measure("headrace_log_cleaner_max_dirty_percent", "gauge", "The largest dirty share of a compacted log (Kafka's max-dirty-percent).", (), _one(lambda b: 100 * b.cleaner.max_dirty_ratio)),
    Measure("headrace_log_cleaner_time_since_last_run_ms", "gauge", "Since it was last looked for logs to compact (Kafka's time-since-last-run-ms).", (), _one(lambda b: b.cleaner.since_last_run_ms)),
    Measure("headrace_log_cleaner_uncleanable_partitions", "gauge", "Damaged logs that are not compacted any more (Kafka's uncleanable-partitions-count).", (), _one(lambda b: b.cleaner.uncleanable_partitions)),
)  # fmt: skip
LATENCY = "headrace_request_seconds"
LATENCY_DOC = "Time from a request's arrival to its answer, per API; a long poll's waiting included."


async def render(broker: Broker) -> str:
    """All metrics in Prometheus' text format."""
    parts: list[str] = []
    for measure in METRICS:
        name = f"{measure.name}_total" if measure.kind == "counter" else measure.name
        parts.append(f"# HELP {name} {measure.doc}\n# TYPE {name} {measure.kind}\n")
        # Taken at once, as what it is read from changes while others have their turn.
        samples = list(measure.read(broker))
        for begin in range(0, len(samples), LINES_AT_ONCE):
            lines = [
                f"{name}{_labels(measure.labels, values)} {value!r}\n"
                for values, value in samples[begin : begin + LINES_AT_ONCE]
            ]
            parts.append("".join(lines))
            await asyncio.sleep(0)
    parts += _latency(broker)
    return "".join(parts)


def _latency(broker: Broker) -> Iterator[str]:
    yield f"# HELP {LATENCY} {LATENCY_DOC}\n# TYPE {LATENCY} histogram\n"
    for entry in broker.dispatcher.entries.values():
        if not entry.requests:
            continue
        total = 0
        for bound, count in zip([*map(repr, LATENCY_BUCKETS), "+Inf"], entry.buckets, strict=True):
            total += count
            yield f'{LATENCY}_bucket{{api="{entry.name}",le="{bound}"}} {total}\n'
        yield f'{LATENCY}_sum{{api="{entry.name}"}} {entry.seconds!r}\n{LATENCY}_count{{api="{entry.name}"}} {total}\n'


def _labels(names: tuple[str, ...], values: tuple[str, ...]) -> str:
    if not names:
        return ""
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in zip(names, values, strict=True)) + "}"


def _escaped(value: str) -> str:
    """Group ids and paths may hold anything."""
    if value.isalnum():
        return value
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
