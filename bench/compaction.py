"""What compaction costs: the same keys on both brokers, cleaned in one round, and the CPU time of whoever cleans."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from bench import loads
from bench.metrics import Measured
from bench.process_meter import CpuMeter, children_cpu_seconds, thread_cpu_seconds
from bench.target import Target
from conformance.apache_kafka import ApacheKafka

CHECKPOINT = "cleaner-offset-checkpoint"
CLEANER_THREAD = "kafka-log-cleaner-thread-0"
TIMEOUT_S = 300.0
# How often a broker looks for logs to clean: the default of 15 seconds would be most of the case.
SETTINGS = {"log.cleaner.backoff.ms": "500"}
TOPIC = {"segment.bytes": str(16 << 20), "min.cleanable.dirty.ratio": "0.01"}


def compaction(count: int, size: int) -> Callable[[Target, float], Measured]:
    """`count` records, ten for each key. The topic becomes a compacted one when all of them are there."""

    def run(target: Target, scale: float) -> Measured:
        with target.topic(1, TOPIC) as topic:
            loads.python_load("keyed", target.bootstrap_servers, topic, int(count * scale), size)
            # Every segment but the active one, before any of it is cleaned.
            *old, active = sorted((target.node.data_dir / f"{topic}-0").glob("*.log"))
            if not old:
                raise ValueError(f"{int(count * scale)} records of {size} bytes are one segment: nothing to compact")
            megabytes = sum(path.stat().st_size for path in old) / 1e6
            before = cleaner_cpu_seconds(target)
            with CpuMeter(target.node.pid) as broker:
                target.set_config(topic, "cleanup.policy", "compact")
                _wait_until_clean(target.node.data_dir, topic, int(active.stem))
            cleaner = cleaner_cpu_seconds(target) - before
        return {"cleaned": megabytes / cleaner, "clean_cpu": broker.seconds / (megabytes / 1e3)}

    return run


def cleaner_cpu_seconds(target: Target) -> float:
    """Apache Kafka cleans in a thread of the broker, Headrace in a process whose start and end count as well."""
    if isinstance(target.node, ApacheKafka):
        return thread_cpu_seconds(target.node.pid, CLEANER_THREAD)
    return children_cpu_seconds(target.node.pid)


def _wait_until_clean(data_dir: Path, topic: str, offset: int) -> None:
    """Both brokers note in the same file, in the same format, from which offset on a log is dirty."""
    deadline = time.monotonic() + TIMEOUT_S
    while first_dirty_offset(data_dir / CHECKPOINT, topic) < offset:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{topic} is not compacted after {TIMEOUT_S:.0f} s")
        time.sleep(0.02)


def first_dirty_offset(checkpoint: Path, topic: str) -> int:
    """Of the topic's only partition; -1 when it was never cleaned."""
    try:
        lines = checkpoint.read_text().splitlines()
    except FileNotFoundError:
        return -1
    return next((int(line.split()[2]) for line in lines if line.startswith(f"{topic} 0 ")), -1)
