"""A stream of rows taken as a table: with the value that each key had before, which takes state, or without, which takes none.

Retractions (aggregates of tables) and exact deletions (filters of tables) need the value before; a sink or a join does not: joins keep the tables themselves.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from headrace.spark.stateful.processor import through

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class TableChangesSpec:
    step: str
    pipeline: str


def table_changes(flow: DataFrame, spec: TableChangesSpec) -> DataFrame:
    """A keyed flow (column `left`) as changes: `value` is the new value, NULL a deletion, `old` the one before. Every row comes out, in the order of its key."""
    return through(flow, "TableChanges", asdict(spec))


def changes_without_old(flow: DataFrame) -> DataFrame:
    """The same without the value before and without state. Rows without a key, which a table cannot hold, are left out."""
    return flow.where("key IS NOT NULL").selectExpr(
        "key",
        "left AS value",
        "IF(FALSE, left, NULL) AS old",
        "ts",
        "CAST(NULL AS BIGINT) AS window_start",
        "CAST(NULL AS BIGINT) AS window_end",
    )
