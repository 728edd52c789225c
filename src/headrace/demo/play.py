"""The scenario under way: who sends it, who watches, and what is said of it in the status topic."""

from __future__ import annotations

import contextlib
import time
from collections import deque

from headrace.admin.cluster import Cluster
from headrace.demo.generator import POSTS, Generator
from headrace.demo.scenario import Scenario
from headrace.demo.scoring import DUE_S, Score, score
from headrace.demo.status import KEY, STATUS, Status
from headrace.demo.workers import Sender, Watcher
from headrace.plan.engine import EngineError


class Play:
    """The scenario under way: who sends it, who watches, and what is said of it in the status topic."""

    def __init__(self, scenario: Scenario, cluster: Cluster, epoch_ms: int) -> None:
        self.cluster = cluster
        self.sender = Sender(cluster, Generator(scenario, epoch_ms))
        self.watcher = Watcher(cluster, epoch_ms)
        self._status = cluster.producer({"message.timeout.ms": 10_000})
        self._rates: deque[tuple[float, int]] = deque(maxlen=4)

    def start(self) -> None:
        self.watcher.start()
        self.watcher.ready.wait(30)
        self.sender.start()

    def goes_on(self) -> bool:
        return self.sender.is_alive() and self.watcher.is_alive()

    def stop(self) -> None:
        """Both threads; what ended one before its time is raised."""
        for worker in (self.sender, self.watcher):
            worker.stop()
        self._status.flush(10)
        for worker in (self.sender, self.watcher):
            if worker.error is not None:
                error, worker.error = worker.error, None
                raise EngineError(f"the {worker.name} failed: {error!r}") from error

    def score(self) -> Score:
        scenario = self.sender.generator.scenario
        return score(
            scenario, self.sender.generator.now_s, dict(self.sender.first_posts), list(self.watcher.alerts),
            DUE_S * scenario.speed,
        )  # fmt: skip

    def rate(self) -> float:
        """Posts a second over the last looks."""
        (first_s, first), (last_s, last) = self._rates[0], self._rates[-1]
        return (last - first) / (last_s - first_s) if last_s > first_s else 0.0

    def publish(self, behind_s: float | None, events: list[str], *, over: bool) -> None:
        sender = self.sender
        self._rates.append((time.monotonic(), sender.sent[POSTS]))
        status = Status(
            sender.generator.scenario, sender.generator.epoch_ms, sender.scenario_now_s, sender.sent[POSTS], behind_s,
            self.score(), tuple(events), over,
        )  # fmt: skip
        with contextlib.suppress(BufferError):  # the broker is away, and the next status says more
            self._status.produce(STATUS, status.encode(), KEY)
        self._status.poll(0)
