"""What is measured: one base case, and every factor varied alone. Each case measures one run on one broker.

Base: 1 KB records, acks=1, 4 partitions, `rdkafka_performance`, one producer. A case returns plain numbers by metric name;
`metrics.py` says what each number is and which way is better, a case's `goals` what Headrace set out to reach.
"""

from __future__ import annotations

import io
import os
import tarfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from bench import compaction, guarantees, loads
from bench.metrics import Measured
from bench.raw_client import wait_until_ready
from bench.target import Target

GB = 1e9


@dataclass(frozen=True)
class Case:
    """`run(target, scale)` measures once; `scale` shrinks the work of a quick run. `alone` means one broker at a time.

    Brokers are started anew for a case with settings of its own. `warm_up` is the scale of the unmeasured runs.
    """

    name: str
    title: str
    run: Callable[[Target, float], Measured]
    goals: dict[str, float]
    quick: bool = True
    alone: bool = False
    warm_up: float = 0.5
    runs: int = 3
    settings: dict[str, str] = field(default_factory=dict)


def produce_consume(
    count: int, size: int, *, partitions: int = 4, acks: int = 1, client: str = "rdkafka"
) -> Callable[[Target, float], Measured]:
    def run(target: Target, scale: float) -> Measured:
        records = int(count * scale)
        gigabytes = records * size / GB
        with target.topic(partitions) as topic:
            with target.cpu() as produce_cpu:
                produced = _produce(client, target, topic, records, size, acks)
            with target.cpu() as consume_cpu:
                consumed = _consume(client, target, topic, records, size)
            return {
                "produce": produced,
                "consume": consumed,
                "produce_cpu": produce_cpu.seconds / gigabytes,
                "consume_cpu": consume_cpu.seconds / gigabytes,
                **target.memory_mb(),
            }

    return run


def _produce(client: str, target: Target, topic: str, count: int, size: int, acks: int) -> float:
    if client == "java":
        return loads.java_produce(target.bootstrap_servers, topic, count, size)
    if client == "python":
        return loads.python_load("produce", target.bootstrap_servers, topic, count, size)
    return loads.rdkafka_produce(target.bootstrap_servers, topic, count, size, acks=acks)


def _consume(client: str, target: Target, topic: str, count: int, size: int) -> float:
    if client == "java":
        return loads.java_consume(target.bootstrap_servers, topic, count)
    if client == "python":
        return loads.python_load("consume", target.bootstrap_servers, topic, count, size)
    return loads.rdkafka_consume(target.bootstrap_servers, topic, count)


def produce_only(count: int, size: int) -> Callable[[Target, float], Measured]:
    def run(target: Target, scale: float) -> Measured:
        records = int(count * scale)
        with target.topic() as topic, target.cpu() as cpu:
            rate = loads.rdkafka_produce(target.bootstrap_servers, topic, records, size)
        return {"produce": rate, "produce_cpu": cpu.seconds / (records * size / GB), **target.memory_mb()}

    return run


def one_record_a_request(target: Target, scale: float) -> Measured:
    requests = int(80_000 * scale)
    settings = ("batch.num.messages=1", "linger.ms=0")
    with target.topic() as topic, target.cpu() as cpu:
        rate = loads.rdkafka_produce(target.bootstrap_servers, topic, requests, 100, settings=settings)
    return {"produce": rate, "request_cpu": cpu.seconds / requests * 1e6}


def latency(target: Target, scale: float) -> Measured:
    with target.topic(1) as topic:
        return loads.rdkafka_latency(target.bootstrap_servers, topic, int(10_000 * scale))


def connections(count: int, requests: int) -> Callable[[Target, float], Measured]:
    def run(target: Target, scale: float) -> Measured:
        with target.topic() as topic, target.cpu() as cpu:
            measured = loads.raw_load(target.node.port, topic, count, int(requests * scale))
        return {"produce": measured["messages_per_s"], "produce_cpu": cpu.seconds / (measured["bytes"] / GB)}

    return run


def many_partitions(count: int, records: int) -> Callable[[Target, float], Measured]:
    def run(target: Target, scale: float) -> Measured:
        start = time.perf_counter()
        with target.topic(count) as topic:
            created = time.perf_counter() - start
            with target.cpu() as cpu:
                rate = loads.rdkafka_produce(target.bootstrap_servers, topic, int(records * scale), 1024)
            gigabytes = int(records * scale) * 1024 / GB
            return {"create": created, "produce": rate, "produce_cpu": cpu.seconds / gigabytes, **target.memory_mb()}

    return run


def start(target: Target, scale: float) -> Measured:
    """From the process's start on a formatted, empty directory to the moment when a topic can be created."""
    target.wipe()
    target.node.prepare()
    seconds = _timed_launch(target, {})
    measured = {"start": seconds, **target.memory_mb()}
    target.wipe()
    return measured


def _timed_launch(target: Target, partitions: dict[str, int]) -> float:
    begin = time.perf_counter()
    target.node.launch()
    wait_until_ready(target.node.port, partitions)
    return time.perf_counter() - begin


RECOVERY_RUNS = 3


class Recovery:
    """Start after kill -9 with 5 GB of log, of which nothing but rolled segments was flushed.

    The log is written once per broker. Before each further start everything but the segments is put back as the kill left
    it, so that every run recovers the same directory.
    """

    def __init__(self) -> None:
        self._killed: dict[str, tuple[str, bytes]] = {}

    def __call__(self, target: Target, scale: float) -> Measured:
        if target.title not in self._killed:
            target.wipe()
            target.start()
            topic = target.create_topic(4)
            loads.rdkafka_produce(target.bootstrap_servers, topic, int(5_000_000 * scale), 1000)
            target.node.kill()
            os.sync()
            self._killed[target.title] = topic, _pack(target.node.data_dir)
        topic, small_files = self._killed[target.title]
        _unpack(target.node.data_dir, small_files)
        target.node.prepare()
        seconds = _timed_launch(target, {topic: 4})
        measured = {"recovery": seconds, **target.memory_mb()}
        target.node.kill()
        return measured


def _pack(data_dir: Path) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz", compresslevel=1) as archive:
        for path in sorted(data_dir.rglob("*")):
            if path.is_file() and (path.suffix != ".log" or "__cluster_metadata" in str(path.parent)):
                archive.add(path, str(path.relative_to(data_dir)))
    return packed.getvalue()


def _unpack(data_dir: Path, packed: bytes) -> None:
    for path in sorted(data_dir.rglob("*")):
        if path.is_file() and (path.suffix != ".log" or "__cluster_metadata" in str(path.parent)):
            path.unlink()
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(data_dir, filter="fully_trusted")


CASES = (
    Case(
        "base",
        "1 KB, acks=1, 4 partitions, rdkafka_performance",
        produce_consume(1_000_000, 1024),
        {"produce": 2.5, "consume": 1.3, "produce_cpu": 0.3, "rss_mb": 0.15},
        warm_up=1.0,
    ),
    Case("record-100b", "100 B records", produce_consume(4_000_000, 100), {"produce": 1.1, "consume": 1.3}),
    Case("acks-all", "acks=all", produce_consume(1_000_000, 1024, acks=-1), {"produce": 2.5, "consume": 1.3}),
    Case(
        "client-java",
        "Java ProducerPerformance, ConsumerPerformance",
        produce_consume(700_000, 1024, client="java"),
        {},
        quick=False,
    ),
    Case("client-python", "confluent-kafka from Python", produce_consume(700_000, 1024, client="python"), {}),
    Case("one-record", "one record a request", one_record_a_request, {"produce": 3.0}),
    Case("latency", "end to end, 1,000 records a second", latency, {"p50_ms": 1.0, "p99_ms": 1.0}),
    Case(
        "transactions",
        "transactions of 100 records, Java (version 2)",
        guarantees.transactions("java", 6.0),
        {"transactions": 1.0},
    ),
    Case(
        "transactions-v1",
        "transactions of 100 records, confluent-kafka (version 1)",
        guarantees.transactions("python", 6.0),
        {"transactions": 1.0},
        quick=False,
    ),
    Case(
        "idempotence",
        "idempotence, acks=all",
        guarantees.Idempotence(1_000_000),
        {"idempotence": 1.1},
        runs=5,
    ),
    Case(
        "read-committed",
        "read_committed, a tenth aborted",
        guarantees.read_committed(1_000_000, 1024),
        {"consume": 1.0},
    ),
    Case("partitions-1", "1 partition", produce_consume(1_000_000, 1024, partitions=1), {}, quick=False),
    Case("partitions-100", "100 partitions", produce_consume(1_000_000, 1024, partitions=100), {}, quick=False),
    Case("partitions-5000", "5,000 partitions", many_partitions(5000, 500_000), {}, quick=False, warm_up=0.2),
    Case("connections-1", "1 connection, 16 KB requests, raw sockets", connections(1, 20_000), {}, quick=False),
    Case("connections-200", "200 connections, 16 KB requests, raw sockets", connections(200, 40_000), {}),
    Case("sustained", "10 GB at a stretch", produce_only(10_000_000, 1000), {"produce": 1.0}, quick=False, warm_up=0.0),
    Case(
        "compaction",
        "compaction, 1 KB records, ten for each key",
        compaction.compaction(400_000, 1024),
        {"cleaned": 0.3},
        settings=compaction.SETTINGS,
    ),
    Case(
        "compaction-100b",
        "compaction, 100 B records, ten for each key",
        compaction.compaction(2_000_000, 100),
        {"cleaned": 0.3},
        quick=False,
        settings=compaction.SETTINGS,
    ),
    Case("start", "start", start, {"start": 0.2, "rss_mb": 0.15}, alone=True, warm_up=0.0),
    Case("recovery", "recovery of 5 GB after kill -9", Recovery(), {"recovery": 0.5}, alone=True, warm_up=0.0),
)
