"""Suppress: fewer updates of a table. Reads `left` (the value; null deletes) and, until windows close, `window_start` and `window_end`."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from pyspark.sql import DataFrame

from headrace.spark.stateful.processor import through


@dataclass(frozen=True)
class SuppressSpec:
    """`until_window_closes`: one result per window when the watermark is `wait_ms` past its end (the grace; of sessions grace and gap, of
    windows whose end belongs to them one millisecond more). Else at most one update per key in `wait_ms` of event time, and with more than
    `max_records` keys waiting in a partition the longest waiting leave early."""

    step: str
    wait_ms: int
    until_window_closes: bool = False
    max_records: int | None = None
    pipeline: str = ""
    real_time: bool = False


def suppress(flow: DataFrame, spec: SuppressSpec) -> DataFrame:
    """The table with fewer updates."""
    return through(flow, "Suppress", asdict(spec))
