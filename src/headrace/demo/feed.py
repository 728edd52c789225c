"""The newest of the demo's topics, followed by one thread for all who look at the page; it ends when nobody has looked for a while."""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from dataclasses import dataclass
from typing import Any

from headrace.admin.cluster import Cluster
from headrace.demo.status import STATUS, decode

FOLLOWED = ("alerts", "bursts", "sensor-peaks", "jams", "trending-words", STATUS)
KEPT = 400
IDLE_S = 60.0
LOOK_AGAIN_S = 3.0
TIMEOUT_S = 10.0
_CLIENT = {"isolation.level": "read_committed", "fetch.wait.max.ms": 200, "reconnect.backoff.max.ms": 1000}


@dataclass(frozen=True)
class Seen:
    """What is known at a moment: of each topic the newest records, the oldest first. `status` is empty while no demo has run."""

    records: dict[str, tuple[dict[str, Any], ...]]
    status: dict[str, Any]
    heard_s: float
    """When the status came, on the clock of `time.monotonic`."""


class Feed:
    """`look` starts it if need be."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._looked_s = 0.0
        self._records: dict[str, deque[dict[str, Any]]] = {topic: deque(maxlen=KEPT) for topic in FOLLOWED}
        self._status: dict[str, Any] = {}
        self._heard_s = 0.0

    def look(self) -> Seen:
        with self._lock:
            self._looked_s = time.monotonic()
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="emergency-feed", daemon=True)
                self._thread.start()
            records = {topic: tuple(kept) for topic, kept in self._records.items() if topic != STATUS}
            return Seen(records, dict(self._status), self._heard_s)

    def _wanted(self) -> bool:
        return time.monotonic() - self._looked_s < IDLE_S

    def _run(self) -> None:
        from confluent_kafka import KafkaException

        consumer = self._cluster.consumer(None, _CLIENT)
        try:
            assigned = 0
            next_look = 0.0
            while self._wanted():
                if assigned < len(FOLLOWED) and time.monotonic() >= next_look:
                    next_look = time.monotonic() + LOOK_AGAIN_S
                    try:
                        assigned = self._assign(consumer)
                    except KafkaException:
                        continue  # the broker is away; the page says so by other means
                for message in consumer.consume(500, timeout=0.25):
                    if message.error() is None:
                        self._take(message.topic(), message.value())
        finally:
            consumer.close()

    def _assign(self, consumer: Any) -> int:
        """The last records of each topic that is there; how many are."""
        from confluent_kafka import TopicPartition

        known = consumer.list_topics(timeout=TIMEOUT_S).topics
        places = []
        for topic in FOLLOWED:
            if topic in known:
                low, high = consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=TIMEOUT_S)
                places.append(TopicPartition(topic, 0, max(low, high - (3 if topic == STATUS else KEPT))))
        with self._lock:
            for kept in self._records.values():
                kept.clear()
        consumer.assign(places)
        return len(places)

    def _take(self, topic: str, value: bytes | None) -> None:
        try:
            record = decode(value) if topic == STATUS else json.loads(value or b"null")
        except ValueError:
            return  # somebody else's record in the demo's topic: nothing to show
        if not isinstance(record, dict):
            return
        with self._lock:
            if topic == STATUS:
                self._status, self._heard_s = record, time.monotonic()
            else:
                self._records[topic].append(record)
