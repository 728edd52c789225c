"""The demo from beginning to end: services up, the stage set, the scenario played, watched and scored, everything down again."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.admin.cluster import Cluster
from headrace.admin.errors import Problem
from headrace.demo import services, stage
from headrace.demo.generator import POSTS
from headrace.demo.pipelines import Pipeline, pipelines
from headrace.demo.play import Play
from headrace.demo.scenario import Scenario
from headrace.demo.scoring import Score
from headrace.demo.workers import Watcher
from headrace.plan.engine import EngineError

if TYPE_CHECKING:
    from headrace.engine.http_client import RemoteEngine

STATUS_EVERY_S = 2.0
TOLD_EVERY = 3
"""Every so many of these are told to people; all go to the page."""
SETTLE_S, QUIET_S, STILL_S, CAUGHT_UP_S = 120.0, 4.0, 15.0, 3.0
"""How long the end is waited for after the last post."""
CHAOS_AT_S = (0.3, 0.6)
CHAOS_SECONDS = 360.0

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Wishes:
    """What was asked for. `cluster` None: a broker of the demo's own."""

    scenario: Scenario
    data_dir: Path
    seconds: float | None = None
    port: int = 9092
    chaos: bool = False
    cluster: Cluster | None = None
    console_port: int | None = 8080
    """None: no web page."""


@dataclass(frozen=True)
class Outcome:
    """What came of it. `behind_s`: the most that the results were behind the posts while it ran."""

    score: Score
    sent: int
    failed: int
    seconds: float
    behind_s: float
    started_s: float
    restarts: dict[str, int]

    def document(self) -> dict[str, Any]:
        return {
            **self.score.document(),
            "posts_per_s": round(self.sent / self.seconds) if self.seconds else 0,
            "seconds": round(self.seconds, 1),
            "most_behind_s": round(self.behind_s, 1),
            "start_s": round(self.started_s, 1),
            "undelivered": self.failed,
            "restarts": self.restarts,
        }


class Show:
    """Runs the demo and tells what happens. Ctrl-C ends it as its time does."""

    def __init__(self, wishes: Wishes, tell: Tell) -> None:
        self._wishes = wishes
        self._tell = tell
        self._services: list[services.Service] = []
        self._most_behind_s = 0.0
        self._reached_ms: dict[str, int] = {}
        self._events: list[str] = []
        self._remote: RemoteEngine | None = None

    def run(self) -> Outcome:
        begin = time.monotonic()
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends it as Ctrl-C does
        with contextlib.ExitStack() as stack:
            cluster = self._broker(stack)
            made = stage.create_topics(cluster)
            self._tell(f"Made {made} topics" if made else "Found the topics of an earlier run, with their records")
            engine = self._engine(stack, cluster)
            self._start_pipelines(engine)
            self._console(stack, cluster, engine)
            self._tell("Sending some ordinary posts first, so that the pipelines are warm")
            self._tell(f"  they were through after {stage.warm_up(cluster, self._wishes.scenario.seed + 1):.0f} s")
            keeper = services.Keeper(self._services, self._note)
            keeper.start()
            stack.callback(keeper.stop)
            started_s = time.monotonic() - begin
            self._tell(f"Everything runs, {started_s:.0f} s after the start. Ctrl-C ends it")
            return self._play(stack, cluster, started_s)

    def _broker(self, stack: contextlib.ExitStack) -> Cluster:
        if self._wishes.cluster is not None:
            self._wishes.cluster.check_reachable()
            self._tell(f"Using the broker at {self._wishes.cluster.bootstrap_servers}")
            return self._wishes.cluster
        self._wishes.data_dir.mkdir(parents=True, exist_ok=True)
        logs = self._wishes.data_dir / "broker.log"
        service = services.broker(self._wishes.data_dir / "broker", services.free_port(self._wishes.port), logs)
        # Entered before it is up, so that a Ctrl-C in between leaves nothing behind.
        stack.callback(service.stop)
        service.start()
        self._services.append(service)
        address = str(service.started["bootstrap_servers"])
        self._tell(f"The broker answers at {address}, data in {self._wishes.data_dir}")
        return Cluster(address, "the demo's own broker")

    def _engine(self, stack: contextlib.ExitStack, cluster: Cluster) -> RemoteEngine:
        from headrace.engine.http_client import RemoteEngine

        self._tell("Starting the engine and Spark; the first time on a machine, Spark's parts are fetched and compiled")
        self._wishes.data_dir.mkdir(parents=True, exist_ok=True)
        service = services.engine(
            cluster.bootstrap_servers, self._wishes.data_dir / "engine", self._wishes.data_dir / "engine.log"
        )
        stack.callback(service.stop)
        service.start()
        self._services.append(service)
        self._tell(f"The engine answers at {service.started['url']}")
        self._remote = RemoteEngine(service.started["url"])
        return self._remote

    def _console(self, stack: contextlib.ExitStack, cluster: Cluster, engine: RemoteEngine) -> None:
        if self._wishes.console_port is None:
            return
        port = services.free_port(self._wishes.console_port)
        service = services.console(cluster.bootstrap_servers, engine.url, port, self._wishes.data_dir / "console.log")
        stack.callback(service.stop)
        service.start()
        self._services.append(service)
        self._tell(f"The page is at {service.started['url']}/emergency")

    def _start_pipelines(self, engine: RemoteEngine) -> None:
        found: dict[str, Pipeline] = pipelines()
        _patiently(lambda: stage.submit(engine, found))
        self._tell(f"Starting {len(found)} pipelines")
        stage.await_running(engine, found, self._tell)

    def _play(self, stack: contextlib.ExitStack, cluster: Cluster, started_s: float) -> Outcome:
        play = Play(self._wishes.scenario, cluster, stage.next_epoch_ms(cluster, stage.AFTER_WARM_UP_MS))
        stack.callback(play.stop)
        play.start()
        with interruptible() as interrupted:
            self._watch(play, interrupted)
            play.sender.stop()
            self._settle(play, interrupted)
        self._look(play, tell=False, over=True)
        play.stop()
        restarts = {service.name: service.restarts for service in self._services}
        ran_s = (play.sender.ended_s or time.time()) - play.sender.began_s
        return Outcome(
            play.score(), play.sender.sent[POSTS], play.sender.failed, ran_s, self._most_behind_s, started_s, restarts
        )

    def _watch(self, play: Play, interrupted: Callable[[], bool]) -> None:
        """Until the time is over, somebody presses Ctrl-C, or a thread failed."""
        chaos = list(self._chaos()) if self._wishes.chaos else []
        told, looks, begin = 0, 0, time.monotonic()
        end = begin + self._wishes.seconds if self._wishes.seconds is not None else float("inf")
        while time.monotonic() < end and not interrupted() and play.goes_on():
            time.sleep(0.1)
            told = self._tell_alerts(play.watcher, told)
            if chaos and time.monotonic() - begin >= chaos[0][0]:
                chaos.pop(0)[1]()
            if time.monotonic() - begin >= (looks + 1) * STATUS_EVERY_S:
                looks += 1
                self._look(play, tell=looks % TOLD_EVERY == 0)

    def _note(self, text: str) -> None:
        """For people and for the page."""
        self._events.append(f"{time.strftime('%H:%M:%S')} {text.strip()}")
        self._tell(text)

    def _tell_alerts(self, watcher: Watcher, told: int) -> int:
        for alert in watcher.alerts[told:]:
            self._tell(f"  ALERT  {alert.level}: {alert.kind} in {alert.region}. {alert.reason}")
        return len(watcher.alerts)

    def _look(self, play: Play, *, tell: bool, over: bool = False) -> None:
        behind = self._behind_s(play)
        if behind is not None:
            self._most_behind_s = max(self._most_behind_s, behind)
        play.publish(behind, self._events, over=over)
        if not tell:
            return
        shown = "no broker to ask" if behind is None else f"results {behind:.1f} s behind"
        sender = play.sender
        late = f", sending {sender.behind_s:.1f} s behind" if sender.behind_s > 0.5 else ""
        self._tell(f"{sender.scenario_now_s:6.0f} s  {play.rate():7,.0f} posts/s  {shown}{late}")

    def _behind_s(self, play: Play) -> float | None:
        """How far cleaned posts and the windows that count them are behind the posts, in seconds of the clock; None while nobody answers."""
        for topic in stage.RESULTS:
            try:
                newest = stage.newest_ms(play.cluster, (topic,))
            except Problem:
                return None
            # What was worked off is deleted from an internal topic: an empty one is no step back.
            self._reached_ms[topic] = max(newest, self._reached_ms.get(topic, 0))
        reached_s = (min(self._reached_ms.values()) - play.sender.generator.epoch_ms) / 1000
        return max(0.0, (play.sender.scenario_now_s - max(0.0, reached_s)) / self._wishes.scenario.speed)

    def _settle(self, play: Play, interrupted: Callable[[], bool]) -> None:
        """Wait for what is still on its way: alerts of the last posts."""
        if self._wishes.seconds is None or interrupted():
            return
        told, deadline = len(play.watcher.alerts), time.monotonic() + SETTLE_S
        self._tell("Waiting for the last results")
        lag, quiet_until = self._alerts_lag(), time.monotonic() + STILL_S
        while time.monotonic() < min(deadline, quiet_until) and not interrupted():
            time.sleep(0.5)
            behind, now = self._behind_s(play), self._alerts_lag()
            if behind is None or behind > CAUGHT_UP_S or now != lag:
                lag, quiet_until = now, time.monotonic() + (QUIET_S if now == 0 else STILL_S)
            told = self._tell_alerts(play.watcher, told)

    def _alerts_lag(self) -> int | None:
        """How many records wait for the last pipeline; None while nobody can tell."""
        if self._remote is None:
            return None
        try:
            found = self._remote.progress("emergency-alerts").get("lag")
        except EngineError:
            return None
        return int(found) if found is not None else None

    def _chaos(self) -> Iterator[tuple[float, Callable[[], None]]]:
        """What is killed when, in seconds since the beginning."""
        length = self._wishes.seconds or CHAOS_SECONDS
        yield CHAOS_AT_S[0] * length, self._kill_java
        yield CHAOS_AT_S[1] * length, self._kill_broker

    def _kill_java(self) -> None:
        engine = next(service for service in self._services if service.name == "engine")
        java = services.java_below(engine.pid)
        if java is None:
            raise EngineError("there is no Java to kill")
        os.kill(java, signal.SIGKILL)
        self._note(f"  CHAOS  killed Spark's Java (process {java})")

    def _kill_broker(self) -> None:
        broker = next(service for service in self._services if service.name == "broker")
        broker.kill()
        self._note("  CHAOS  killed the broker")


@contextlib.contextmanager
def interruptible() -> Iterator[Callable[[], bool]]:
    """Ctrl-C and SIGTERM set a flag for the length of the block; a second Ctrl-C is Python's own."""
    pressed: list[int] = []
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def on_signal(number: int, _frame: object) -> None:
        pressed.append(number)
        signal.signal(signal.SIGINT, before[signal.SIGINT])

    for number in before:
        signal.signal(number, on_signal)
    try:
        yield lambda: bool(pressed)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _patiently(ask: Callable[[], Any], timeout_s: float = 60.0) -> Any:
    """An engine that has just started may not have its pipelines yet."""
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            return ask()
        except EngineError:
            if time.monotonic() >= deadline:
                raise
            time.sleep(0.5)
