"""The demo's two workers: one thread that sends events at the pace they happen, and one that reads them as a member of a group."""

from __future__ import annotations

import json
import threading
import time
from abc import ABC, abstractmethod
from collections import Counter
from typing import Any

from headrace.admin.cluster import Cluster
from headrace.admin.times import now_ms
from headrace.cli.demo.events import FEEDS, stream

GROUP = "demo-dashboard"
STEP_MS = 50
_STALL_EVERY_S = 14.0
_STALL_S = 4.0


class Worker(threading.Thread, ABC):
    """A thread that stops when told, and keeps the error that ended it for whoever waits."""

    def __init__(self, name: str) -> None:
        super().__init__(name=name, daemon=True)
        self.stopping = threading.Event()
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            self.work()
        except BaseException as error:
            self.error = error

    @abstractmethod
    def work(self) -> None: ...

    def stop(self) -> None:
        self.stopping.set()
        self.join(30)


class Sender(Worker):
    """Sends what the feeds bring, keyed, with headers and timestamps."""

    def __init__(self, cluster: Cluster, seed: int) -> None:
        super().__init__("demo-sender")
        self._cluster = cluster
        self._seed = seed
        self.acknowledged: Counter[str] = Counter()
        self.latest: dict[str, str] = {}
        self.failures = 0

    def work(self) -> None:
        producer = self._cluster.producer({"linger.ms": 20, "compression.type": "lz4"})
        begin = time.monotonic()
        for step, events in enumerate(stream(self._seed, start_ms=now_ms(), step_ms=STEP_MS)):
            for feed, event in events:
                value = json.dumps(event.value)
                headers = [(name, text.encode()) for name, text in event.headers.items()]
                producer.produce(
                    feed.topic,
                    value,
                    event.key,
                    headers=headers,
                    timestamp=event.value["time"],
                    on_delivery=self._on_delivery,
                )
                self.latest[feed.topic] = event.summary
            producer.poll(0)
            if self.stopping.wait(max(0.0, begin + step * STEP_MS / 1000 - time.monotonic())):
                break
        producer.flush(10)

    def _on_delivery(self, error: Any, message: Any) -> None:
        if error is None:
            self.acknowledged[message.topic()] += 1
        else:
            self.failures += 1


class Reader(Worker):
    """A member of the group. It takes a break now and then, as real consumers do, so that there is some lag to see."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__("demo-reader")
        self._cluster = cluster
        self.consumed: Counter[str] = Counter()

    def work(self) -> None:
        consumer = self._cluster.consumer(GROUP, {"auto.commit.interval.ms": 500, "fetch.wait.max.ms": 100})
        consumer.subscribe([feed.topic for feed in FEEDS])
        next_stall = time.monotonic() + _STALL_EVERY_S
        try:
            while not self.stopping.is_set():
                for message in consumer.consume(500, timeout=0.2):
                    if message.error() is None:
                        self.consumed[message.topic()] += 1
                if time.monotonic() >= next_stall:
                    self.stopping.wait(_STALL_S)
                    next_stall = time.monotonic() + _STALL_EVERY_S
        finally:
            consumer.close()
