"""Live counts of a pipeline, from inside its queries: rows in and out, bad and late records, latency, the newest timestamp per partition.

They are there at any moment, while Spark's own progress comes once per batch, which in real-time mode is once a minute. On a cluster the
counts of other processes arrive when their tasks end. The counting is done in the JVM by `jvm/Meters.scala`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession


def snapshot(spark: SparkSession, pipeline: str) -> dict[str, Any]:
    """All counts of a pipeline since it was first counted, or forgotten. Latency is from source record to sending, in milliseconds."""
    counts: dict[str, Any] = json.loads(spark._jvm.headrace.Meters.snapshot(pipeline))
    return counts


def forget(spark: SparkSession, pipeline: str) -> None:
    """Start a pipeline's counts anew."""
    spark._jvm.headrace.Meters.forget(pipeline)


def late_in(
    spark: SparkSession,
    pipeline: str,
    step: str,
    window: tuple[int, int, int],
    topic: Column,
    partition: Column,
    ts: Column,
) -> Column:
    """A column that is true and counts the rows that Spark's own aggregate will leave out as late; for a filter in front of it.

    `window`: size, advance and grace in milliseconds.
    """
    from pyspark.sql.classic.column import Column as JvmColumn

    jvm: Any = spark._jvm
    windows = jvm.headrace.LateWindows(pipeline, step, *window)
    return JvmColumn(jvm.headrace.LateIn.column(windows, topic._jc, partition._jc, ts._jc))


def rows_in(spark: SparkSession, pipeline: str, topic: Column, partition: Column, timestamp: Column) -> Column:
    """A column that is true and counts the row, for a filter right after the Kafka source."""
    from pyspark.sql.classic.column import Column as JvmColumn

    return JvmColumn(spark._jvm.headrace.RowsIn.column(pipeline, topic._jc, partition._jc, timestamp._jc))
