"""`python -m bench --only pipelines`: run the cases of pipelines, keep each when it is done, print and write the figures.

The broker is the same for all systems: Apache Kafka, the neutral one, unless `--on headrace`. `--broker HOST:PORT` uses one that runs already, and
leaves its topics, so that the next look does not make the backlog anew.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from bench.metrics import Measured
from bench.pipelines import engines, latency, report, throughput
from bench.pipelines.backlog import Topics
from bench.pipelines.goals import medians
from bench.report import machine
from bench.target import SETTINGS
from conformance.apache_kafka import ApacheKafka
from conformance.cache import CACHE, PROJECT
from conformance.headrace_node import Headrace

KEPT = CACHE / "bench" / "pipelines"
BROKERS = {"apache-kafka": ApacheKafka, "headrace": Headrace}
Runs = dict[str, list[Measured]]
PACKAGES = ("spark", "plan", "functions", "formats", "streams", "engine")


class Case(Protocol):
    """Something to measure, on one system after the other."""

    @property
    def name(self) -> str: ...

    @property
    def systems(self) -> tuple[str, ...]: ...

    @property
    def runs(self) -> int: ...

    def measure(self, topics: Topics, system: str) -> Measured: ...


CASES: tuple[Case, ...] = (*throughput.CASES, *latency.CASES, *engines.CASES)


def main(options: argparse.Namespace) -> None:
    """Run what is asked for."""
    wanted = set(filter(None, (options.case or "").split(",")))
    unknown = wanted - {case.name for case in CASES}
    if unknown:
        sys.exit(f"there is no case {', '.join(sorted(unknown))}; there are {', '.join(case.name for case in CASES)}")
    cases = [case for case in CASES if not wanted or case.name in wanted]
    began = time.monotonic()
    results: dict[str, Runs] = {}
    with _broker(options) as topics:
        for case in cases:
            results[case.name] = _kept(case, options) or _measure(case, topics(), options)
            _print_case(case, results[case.name])
    print(f"{len(cases)} cases in {(time.monotonic() - began) / 60:.1f} min")
    report.print_goals(results)
    if not wanted and not options.systems:
        report.write(results, {**machine(), "broker": options.broker or options.on})


@contextmanager
def _broker(options: argparse.Namespace) -> Iterator[Callable[[], Topics]]:
    """A function that starts the broker when it is first needed."""
    node = BROKERS[options.on](SETTINGS)
    try:

        def topics() -> Topics:
            if options.broker:
                return Topics(options.broker)
            if not node.alive:
                node.start()
            return Topics(node.bootstrap_servers)

        yield topics
    finally:
        node.close()


def _measure(case: Case, topics: Topics, options: argparse.Namespace) -> Runs:
    systems = [one for one in case.systems if not options.systems or one in options.systems.split(",")]
    runs: Runs = {system: [] for system in systems}
    for number in range(options.runs or case.runs):
        # In turn, and each round in another order: whoever is first meets a broker that has just rested.
        for system in systems if number % 2 == 0 else systems[::-1]:
            measured = case.measure(topics, system)
            runs[system].append(measured)
            figures = ", ".join(f"{name} {value:.4g}" for name, value in measured.items())
            print(f"{case.name}: {system}, run {number + 1}: {figures}", file=sys.stderr, flush=True)
    _keep(case, runs, options)
    return runs


def _print_case(case: Case, runs: Runs) -> None:
    for system, figures in medians({case.name: runs})[case.name].items():
        shown = ", ".join(f"{name} {value:.4g}" for name, value in figures.items())
        print(f"{case.name}: {system}: {shown}", flush=True)


def fingerprint(options: argparse.Namespace) -> str:
    """Of all that a figure depends on."""
    digest = hashlib.sha256(f"{options.runs}{options.systems}{options.on}".encode())
    folders = [*(PROJECT / "src" / "headrace" / name for name in PACKAGES), PROJECT / "bench" / "pipelines"]
    for folder in folders:
        for path in sorted(path for path in folder.rglob("*") if path.suffix in (".py", ".java", ".scala")):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _keep(case: Case, runs: Runs, options: argparse.Namespace) -> None:
    KEPT.mkdir(parents=True, exist_ok=True)
    (KEPT / f"{case.name}.json").write_text(json.dumps({"fingerprint": fingerprint(options), "runs": runs}))


def _kept(case: Case, options: argparse.Namespace) -> Runs | None:
    path = KEPT / f"{case.name}.json"
    if options.fresh or not path.exists():
        return None
    kept = json.loads(path.read_text())
    runs: Runs = kept["runs"]
    return runs if kept["fingerprint"] == fingerprint(options) else None


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options that only pipelines have."""
    names = ", ".join(case.name for case in CASES)
    parser.add_argument("--case", help=f"with --only pipelines: cases, separated by commas: {names}")
    parser.add_argument("--systems", default="", help="with --only pipelines: headrace, spark, streams-1, streams-2")
    parser.add_argument(
        "--on", choices=sorted(BROKERS), default="apache-kafka", help="with --only pipelines: the broker"
    )
    parser.add_argument("--broker", help="with --only pipelines: the address of one that runs already")
