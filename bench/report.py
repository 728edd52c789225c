"""From runs to medians and ratios: the table on the terminal, the page with its picture in `docs/`, the raw numbers."""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.cases import Case
from bench.metrics import METRICS, Measured
from bench.pipelines.report import figure, with_section
from conformance.apache_kafka import VERSION as KAFKA_VERSION
from conformance.cache import PROJECT
from conformance.install import LIBRDKAFKA_VERSION

OURS, THEIRS = "Headrace", "Apache Kafka"
Results = dict[str, dict[str, list[Measured]]]


@dataclass(frozen=True)
class Row:
    """One metric of one case: both medians, their ratio Headrace ÷ Apache Kafka, and the goal if there is one."""

    case: Case
    metric: str
    ours: float
    theirs: float

    @property
    def ratio(self) -> float:
        return self.ours / self.theirs

    @property
    def goal(self) -> float | None:
        return self.case.goals.get(self.metric)

    @property
    def met(self) -> bool | None:
        if self.goal is None:
            return None
        reached = self.ours if METRICS[self.metric].own else self.ratio
        return reached >= self.goal if METRICS[self.metric].higher_is_better else reached <= self.goal

    @property
    def goal_text(self) -> str:
        if self.goal is None:
            return ""
        metric = METRICS[self.metric]
        return f"{f'{OURS} ' if metric.own else ''}{'≥' if metric.higher_is_better else '≤'} {self.goal:g}"


def median(runs: list[Measured], metric: str) -> float:
    return statistics.median(run[metric] for run in runs)


def rows(cases: list[Case], results: Results) -> list[Row]:
    return [
        Row(case, metric, median(results[case.name][OURS], metric), median(results[case.name][THEIRS], metric))
        for case in cases
        for metric in METRICS
        if metric in results[case.name][OURS][0]
    ]


def print_case(case: Case, runs: dict[str, list[Measured]]) -> None:
    for title, each in runs.items():
        medians = ", ".join(f"{metric} {figure(median(each, metric))}" for metric in each[0])
        print(f"{case.name}: {title}: {medians}", flush=True)


def print_table(cases: list[Case], results: Results) -> None:
    table = Table(title="Headrace ÷ Apache Kafka, medians", title_justify="left")
    for heading in ("case", "measured", "unit", OURS, THEIRS, "ratio", "goal"):
        table.add_column(heading, justify="left" if heading in ("case", "measured", "unit") else "right")
    colours = {True: "green", False: "red", None: "default"}
    for row in rows(cases, results):
        metric = METRICS[row.metric]
        ratio = f"[{colours[row.met]}]{row.ratio:.2f}x[/]"
        table.add_row(
            row.case.title, metric.title, metric.unit, figure(row.ours), figure(row.theirs), ratio, row.goal_text
        )
    Console(width=160).print(table)


def write(cases: list[Case], results: Results, *, quick: bool) -> None:
    """The raw numbers, and for the full run also the page and the picture."""
    folder = PROJECT / "bench" / "results"
    folder.mkdir(parents=True, exist_ok=True)
    raw = {"machine": machine(), "quick": quick, "results": results}
    (folder / ("quick.json" if quick else "full.json")).write_text(json.dumps(raw, indent=1) + "\n")
    if not quick:
        from bench.plot import draw

        draw(rows(cases, results), PROJECT / "docs" / "images" / "bench.png")
        (PROJECT / "docs" / "bench.md").write_text(with_section(page(cases, results)))


def machine() -> dict[str, object]:
    memory = next(line for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("MemTotal"))
    model = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    return {
        "cores": os.cpu_count(),
        "cpu": model[0].partition(": ")[2] if model else platform.machine(),
        "memory_gb": round(int(memory.split()[1]) / 1e6),
        "kernel": platform.release(),
        "commit": subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"], cwd=PROJECT, capture_output=True, text=True
        ).stdout.strip(),
        "python": platform.python_version(),
        "apache_kafka": KAFKA_VERSION,
        "librdkafka": LIBRDKAFKA_VERSION,
    }


def page(cases: list[Case], results: Results) -> str:
    facts = machine()
    head = (PROJECT / "bench" / "page.md").read_text()
    lines = [
        head,
        f"Measured on {facts['cores']} cores ({facts['cpu']}), {facts['memory_gb']} GB, client on the same cores; "
        f"Python {facts['python']}, librdkafka {facts['librdkafka']}, Apache Kafka {facts['apache_kafka']} with 1 GB of heap; "
        f"commit {facts['commit']}.\n",
        "![Headrace compared with Apache Kafka](images/bench.png)\n",
        "| case | measured | Headrace | Apache Kafka | unit | ratio | goal | |",
        "|---|---|---:|---:|---|---:|---:|---|",
    ]
    for row in rows(cases, results):
        metric = METRICS[row.metric]
        mark = {True: "met", False: "missed", None: ""}[row.met]
        numbers = (
            f"{figure(row.ours)} | {figure(row.theirs)} | {metric.unit} | {row.ratio:.2f} | {row.goal_text} | {mark}"
        )
        lines.append(f"| {row.case.title} | {metric.title} | {numbers} |")
    return "\n".join(lines) + "\n"
