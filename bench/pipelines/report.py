"""Pipelines' figures for the terminal, for `docs/bench.md` and as raw numbers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.pipelines import engines, latency, throughput
from bench.pipelines.goals import Runs, medians, reached
from conformance.cache import PROJECT

RESULTS = PROJECT / "bench" / "results" / "pipelines.json"
HEADING = "## Pipelines"
PAGE = PROJECT / "bench" / "pipelines" / "page.md"
COLUMNS = {
    "rate": "records/s",
    "warm_rate": "records/s, warm",
    "cpu": "CPU, s/million",
    "warm_cpu": "CPU, warm",
    "jit_cpu": "compiler, s",
    "start_cpu": "start, CPU s",
    "peak_rss_mb": "peak MB",
    "out": "records out",
}


def figure(value: float) -> str:
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def print_goals(results: Mapping[str, Runs]) -> None:
    """The goals that these cases tell of, with whether they are met."""
    table = Table(title="Pipelines: goals, medians", title_justify="left")
    for heading in ("figure", "", "goal", ""):
        table.add_column(heading, justify="left" if heading == "figure" else "right")
    for one in reached(results):
        word = "[green]met[/]" if one.met else "[red]missed[/]"
        table.add_row(one.goal.title, f"{figure(one.value)} {one.goal.unit}", one.goal.text, word)
    Console(width=140).print(table)


def write(results: Mapping[str, Runs], facts: Mapping[str, Any]) -> None:
    """The raw numbers, and the section of the page anew; what else is on the page stays."""
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(json.dumps({"machine": dict(facts), "results": results}, indent=1) + "\n")
    page = PROJECT / "docs" / "bench.md"
    page.write_text(with_section(page.read_text()))


def with_section(page: str) -> str:
    """The page with the section as the kept numbers have it; without numbers, as it is."""
    if not RESULTS.exists():
        return page
    kept = json.loads(RESULTS.read_text())
    return page.partition(HEADING)[0].rstrip() + "\n\n" + section(kept["results"], kept["machine"])


def section(results: Mapping[str, Runs], facts: Mapping[str, Any]) -> str:
    parts = [PAGE.read_text().rstrip(), _where(facts), _goals(results), _throughput(results), _rest(results)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _where(facts: Mapping[str, Any]) -> str:
    return (
        f"Measured on {facts['cores']} cores ({facts['cpu']}), {facts['memory_gb']} GB, broker and clients on the same cores; "
        f"Python {facts['python']}, broker {facts['broker']}; commit {facts['commit']}."
    )


def _goals(results: Mapping[str, Runs]) -> str:
    lines = ["| figure | | unit | goal | |", "|---|---:|---|---:|---|"]
    for one in reached(results):
        mark = "met" if one.met else "missed"
        lines.append(f"| {one.goal.title} | {figure(one.value)} | {one.goal.unit} | {one.goal.text} | {mark} |")
    return "\n".join(lines)


def _throughput(results: Mapping[str, Runs]) -> str:
    known = medians(results)
    lines = [f"| job | records | system | {' | '.join(COLUMNS.values())} |", f"|---|---:|---|{'---:|' * len(COLUMNS)}"]
    for case in throughput.CASES:
        for system, figures in known.get(case.name, {}).items():
            numbers = " | ".join(figure(figures[name]) for name in COLUMNS)
            records = case.smaller.get(system, case.backlog).count
            lines.append(f"| {case.title} | {records:,} | {throughput.TITLES[system]} | {numbers} |")
    return "\n".join(lines) if len(lines) > 2 else ""


def _rest(results: Mapping[str, Runs]) -> str:
    known = medians(results)
    titles = {
        **{case.name: f"latency, {case.title}" for case in latency.CASES},
        **{case.name: case.title for case in engines.CASES},
    }
    lines = [
        f"| {title} | {', '.join(f'{UNITS[metric]} {figure(value)}' for metric, value in figures.items())} |"
        for name, title in titles.items()
        for figures in known.get(name, {}).values()
    ]
    return "\n".join(["| case | measured |", "|---|---|", *lines]) if lines else ""


UNITS = {
    "p50_ms": "p50 ms",
    "p99_ms": "p99 ms",
    "max_ms": "longest ms",
    "cores": "cores",
    "jvm_rss_mb": "Java MB",
    "start_s": "seconds",
    "start_cpu": "CPU seconds",
}
