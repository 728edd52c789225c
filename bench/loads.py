"""The clients that put load on a broker, as programs of their own; each returns records per second as the client saw it."""

from __future__ import annotations

import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from conformance.apache_kafka import java_command
from conformance.cache import PROJECT
from conformance.install import LIBRDKAFKA, RDKAFKA_PERFORMANCE

TIMEOUT_S = 600.0
LATENCY_RATE = 1000
LATENCY_WARM_UP = 1000


def _output(command: Sequence[str], statuses: Sequence[int] = (0,)) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, cwd=PROJECT)
    if done.returncode not in statuses:
        raise RuntimeError(
            f"{' '.join(command)}\nended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
        )
    return done.stdout


def rdkafka_produce(
    bootstrap_servers: str,
    topic: str,
    count: int,
    size: int,
    *,
    acks: int = 1,
    settings: Sequence[str] = ("linger.ms=5",),
) -> float:
    """librdkafka's own load generator. Its queue is bounded in bytes, else small records are held back by a count."""
    options = [part for setting in (*settings, "queue.buffering.max.messages=1000000") for part in ("-X", setting)]
    where = ["-b", bootstrap_servers, "-t", topic]
    command = [
        str(RDKAFKA_PERFORMANCE),
        "-P",
        *where,
        "-s",
        str(size),
        "-c",
        str(count),
        "-a",
        str(acks),
        "-q",
        *options,
    ]
    # It counts what it sends less carefully than what is delivered, and ends with 1 when the two differ.
    printed = _output(command, statuses=(0, 1))
    summaries = re.findall(r"(\d+) delivered \(offset -?\d+, (\d+) failed\) in \d+ms: (\d+) msgs/s", printed)
    if not summaries or int(summaries[-1][0]) != count or int(summaries[-1][1]):
        raise RuntimeError(f"not every record was delivered: {printed[-500:]}")
    return float(summaries[-1][2])


def rdkafka_consume(bootstrap_servers: str, topic: str, count: int, *, settings: Sequence[str] = ()) -> float:
    where = ["-b", bootstrap_servers, "-t", topic, "-G", f"{topic}-{time.monotonic_ns()}"]
    all_settings = ("auto.offset.reset=earliest", "enable.auto.commit=false", *settings)
    options = [part for setting in all_settings for part in ("-X", setting)]
    printed = _output([str(RDKAFKA_PERFORMANCE), *where, "-c", str(count), "-q", *options])
    return float(re.findall(r"consumed in \d+ms: (\d+) msgs/s", printed)[-1])


def rdkafka_latency(bootstrap_servers: str, topic: str, count: int) -> dict[str, float]:
    """End to end at a fixed rate: the producer stamps each record, the consumer subtracts. In milliseconds."""
    with tempfile.TemporaryDirectory() as folder:
        samples = Path(folder) / "latencies"
        where = ["-b", bootstrap_servers, "-t", topic, "-p", "0", "-l", "-q"]
        total = count + LATENCY_WARM_UP
        reader = [str(RDKAFKA_PERFORMANCE), "-C", *where, "-o", "beginning", "-c", str(total), "-A", str(samples)]
        consumer = subprocess.Popen(reader, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            rate = ["-r", str(LATENCY_RATE), "-c", str(total), "-s", "100", "-a", "1", "-X", "linger.ms=0"]
            _output([str(RDKAFKA_PERFORMANCE), "-P", *where, *rate])
            consumer.wait(60)
        finally:
            consumer.kill()
            consumer.wait()
        micros = sorted(int(line) for line in samples.read_text().split()[LATENCY_WARM_UP:])
    quantiles = statistics.quantiles(micros, n=100)
    return {"p50_ms": quantiles[49] / 1000, "p99_ms": quantiles[98] / 1000}


def java_produce(bootstrap_servers: str, topic: str, count: int, size: int) -> float:
    arguments = ["--topic", topic, "--num-records", str(count), "--record-size", str(size), "--throughput", "-1"]
    properties = ["acks=1", "linger.ms=5", "batch.size=131072", "enable.idempotence=false"]
    printed = _output(
        java_command(
            "org.apache.kafka.tools.ProducerPerformance",
            *("--bootstrap-server", bootstrap_servers, *arguments, "--command-property", *properties),
            heap="512m",
            short_lived=False,
        )
    )
    return float(re.findall(r"([\d.]+) records/sec", printed)[-1])


def java_consume(bootstrap_servers: str, topic: str, count: int) -> float:
    """Its last column is records per second of fetching, without the time the group took to form."""
    printed = _output(
        java_command(
            "org.apache.kafka.tools.ConsumerPerformance",
            *(
                "--bootstrap-server",
                bootstrap_servers,
                "--topic",
                topic,
                "--num-records",
                str(count),
                "--timeout",
                "60000",
            ),
            heap="512m",
            short_lived=False,
        )
    )
    heading, values = [line.split(", ") for line in printed.strip().splitlines()[-2:]]
    return float(dict(zip(heading, values, strict=True))["fetch.nMsg.sec"])


def python_load(mode: str, bootstrap_servers: str, topic: str, count: int, size: int) -> float:
    command = [sys.executable, "-m", "bench.python_client", mode, bootstrap_servers, topic, str(count), str(size)]
    return float(json.loads(_output(command))["messages_per_s"])


@dataclass(frozen=True)
class Transactions:
    """How fast they were committed when it counted, and how many there were in all."""

    per_second: float
    with_warm_up: int


def java_transactions(bootstrap_servers: str, topic: str, seconds: float, warm_up: float) -> Transactions:
    """Java's producer, which ends transactions in version 2 of the protocol."""
    source = str(PROJECT / "bench" / "java" / "Transactions.java")
    arguments = (bootstrap_servers, topic, str(seconds), str(warm_up))
    return Transactions(**json.loads(_output(java_command(source, *arguments, heap="512m", short_lived=False))))


def python_transactions(bootstrap_servers: str, topic: str, seconds: float, warm_up: float) -> Transactions:
    """confluent-kafka, that is librdkafka, which knows version 1 of the protocol only."""
    command = [sys.executable, "-m", "bench.transactional_client", "rate", bootstrap_servers, topic]
    return Transactions(**json.loads(_output([*command, str(seconds), str(warm_up)])))


def write_transactions(bootstrap_servers: str, topic: str, count: int, size: int) -> int:
    """Fill a topic in transactions, some of them aborted; returns how many records are committed."""
    command = [sys.executable, "-m", "bench.transactional_client", "write", bootstrap_servers, topic]
    return int(json.loads(_output([*command, str(count), str(size)]))["committed"])


def raw_load(port: int, topic: str, connections: int, requests: int) -> dict[str, float]:
    options = ["--connections", str(connections), "--requests", str(requests)]
    measured: dict[str, float] = json.loads(
        _output([sys.executable, "-m", "bench.raw_client", str(port), topic, *options])
    )
    return measured


def librdkafka_version() -> str:
    return LIBRDKAFKA.name
