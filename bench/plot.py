"""The picture of the ratios: one bar per measurement, on a scale where twice and half are equally far from one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib

from bench.metrics import METRICS

if TYPE_CHECKING:
    from bench.report import Row

matplotlib.use("Agg")
SHOWN = (
    *("produce", "consume", "transactions", "cleaned", "produce_cpu", "consume_cpu", "p50_ms", "p99_ms"),
    *("start", "recovery", "rss_mb"),
)
BETTER, WORSE = "#2a7f62", "#b3483a"


def draw(rows: list[Row], path: Path) -> None:
    """Bars to the right are in Headrace's favour, whatever the metric: lower-is-better ratios are turned round."""
    from matplotlib import pyplot

    shown = [row for row in rows if row.metric in SHOWN and row.ours > 0 and row.theirs > 0][::-1]
    advantage = [row.ratio if METRICS[row.metric].higher_is_better else 1 / row.ratio for row in shown]
    figure, axes = pyplot.subplots(figsize=(10, 0.32 * len(shown) + 1.2))
    colours = [BETTER if value >= 1 else WORSE for value in advantage]
    axes.barh(range(len(shown)), [value - 1 for value in advantage], left=1, color=colours, height=0.7)
    axes.set_yticks(range(len(shown)), [f"{row.case.title}: {METRICS[row.metric].title}" for row in shown], fontsize=8)
    axes.set_xscale("log", base=2)
    low, high = min(0.5, *advantage), max(2.0, *advantage)
    axes.set_xlim(low / 1.2, high * 1.6)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}x")
    axes.axvline(1, color="black", linewidth=0.8)
    for index, value in enumerate(advantage):
        axes.text(max(value, 1) * 1.04, index, f"{value:.1f}x", va="center", fontsize=8)
    axes.margins(y=0.005)
    figure.suptitle("Headrace against Apache Kafka 4.3: how many times better (right) or worse (left)", fontsize=10)
    figure.tight_layout(rect=(0, 0, 1, 0.99))
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    pyplot.close(figure)
