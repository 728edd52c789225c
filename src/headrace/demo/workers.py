"""The demo's two threads: one sends what happens at the pace it happens, one reads the alerts as anybody would."""

from __future__ import annotations

import json
import threading
import time
from abc import ABC, abstractmethod
from collections import Counter
from typing import Any

from headrace.admin.cluster import Cluster
from headrace.demo.generator import Generator
from headrace.demo.scoring import Raised
from headrace.demo.topics import ALERTS


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
        self.join(60)


class Sender(Worker):
    """Sends the scenario. A broker that is away for a while costs nothing: the client keeps what it could not deliver and the rest waits its turn."""

    def __init__(self, cluster: Cluster, generator: Generator) -> None:
        super().__init__("demo-sender")
        self._cluster = cluster
        self.generator = generator
        self.sent: Counter[str] = Counter()
        self.failed = 0
        self.first_posts: dict[str, float] = {}
        """When the first post about each incident left, on this machine's clock."""
        self.began_s = 0.0
        self.ended_s: float | None = None

    @property
    def scenario_now_s(self) -> float:
        """Where the scenario should be, by the clock."""
        if not self.began_s:
            return 0.0
        return ((self.ended_s or time.time()) - self.began_s) * self.generator.scenario.speed

    @property
    def behind_s(self) -> float:
        """How many seconds sending is behind the clock."""
        return max(0.0, (self.scenario_now_s - self.generator.now_s) / self.generator.scenario.speed)

    def work(self) -> None:
        producer = self._cluster.producer(
            {
                "linger.ms": 20,
                "compression.type": "lz4",
                "message.timeout.ms": 0,
                "queue.buffering.max.messages": 500_000,
            }
        )
        generator = self.generator
        step_s = generator.step_s / generator.scenario.speed
        self.began_s = time.time()
        steps = 0
        while not self.stopping.is_set():
            records = generator.step()
            for record in records:
                self._send(producer, record)
            producer.poll(0)
            for incident, _ in generator.first_posts.items() - self.first_posts.items():
                self.first_posts.setdefault(incident, time.time())
            steps += 1
            if self.stopping.wait(max(0.0, self.began_s + steps * step_s - time.time())):
                break
        self.ended_s = time.time()
        if producer.flush(30):
            raise RuntimeError("the broker did not take the last records within 30 s")

    def _send(self, producer: Any, record: Any) -> None:
        timestamp = self.generator.epoch_ms + int(record.at_s * 1000)
        while True:
            try:
                producer.produce(
                    record.topic, record.value, record.key, timestamp=timestamp, on_delivery=self._on_delivery
                )
            except BufferError:
                # The broker is away, and its time will come.
                if self.stopping.is_set():
                    return
                producer.poll(0.1)
            else:
                return

    def _on_delivery(self, error: Any, message: Any) -> None:
        if error is None:
            self.sent[message.topic()] += 1
        else:
            self.failed += 1


class Watcher(Worker):
    """Reads the alerts that are committed, from now on, and notes when each arrived."""

    def __init__(self, cluster: Cluster, epoch_ms: int) -> None:
        super().__init__("demo-watcher")
        self._cluster = cluster
        self._epoch_ms = epoch_ms
        self.alerts: list[Raised] = []
        self.ready = threading.Event()

    def work(self) -> None:
        from confluent_kafka import OFFSET_BEGINNING, TopicPartition

        consumer = self._cluster.consumer(
            None, {"isolation.level": "read_committed", "fetch.wait.max.ms": 100, "reconnect.backoff.max.ms": 500}
        )
        try:
            place = TopicPartition(ALERTS, 0)
            _, end = consumer.get_watermark_offsets(place, timeout=30)
            consumer.assign([TopicPartition(ALERTS, 0, end or OFFSET_BEGINNING)])
            self.ready.set()
            while not self.stopping.is_set():
                message = consumer.poll(0.2)
                if message is not None and message.error() is None:
                    self._take(message.value())
        finally:
            consumer.close()

    def _take(self, value: bytes | None) -> None:
        alert = json.loads(value or b"{}")
        self.alerts.append(
            Raised(
                id=alert["id"],
                kind=alert["kind"],
                level=alert["level"],
                place=alert["place"],
                region=alert["region"],
                reason=alert["reason"],
                time_s=(alert["time"] - self._epoch_ms) / 1000,
                arrived_s=time.time(),
            )
        )
