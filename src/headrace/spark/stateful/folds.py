"""Folds: aggregates as functions of an accumulator, by key and by every kind of window, of streams and of tables.

Reads `left` (the row) and, for tables, `undo` (the row in `left` is taken out) or `right` (the row to take out before `left` is added: one
update instead of two when a row changes within its group).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from pyspark.sql import DataFrame

from headrace.plan import windows
from headrace.spark.stateful.processor import through


class Leaves(StrEnum):
    """When results leave a fold."""

    EVERY_UPDATE = "every_update"
    LAST_OF_BATCH = (
        "last_of_batch"  # one per key and window that changed in a micro-batch; in real-time mode every update
    )
    FINAL = "final"  # one per window, when the watermark has passed its end and grace


@dataclass(frozen=True)
class FoldSpec:
    """A fold in SQL. Texts give structs and are over `key`, `row` and `state`, and over `other` where two accumulators meet.

    A null struct is a deletion. `first_is_initial`: `initial` is over the first row, else over the key alone. `unmerge` takes an accumulator
    out of another; with it incremental windows need no second set of sums. Sessions and incremental windows need `merge`, tables `undo`.
    """

    step: str
    state: str
    """The accumulator's fields as Spark DDL."""
    initial: str
    update: str
    result: str = "state"
    undo: str | None = None
    merge: str | None = None
    unmerge: str | None = None
    first_is_initial: bool = False
    window: windows.Window | None = None
    window_end: str | None = None
    """The condition that ends a punctuation window, over `row`."""
    emit: Leaves = Leaves.EVERY_UPDATE
    old: bool = False
    """Whether results carry the value before them."""
    pipeline: str = ""
    real_time: bool = False


def fold(flow: DataFrame, spec: FoldSpec) -> DataFrame:
    """The aggregate of a keyed flow. Results of windows carry their bounds; sessions and windows of records include their end."""
    window = None if spec.window is None else _window(spec.window, spec.window_end)
    given = {name: getattr(spec, name) for name in spec.__dataclass_fields__ if name not in ("window", "window_end")}
    return through(flow, "Fold", given | {"window": window})


def _window(window: windows.Window, end: str | None) -> dict[str, Any]:
    if isinstance(window, windows.Punctuation):
        assert end is not None, "a punctuation window comes with its condition as SQL"
        return {
            "kind": "punctuation",
            "end": end,
            "inclusive": window.inclusive,
            "max_records": window.max_records,
        }
    lengths = {name: value for name, value in asdict(window).items() if name != "retention_ms"}  # that is the table's
    return {"kind": type(window).__name__.lower(), **lengths}
