"""Whether a transaction is open in the output of the Spark kill test, so that a kill can strike just then."""

from __future__ import annotations

import time
from collections.abc import Mapping

from confluent_kafka import Consumer, TopicPartition

from headrace import client


class OpenTransactions:
    """Sees whether a transaction is open in the output: then readers of committed records are held back before the end of a log."""

    def __init__(self, bootstrap_servers: str, topics: Mapping[str, int]) -> None:
        self._places = [TopicPartition(topic, number) for topic, count in topics.items() for number in range(count)]
        self._all, self._committed = (
            client.consumer(bootstrap_servers, None, {"isolation.level": f"read_{level}"})
            for level in ("uncommitted", "committed")
        )

    def any(self) -> bool:
        return any(self._end(self._committed, place) < self._end(self._all, place) for place in self._places)

    def _end(self, consumer: Consumer, place: TopicPartition) -> int:
        end: int = consumer.get_watermark_offsets(place, timeout=10)[1]
        return end

    def wait(self, is_open: bool, timeout_s: float = 20.0) -> bool:
        """Wait until one is open, or none; whether that came in time."""
        deadline = time.monotonic() + timeout_s
        while self.any() is not is_open:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.002)  # a transaction is open for tens of milliseconds
        return True

    def close(self) -> None:
        self._all.close()
        self._committed.close()
