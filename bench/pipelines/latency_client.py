"""The two ends of a pipeline under light load, each a process of its own, so that neither waits for the other's Python.

    python -m bench.pipelines.latency_client produce BOOTSTRAP TOPIC JOB RATE SECONDS FILE
    python -m bench.pipelines.latency_client consume BOOTSTRAP TOPIC JOB FILE

Each writes a line for every record: what identifies its output, and the moment on the clock that all processes share. The consumer prints
`ready`, and ends when its input does.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from pathlib import Path

from bench.pipelines import records
from headrace import client

WINDOW_MS = 10_000


def identity(job: str, number: int, user: int, time_ms: int, counts: dict[tuple[int, int], int]) -> str:
    """What the output of a record can be told by: its id, or for a count key, window and how many there are."""
    if job != "count":
        return str(number)
    start = time_ms // WINDOW_MS * WINDOW_MS
    counts[user, start] = counts.get((user, start), 0) + 1
    return f"{records.key(user)}/{start}/{counts[user, start]}"


def output_identity(job: str, key: bytes, value: bytes) -> str:
    row = json.loads(value)
    return str(row["id"]) if job != "count" else f"{key.decode()}/{row['start']}/{row['n']}"


def produce(bootstrap_servers: str, topic: str, job: str, rate: str, seconds: str, path: str) -> None:
    producer = client.producer(bootstrap_servers, {"linger.ms": 0, "acks": 1})
    counts: dict[tuple[int, int], int] = {}
    lines: list[str] = []
    begin = time.monotonic_ns()
    for number in range(int(rate) * int(seconds)):
        due = begin + number * 1_000_000_000 // int(rate)
        while (wait := due - time.monotonic_ns()) > 0:
            producer.poll(0)
            time.sleep(wait / 1e9)
        user, time_ms = records.user_of(number), time.time_ns() // 1_000_000
        # All amounts pass the filter.
        value = f'{{"id":{number},"name":"{records.key(user)}","amount":50.0,"kind":"kind-1","note":"{"x" * 30}"}}'
        sent = time.monotonic_ns()
        producer.produce(topic, value, records.key(user), timestamp=time_ms)
        lines.append(f"{identity(job, number, user, time_ms, counts)} {sent}\n")
    producer.flush(30)
    Path(path).write_text("".join(lines))


def consume(bootstrap_servers: str, topic: str, job: str, path: str) -> None:
    from confluent_kafka import TopicPartition

    settings = {"fetch.wait.max.ms": 100, "isolation.level": "read_committed"}
    consumer = client.consumer(bootstrap_servers, overrides=settings)
    partitions = consumer.list_topics(topic, timeout=30).topics[topic].partitions
    consumer.assign([TopicPartition(topic, partition, 0) for partition in partitions])
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    print("ready", flush=True)
    lines: list[str] = []
    while not ended.is_set():
        message = consumer.poll(0.5)
        if message is not None and not message.error():
            seen = time.monotonic_ns()
            lines.append(f"{output_identity(job, message.key(), message.value())} {seen}\n")
    consumer.close()
    Path(path).write_text("".join(lines))


if __name__ == "__main__":
    {"produce": produce, "consume": consume}[sys.argv[1]](*sys.argv[2:])
