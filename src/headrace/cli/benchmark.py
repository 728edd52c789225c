"""The measurements behind `headrace bench`: produce, consume, and end-to-end latency at a fixed rate, from this process.

One Python client cannot fill a fast broker, so these numbers say what a Python program will see; `make bench` compares brokers.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from headrace.admin.cluster import Cluster
from headrace.admin.errors import from_kafka
from headrace.cli.errors import CliError

_STAMP = 8
Advance = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Load:
    """What is sent."""

    topic: str
    partitions: int
    records: int
    size: int
    acks: str
    compression: str


@dataclass(frozen=True, slots=True)
class Throughput:
    """Records and bytes over the wall clock, and this client's own processor time."""

    records: int
    size: int
    seconds: float
    client_cpu_seconds: float

    @property
    def records_per_second(self) -> float:
        return self.records / self.seconds

    @property
    def bytes_per_second(self) -> float:
        return self.records * self.size / self.seconds


@dataclass(slots=True)
class Latency:
    """Milliseconds from `produce` to the consumer's hands."""

    rate: int
    samples_ms: list[float] = field(default_factory=list)

    def percentile(self, share: float) -> float:
        ordered = sorted(self.samples_ms)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def payload(size: int) -> bytes:
    """Half of it is noise, so that compression has work and success."""
    return (os.urandom(size // 2 + 1) + bytes(size))[:size]


def produce(cluster: Cluster, load: Load, advance: Advance) -> Throughput:
    """Send all records as fast as the client can and wait for the last acknowledgement."""
    producer = cluster.producer(
        {
            "acks": load.acks,
            "compression.type": load.compression,
            "linger.ms": 5,
            "batch.size": 1 << 20,
            "queue.buffering.max.messages": 200_000,
        }
    )
    value = payload(load.size)
    failures: list[Any] = []
    acknowledged = [0]

    def on_delivery(error: Any, _message: Any) -> None:
        acknowledged[0] += 1
        if error is not None:
            failures.append(error)

    begin, cpu = time.perf_counter(), time.process_time()
    for index in range(load.records):
        while True:
            try:
                producer.produce(load.topic, value, partition=index // 100 % load.partitions, on_delivery=on_delivery)
                break
            except BufferError:
                producer.poll(0.01)
        if index % 1000 == 0:
            producer.poll(0)
            advance(acknowledged[0])
    while producer.flush(0.2):
        advance(acknowledged[0])
    seconds = time.perf_counter() - begin
    advance(load.records)
    if failures:
        raise from_kafka(failures[0], f"{len(failures):,} records were not delivered")
    return Throughput(load.records, load.size, seconds, time.process_time() - cpu)


def consume(cluster: Cluster, load: Load, advance: Advance) -> Throughput:
    """Read everything that `produce` sent."""
    from confluent_kafka import OFFSET_BEGINNING, TopicPartition

    consumer = cluster.consumer(None, {"fetch.min.bytes": 1, "queued.min.messages": 200_000, "check.crcs": False})
    consumer.assign([TopicPartition(load.topic, index, OFFSET_BEGINNING) for index in range(load.partitions)])
    try:
        read, begin, cpu = 0, time.perf_counter(), time.process_time()
        last = begin
        while read < load.records:
            messages = consumer.consume(10_000, timeout=0.1)
            for message in messages:
                if message.error():
                    raise from_kafka(message.error())
            read += len(messages)
            advance(read)
            last = time.perf_counter() if messages else last
            if time.perf_counter() - last > cluster.timeout_s:
                raise CliError(f"Only {read:,} of {load.records:,} records came back", "Look at the broker's log")
        return Throughput(read, load.size, time.perf_counter() - begin, time.process_time() - cpu)
    finally:
        consumer.close()


def latency(cluster: Cluster, load: Load, *, rate: int, seconds: float, advance: Advance) -> Latency:
    """Send at a fixed rate without lingering, and time each record until this process has it back."""
    total = max(1, round(rate * seconds))
    result = Latency(rate)
    producer = cluster.producer({"acks": load.acks, "linger.ms": 0})
    reader = threading.Thread(
        target=_read_latencies, args=(cluster, load, result, total, ready := threading.Event()), daemon=True
    )
    reader.start()
    ready.wait(cluster.timeout_s)
    filler = payload(max(0, load.size - _STAMP))
    begin = time.perf_counter()
    for index in range(total):
        wait = begin + index / rate - time.perf_counter()
        if wait > 0:
            producer.poll(wait)
        producer.produce(
            load.topic, time.perf_counter_ns().to_bytes(_STAMP, "big") + filler, partition=index % load.partitions
        )
        advance(index + 1)
    producer.flush(cluster.timeout_s)
    reader.join(cluster.timeout_s)
    if len(result.samples_ms) < total:
        raise CliError(f"Only {len(result.samples_ms):,} of {total:,} records came back", "Look at the broker's log")
    return result


def _read_latencies(cluster: Cluster, load: Load, result: Latency, total: int, ready: threading.Event) -> None:
    from confluent_kafka import OFFSET_END, TopicPartition

    consumer = cluster.consumer(None, {"fetch.min.bytes": 1, "fetch.wait.max.ms": 500, "enable.partition.eof": True})
    consumer.assign([TopicPartition(load.topic, index, OFFSET_END) for index in range(load.partitions)])
    reached: set[int] = set()
    deadline = time.monotonic() + 2 * cluster.timeout_s + total / result.rate
    try:
        while len(result.samples_ms) < total and time.monotonic() < deadline:
            message = consumer.poll(0.1)
            if message is None:
                continue
            if message.error():
                # The note that a partition is read to its end: from here on nothing is missed.
                reached.add(message.partition())
                if len(reached) == load.partitions:
                    ready.set()
                continue
            sent = int.from_bytes(message.value()[:_STAMP], "big")
            result.samples_ms.append((time.perf_counter_ns() - sent) / 1e6)
    finally:
        consumer.close()
