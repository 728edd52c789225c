"""Hours of coming and going, squeezed: connections, requests, rebalances, topics. Memory and file handles must stay flat.

    python -m tests.faults.soak --minutes 10

The figures compare the broker after a warm-up with the broker at the end: medians of a tenth of the run each, as a single sample
may fall on a busy moment. The warm-up is long enough for what comes and goes by itself: segments up to their retention, producers
up to their expiry, buffers up to what the C library keeps. What a client may ask to be kept longer, such as a rebalance timeout of
five minutes, runs out within the run.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import socket
import statistics
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from confluent_kafka import KafkaException

from headrace.testing import BrokerProcess, broker_process
from tests.faults.many_partitions import rss_mb

TOPIC = "soak"
SAMPLES = 40
AFTER_WARM_UP = (0.2, 0.3)
AT_THE_END = (0.9, 1.0)


class Churn:
    """Threads that each repeat one kind of use until told to stop."""

    def __init__(self, broker: BrokerProcess, seed: int) -> None:
        self.broker = broker
        self.seed = seed
        self.done: Counter[str] = Counter()
        self.problems: list[str] = []
        self.stopped = threading.Event()
        self.threads: list[threading.Thread] = []

    def start(self) -> None:
        for number, work in enumerate(
            (self._connections, self._requests, self._rebalances, self._rebalances, self._topics)
        ):
            thread = threading.Thread(target=self._repeat, args=(work, random.Random(self.seed + number)), daemon=True)
            thread.start()
            self.threads.append(thread)

    def stop(self) -> None:
        self.stopped.set()
        for thread in self.threads:
            thread.join(60)
            assert not thread.is_alive(), "a churning thread did not end"

    def _repeat(self, work: Callable[[random.Random], None], rng: random.Random) -> None:
        while not self.stopped.is_set():
            try:
                work(rng)
            except (KafkaException, OSError, AssertionError) as error:
                self.problems.append(f"{work.__name__}: {error!r}")
                if len(self.problems) > 20:
                    return

    def _connections(self, rng: random.Random) -> None:
        """Connect and leave, politely or not, with and without garbage."""
        for _ in range(50):
            with socket.create_connection(("127.0.0.1", self.broker.port), timeout=5) as client:
                kind = rng.randrange(4)
                if kind == 0:
                    client.sendall(b"\x00\x00\x00\x0a\x00\x12\x00\x00\x00\x00\x00\x01\xff\xff")
                    assert client.recv(4), "no answer to ApiVersions"
                elif kind == 1:
                    client.sendall(rng.randbytes(rng.randrange(1, 64)))
                elif kind == 2:
                    client.sendall(b"\x00\x00\x10\x00half a request")
            self.done["connections"] += 1

    def _requests(self, rng: random.Random) -> None:
        """A new producer, a few hundred records, gone."""
        producer = self.broker.producer(linger_ms=0)
        for _ in range(300):
            producer.produce(TOPIC, rng.randbytes(rng.randrange(1000)), key=str(rng.randrange(1000)))
            producer.poll(0)
        assert producer.flush(60) == 0, "records without an answer"
        self.done["records"] += 300
        self.done["producers"] += 1

    def _rebalances(self, rng: random.Random) -> None:
        """A member joins one of a few groups, reads, commits, and leaves."""
        consumer = self.broker.consumer(
            f"soak-{rng.randrange(4)}",
            session_timeout_ms=6000,
            fetch_wait_max_ms=50,
        )
        try:
            consumer.subscribe([TOPIC])
            deadline = time.monotonic() + 5
            while not consumer.assignment() and time.monotonic() < deadline:
                consumer.poll(0.05)
            self.done["consumed"] += len(consumer.consume(500, 0.2))
            self.done["rebalances"] += 1
        finally:
            consumer.close()

    def _topics(self, rng: random.Random) -> None:
        name = f"soak-topic-{rng.randrange(10**9)}"
        self.broker.create_topic(name, 3)
        self.broker.produce(name, [b"v"] * 10)
        admin = self.broker.admin()
        admin.delete_topics([name], operation_timeout=30)[name].result(30)
        self.done["topics"] += 1


def measure(broker: BrokerProcess) -> dict[str, float]:
    return {"rss_mb": rss_mb(broker.pid), "file_descriptors": len(os.listdir(f"/proc/{broker.pid}/fd"))}


def median(samples: list[dict[str, float]], begin: float, end: float) -> dict[str, float]:
    """One sample that stands for this part of the run."""
    first, last = int(len(samples) * begin), max(int(len(samples) * end), int(len(samples) * begin) + 1)
    part = samples[first:last]
    return {name: round(statistics.median(one.get(name, 0) for one in part), 1) for name in part[-1]}


def run(seconds: float, *, seed: int = 1, report=lambda text: None) -> dict[str, object]:
    """Churn for a while; the figures at the start, along the way, and at the end."""
    settings = {
        "group.initial.rebalance.delay.ms": 0,
        "log.retention.bytes": 2_097_152,
        "log.retention.check.interval.ms": 5000,
        "log.segment.bytes": 1_048_576,
        "log.segment.delete.delay.ms": 1000,
        # What Kafka remembers for a day, such as producers, must come and go within the run.
        "producer.id.expiration.ms": 20_000,
        "producer.id.expiration.check.interval.ms": 5000,
    }
    with broker_process(settings) as broker:
        broker.create_topic(TOPIC, 8)
        churn = Churn(broker, seed)
        churn.start()
        started = time.monotonic()
        samples: list[dict[str, float]] = []
        step = max(seconds / SAMPLES, 0.5)
        while (passed := time.monotonic() - started) < seconds:
            time.sleep(min(step, max(0.0, seconds - passed)))  # the length of the run
            samples.append({"t": round(time.monotonic() - started, 1), **measure(broker), **churn.done})
            report(json.dumps(samples[-1]))
        churn.stop()
        quiet = measure(broker)
        assert not churn.problems, churn.problems[:5]
        assert broker.stop() == 0
    return {
        "seconds": round(seconds),
        "after_warm_up": median(samples, *AFTER_WARM_UP),
        "at_the_end": median(samples, *AT_THE_END),
        "quiet": quiet,
        "samples": samples,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, help="write the figures to this file as JSON")
    options = parser.parse_args()
    figures = run(options.minutes * 60, seed=options.seed, report=lambda text: print(text, flush=True))
    print(json.dumps({name: value for name, value in figures.items() if name != "samples"}))
    if options.out:
        options.out.write_text(json.dumps(figures, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
