"""What pipelines set out to reach, each as a figure computed from the medians of all cases. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bench.metrics import Measured

Runs = Mapping[str, list[Measured]]
Medians = Mapping[str, Mapping[str, Measured]]
"""By case, system and metric."""


@dataclass(frozen=True)
class Goal:
    """A figure and its limit. `figure` raises KeyError where a case it needs was not measured."""

    title: str
    unit: str
    limit: float
    higher_is_better: bool
    figure: Callable[[Medians], float]

    def met(self, value: float) -> bool:
        return value >= self.limit if self.higher_is_better else value <= self.limit

    @property
    def text(self) -> str:
        return f"{'≥' if self.higher_is_better else '≤'} {self.limit:g}"


@dataclass(frozen=True)
class Reached:
    """A goal with its figure."""

    goal: Goal
    value: float

    @property
    def met(self) -> bool:
        return self.goal.met(self.value)


def medians(results: Mapping[str, Runs]) -> dict[str, dict[str, Measured]]:
    """The median of each metric over the runs of a system."""
    return {
        case: {
            system: {metric: statistics.median(run[metric] for run in runs) for metric in runs[0]}
            for system, runs in systems.items()
            if runs
        }
        for case, systems in results.items()
    }


def reached(results: Mapping[str, Runs]) -> list[Reached]:
    """Every goal whose cases were measured."""
    known = medians(results)
    found = []
    for goal in GOALS:
        try:
            found.append(Reached(goal, goal.figure(known)))
        except KeyError:
            continue
    return found


def _ratio(case: str, metric: str, other: str) -> Callable[[Medians], float]:
    """Headrace ÷ the other system in one case."""
    return lambda known: known[case]["headrace"][metric] / known[case][other][metric]


def _between(metric: str, case: str, base: str) -> Callable[[Medians], float]:
    """One case ÷ another, both Headrace's."""
    return lambda known: known[case]["headrace"][metric] / known[base]["headrace"][metric]


def _own(case: str, metric: str) -> Callable[[Medians], float]:
    return lambda known: known[case]["headrace"][metric]


def _cpu(case: str, title: str) -> Goal:
    return Goal(f"{title}: CPU per million ÷ PySpark by hand", "x", 1.05, False, _ratio(case, "warm_cpu", "spark"))


def _against_streams(threads: int) -> tuple[Goal, Goal]:
    system = f"streams-{threads}"
    title = f"Kafka Streams, {threads} thread{'s' if threads > 1 else ''}"
    return (
        Goal(f"windowed count: records/s ÷ {title}", "x", 1.0, True, _ratio("count", "warm_rate", system)),
        Goal(f"windowed count: CPU per million ÷ {title}", "x", 1.0, False, _ratio("count", "warm_cpu", system)),
    )


def _latency(case: str, title: str, p50: float, p99: float) -> tuple[Goal, Goal]:
    return (
        Goal(f"latency, {title}: p50", "ms", p50, False, _own(case, "p50_ms")),
        Goal(f"latency, {title}: p99", "ms", p99, False, _own(case, "p99_ms")),
    )


GOALS = (
    _cpu("map", "map"),
    _cpu("count", "windowed count"),
    _cpu("join", "stream-table join"),
    *_against_streams(1),
    *_against_streams(2),
    Goal("stream-table join: records/s ÷ the map's", "x", 0.7, True, _between("warm_rate", "join", "map")),
    Goal("sliding 60 s / 1 s: records/s ÷ Spark's own", "x", 2, True, _ratio("sliding-60", "warm_rate", "spark")),
    Goal("sliding 600 s / 1 s: records/s ÷ Spark's own", "x", 10, True, _ratio("sliding-600", "warm_rate", "spark")),
    Goal("sliding: CPU per record, 600 s ÷ 60 s", "x", 1.2, False, _between("warm_cpu", "sliding-600", "sliding-60")),
    *_latency("latency-map", "map", 5, 30),
    *_latency("latency-count", "windowed count", 30, 80),
    *_latency("latency-join", "stream-table join", 30, 100),
    *_latency("latency-map-eos", "map, exactly once", 400, 1000),
    *_latency("latency-count-eos", "windowed count, exactly once", 400, 1000),
    Goal("idle: 20 pipelines in real-time mode", "cores", 0.2, False, _own("idle", "cores")),
    Goal("memory of Java with 20 pipelines", "MB", 1024, False, _own("idle", "jvm_rss_mb")),
    Goal("start of an engine", "s", 8, False, _own("engine-start", "start_s")),
)
