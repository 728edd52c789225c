"""Runs a suite's units on one broker: several at a time, then once more, alone, those that failed.

The second chance is for both brokers alike: several of these tests watch the clock, and two at a time on two cores
is not what they were written for. Listed exceptions get no second chance. A unit that needed it says so in its number of attempts.
"""

from __future__ import annotations

import concurrent.futures
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import groupby

from conformance.apache_kafka import ApacheKafka
from conformance.columns import exceptions
from conformance.headrace_node import Headrace
from conformance.node import Node
from conformance.results import CachedColumn, Result
from conformance.suites.suite import Suite

Report = Callable[[Result], None]


def run_units(suite: Suite, units: Iterable[str], node_class: type[Node], column: CachedColumn, report: Report) -> None:
    """Run the units, grouped by the broker settings they need, and keep every outcome as soon as it is known."""
    wanted = suite.kafka_settings if node_class is ApacheKafka else suite.settings
    by_settings = sorted(units, key=lambda unit: sorted(wanted(unit).items()))
    for settings, group in groupby(by_settings, key=lambda unit: sorted(wanted(unit).items())):
        with node_class(dict(settings)) as node:
            _run_on(node, suite, sorted(group), column, report)


def _run_on(node: Node, suite: Suite, units: list[str], column: CachedColumn, report: Report) -> None:
    def run(unit: str) -> Result:
        return suite.run(unit, node.bootstrap_servers, column.log_file(unit))

    failed: list[Result] = []
    with concurrent.futures.ThreadPoolExecutor(suite.jobs) as pool:
        for result in pool.map(run, units):
            if result.outcome == "fail":
                failed.append(result)
            column.put(result)
            report(result)
            _revive(node)
    excused = exceptions(suite.name) if isinstance(node, Headrace) else {}
    for first in failed:
        if first.unit in excused:
            continue
        result = replace(run(first.unit), attempts=2)
        column.put(result)
        report(result)
        _revive(node)


def _revive(node: Node) -> None:
    """A broker that died is a failure of the unit that ran, not of all the units after it."""
    if not node.alive:
        node.stop()
        node.start()
