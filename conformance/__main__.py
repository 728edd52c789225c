"""`python -m conformance [SUITE ...]`: the suites of other projects on Headrace and on Apache Kafka, both columns.

Without names it runs every suite, then our own client tests with every peer required, pairs of schemas in the registry, pipelines against Kafka Streams, then the long fault runs. A run cut
short goes on where it stopped. Ends with status 1 when something that passes on Apache Kafka, and is no listed exception, does not pass here.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys

from conformance import apache_kafka, columns, faults, install, registry, results
from conformance.apache_kafka import VERSION as KAFKA_VERSION
from conformance.apache_kafka import ApacheKafka
from conformance.cache import PROJECT
from conformance.headrace_node import Headrace
from conformance.results import CachedColumn, Result
from conformance.runner import run_units
from conformance.suites import SUITES
from conformance.suites.suite import Suite

CLIENTS = "clients"
CONSOLE = "console"
STREAMS = "streams"
REGISTRY = "registry"
FAULTS = "faults"


def main() -> None:
    options = _options()
    names = options.suites or [*SUITES, CLIENTS, CONSOLE, REGISTRY, STREAMS, FAULTS]
    failed = False
    for name in names:
        if name == CLIENTS:
            failed |= not run_client_tests()
        elif name == CONSOLE:
            failed |= not run_console_tests()
        elif name == REGISTRY:
            failed |= not registry.run()
        elif name == STREAMS:
            failed |= subprocess.run([sys.executable, "-m", "conformance.streams"]).returncode != 0
        elif name == FAULTS:
            failed |= not faults.run(source_fingerprint(), fresh=options.fresh)
        else:
            failed |= not run_suite(SUITES[name], options)
    if not options.only and not options.kafka_only and set(SUITES) <= set(names):
        write_page()
    sys.exit(failed)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m conformance", description=__doc__)
    parser.add_argument(
        "suites",
        nargs="*",
        choices=[*SUITES, CLIENTS, CONSOLE, REGISTRY, STREAMS, FAULTS, []],
        metavar="SUITE",
        help=f"{', '.join(SUITES)}, {CLIENTS}, {CONSOLE}, {REGISTRY}, {STREAMS}, {FAULTS}",
    )
    parser.add_argument("--only", default="", help="units, separated by commas; a unit is matched by its beginning")
    parser.add_argument("--fresh", action="store_true", help="run Headrace's column anew")
    parser.add_argument("--fresh-kafka", action="store_true", help="run Apache Kafka's column anew")
    parser.add_argument("--kafka-only", action="store_true", help="leave Headrace's column alone")
    parser.add_argument(
        "--stale", action="store_true", help="keep passes of earlier sources: run only what has not passed"
    )
    return parser.parse_args()


def run_suite(suite: Suite, options: argparse.Namespace) -> bool:
    """Bring both columns up to date, print them; true when nothing is missing."""
    print(f"{suite.name}: installing", flush=True)
    suite.install()
    all_units = suite.units()
    beginnings = tuple(filter(None, options.only.split(",")))
    units = [unit for unit in all_units if not beginnings or unit.startswith(beginnings)]
    kafka = kafka_column(suite, all_units, units, fresh=options.fresh_kafka)
    ours = {} if options.kafka_only else headrace_column(suite, units, options)
    rows = columns.compare(suite, units, ours, kafka)
    columns.print_table(suite, rows)
    return options.kafka_only or not any(row.regression for row in rows)


def kafka_column(suite: Suite, all_units: list[str], units: list[str], *, fresh: bool) -> dict[str, Result]:
    """The committed column, or a new one unit by unit; a complete new one is written for committing."""
    kept = results.read_expected(suite.name, suite.version)
    if kept is not None and not fresh and all(unit in kept for unit in units):
        return kept
    column = CachedColumn(suite.name, ApacheKafka.name, suite.version)
    known = dict(kept or {}) | {unit: result for unit in all_units if (result := column.get(unit))}
    known = {unit: result for unit, result in known.items() if not (fresh and unit in units)}
    run_units(suite, [unit for unit in units if unit not in known], ApacheKafka, column, _progress("Apache Kafka"))
    known |= {unit: result for unit in units if (result := column.get(unit))}
    if all(unit in known for unit in all_units):
        results.write_expected(
            suite.name, suite.version, f"Apache Kafka {KAFKA_VERSION}", [known[u] for u in all_units]
        )
    return known


def headrace_column(suite: Suite, units: list[str], options: argparse.Namespace) -> dict[str, Result]:
    column = CachedColumn(suite.name, Headrace.name, f"{suite.version}, headrace {source_fingerprint()}")
    waiting = [unit for unit in units if options.fresh or not _done(column, unit, options.stale)]
    run_units(suite, waiting, Headrace, column, _progress("Headrace"))
    return {unit: result for unit in units if (result := column.get(unit, any_fingerprint=options.stale))}


def _done(column: CachedColumn, unit: str, stale: bool) -> bool:
    if column.get(unit) is not None:
        return True
    earlier = column.get(unit, any_fingerprint=True)
    return stale and earlier is not None and earlier.outcome == "pass"


def source_fingerprint() -> str:
    """Of Headrace's sources: a result belongs to the code it ran on."""
    digest = hashlib.sha256()
    for path in sorted((PROJECT / "src" / "headrace").rglob("*")):
        if path.suffix in (".py", ".scala"):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def _progress(broker: str):
    def report(result: Result) -> None:
        print(f"{broker}: {result.unit}: {result.outcome} {result.seconds} s {result.reason}", flush=True)

    return report


def run_client_tests() -> bool:
    """Our own tests with real programs as clients, on Headrace, none of them skipped."""
    for peer in install.PEERS.values():
        peer.install()
    environment = dict(os.environ, HEADRACE_REQUIRE_PEERS="1")
    command = [sys.executable, "-m", "pytest", "tests", "-m", "peer", "-q"]
    return subprocess.run(command, cwd=PROJECT, env=environment).returncode == 0


def run_console_tests() -> bool:
    """The web console's own tests, in a real browser, with Apache Kafka in the broker's place."""
    apache_kafka.install()
    environment = dict(os.environ, HEADRACE_REQUIRE_PEERS="1", HEADRACE_CONSOLE_BROKER="apache-kafka")
    command = [sys.executable, "-m", "pytest", "tests/console", "-q"]
    return subprocess.run(command, cwd=PROJECT, env=environment).returncode == 0


def write_page() -> None:
    """`docs/conformance.md` from what is known of every suite."""
    parts = [(PROJECT / "conformance" / "page.md").read_text()]
    for suite in SUITES.values():
        units = suite.units()
        kafka = results.read_expected(suite.name, suite.version) or {}
        column = CachedColumn(suite.name, Headrace.name, "")
        ours = {unit: result for unit in units if (result := column.get(unit, any_fingerprint=True))}
        parts.append(columns.markdown(suite, columns.compare(suite, units, ours, kafka)))
    (PROJECT / "docs" / "conformance.md").write_text("\n".join(parts))


if __name__ == "__main__":
    main()
