"""A producer that sends one record at a time and measures what it waits for the acknowledgement of all replicas."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

from headrace.testing import BrokerProcess
from tests.faults.dictionary import Dictionary

WARM_UP = 300
REST_S = 0.001


class Window(NamedTuple):
    count: int
    p50_ms: float
    p99_ms: float

    def __str__(self) -> str:
        return f"p50 {self.p50_ms} ms, p99 {self.p99_ms} ms of {self.count} samples"


class Probe:
    """Sends to its topics in turn; what goes to the compacted one goes into the dictionary too."""

    def __init__(self, broker: BrokerProcess, topics: tuple[str, ...], dictionary: Dictionary) -> None:
        self._producer = broker.producer(linger_ms=0)
        self._topics = topics
        self._dictionary = dictionary
        self._sent = 0

    def window(self, least: int, holds: Callable[[], bool], until: Callable[[], bool] = lambda: True) -> Window:
        """After a warm-up, at least so many samples and then more `until` it is enough, each with `holds` before and after it.

        It ends, perhaps with fewer, as soon as `holds` is no longer true.
        """
        for _ in range(min(WARM_UP, least)):
            self._wait()
        waits: list[float] = []
        while holds() and not (until() and len(waits) >= least):
            wait = self._wait()
            if holds():
                waits.append(wait)
        waits.sort()
        at = [waits[int(len(waits) * part)] * 1000 if waits else 0.0 for part in (0.5, 0.99)]
        return Window(len(waits), round(at[0], 2), round(at[1], 2))

    def _wait(self) -> float:
        topic = self._topics[self._sent % len(self._topics)]
        self._sent += 1
        key, value = b"probe", b"probe %d" % self._sent
        # A rest between samples, so that they are spread over seconds and meet everything that happens in them.
        time.sleep(REST_S)
        started = time.perf_counter()
        self._producer.produce(topic, value, key, on_delivery=_must_succeed)
        assert self._producer.flush(30) == 0
        waited = time.perf_counter() - started
        if topic == self._dictionary.topic:
            self._dictionary.expected[key] = value
        return waited


def _must_succeed(error: Any, _message: Any) -> None:
    assert error is None, error
