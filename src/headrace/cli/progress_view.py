"""A pipeline's progress as tables for people: the whole in one line, then its stages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.markup import escape

from headrace.admin.times import local, number, size
from headrace.cli.output import table


def progress_tables(progress: Mapping[str, Any], rates: Mapping[str, float] | None = None) -> list[Any]:
    """Nothing for a pipeline that does not run; `rates` are records a second, where somebody measured them."""
    if not progress:
        return []
    warnings = [f"[yellow]{escape(text)}[/]" for text in progress.get("warnings", ())]
    return [_totals(progress, rates or {}), _stages(progress), *warnings]


def _totals(progress: Mapping[str, Any], rates: Mapping[str, float]) -> Any:
    latency = progress.get("latency_ms") or {}
    columns = [">IN", ">OUT", ">BAD", ">LATE", ">DROPPED", ">LAG", ">P50 MS", ">P99 MS", ">STATE ROWS", ">STATE"]
    row = [
        number(progress.get("rows_in")),
        number(progress.get("rows_out")),
        number(progress.get("bad")),
        number(progress.get("late")),
        number(progress.get("dropped")),
        number(progress.get("lag")),
        number(latency.get("p50")),
        number(latency.get("p99")),
        number(progress.get("state_rows")),
        size(progress.get("state_bytes") or 0),
    ]
    if rates:
        columns[2:2] = [">IN/S", ">OUT/S"]
        row[2:2] = [number(rates.get("in")), number(rates.get("out"))]
    return table(columns, [row])


def _stages(progress: Mapping[str, Any]) -> Any:
    rows = [
        (
            stage["stage"],
            stage["mode"],
            number(stage.get("lag")),
            _watermark(stage.get("watermark")),
            number(stage.get("state_rows")),
            "; ".join(stage.get("reasons") or ()),
        )
        for stage in progress.get("stages", [])
    ]
    return table(("STAGE", "MODE", ">LAG", "WATERMARK", ">STATE ROWS", "WHY"), rows)


def _watermark(value: Any) -> str:
    """Spark says 1970 until it has seen an event time."""
    if isinstance(value, int):
        return local(value) if value > 0 else "-"
    return "-" if not value or str(value).startswith("1970-01-01T00:00:00") else str(value)
