"""Both columns side by side: the verdict per unit, the table on the terminal, the page in `docs/`."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from conformance.cache import PROJECT
from conformance.results import OUTCOMES, Result
from conformance.suites.suite import Suite

COLOURS = {"pass": "green", "fail": "red", "skip": "yellow", "-": "dim"}


@dataclass(frozen=True)
class Row:
    """One unit on both brokers. `verdict` is empty when there is nothing to say."""

    unit: str
    headrace: Result | None
    kafka: Result | None
    exception: str

    @property
    def regression(self) -> bool:
        """It passes on Apache Kafka, it must pass here, and it does not."""
        passes = self.headrace is not None and self.headrace.outcome == "pass"
        return self.kafka is not None and self.kafka.outcome == "pass" and not passes and not self.exception

    @property
    def verdict(self) -> str:
        if self.headrace is None:
            return "not run"
        if self.regression:
            return f"MISSING: {self.headrace.reason}"
        if self.headrace.outcome == "pass":
            return "passes: remove it from the exceptions" if self.exception else ""
        if self.exception:
            return self.exception
        return self.kafka.reason if self.kafka else self.headrace.reason


def exceptions(suite: str) -> dict[str, str]:
    listed = tomllib.loads((PROJECT / "conformance" / "exceptions.toml").read_text())
    return {str(unit): str(reason) for unit, reason in listed.get(suite, {}).items()}


def compare(suite: Suite, units: list[str], headrace: Mapping[str, Result], kafka: Mapping[str, Result]) -> list[Row]:
    listed = exceptions(suite.name)
    return [Row(unit, headrace.get(unit), kafka.get(unit), listed.get(unit, "")) for unit in units]


def summary(results: list[Result | None]) -> str:
    count = Counter(result.outcome if result else "not run" for result in results)
    return ", ".join(f"{count[outcome]} {outcome}" for outcome in (*OUTCOMES, "not run") if count[outcome])


def print_table(suite: Suite, rows: list[Row]) -> None:
    table = Table(title=suite.version, title_justify="left", show_lines=False)
    for heading in ("unit", "Headrace", "Apache Kafka", ""):
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(escape(row.unit), _cell(row.headrace), _cell(row.kafka), escape(row.verdict))
    console = Console()
    console.print(table)
    missing = [row.unit for row in rows if row.regression and row.headrace is not None]
    console.print(f"Headrace: {summary([row.headrace for row in rows])}")
    console.print(f"Apache Kafka: {summary([row.kafka for row in rows])}")
    console.print(f"pass on Apache Kafka, must pass on Headrace, do not: {', '.join(missing) or 'none'}\n")


def _cell(result: Result | None) -> str:
    if result is None:
        return "[dim]-[/dim]"
    again = f" ({result.attempts} tries)" if result.attempts > 1 and result.outcome == "pass" else ""
    return f"[{COLOURS[result.outcome]}]{result.outcome}[/] {result.seconds:.0f} s{again}"


def markdown(suite: Suite, rows: list[Row]) -> str:
    lines = [
        f"## {suite.title}",
        "",
        f"Headrace: {summary([row.headrace for row in rows])}. Apache Kafka: {summary([row.kafka for row in rows])}.",
        "",
        "| unit | Headrace | Apache Kafka | |",
        "|---|---|---|---|",
    ]
    for row in rows:
        ours, theirs = (result.outcome if result else "-" for result in (row.headrace, row.kafka))
        verdict = row.verdict.replace("|", "\\|").replace("<", "&lt;")
        lines.append(f"| `{row.unit}` | {ours} | {theirs} | {verdict} |")
    return "\n".join(lines) + "\n"
