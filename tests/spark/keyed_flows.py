"""Runs a keyed flow through a processor on sources in memory, batch by batch, in micro-batch or real-time mode, and returns what came out.

A record is a dictionary with `k` (the key), `v`, `ts` in milliseconds, and whatever else the test's schema has; offsets count up per partition.
"""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession

_numbers = itertools.count()
_TIMEOUT_S = 100.0

Record = Mapping[str, Any]
SCHEMA = "k STRING, v BIGINT, ts BIGINT, topic STRING, partition INT, `offset` BIGINT, undo BOOLEAN, old BIGINT, window_start BIGINT, window_end BIGINT, side INT"
FLOW = (
    "named_struct('k', r.k) AS key",
    "CASE WHEN r.v IS NOT NULL THEN named_struct('v', r.v) END AS `left`",
    "timestamp_millis(r.ts) AS ts",
    "coalesce(r.topic, 't') AS topic",
    "coalesce(r.partition, 0) AS partition",
    "r.`offset` AS `offset`",
)


@dataclass(frozen=True)
class Out:
    """A row that came out; `value` is a tuple, or None for a deletion."""

    key: str
    value: tuple[Any, ...] | None
    ts: int
    start: int | None = None
    end: int | None = None
    old: tuple[Any, ...] | None = None


def run(
    spark: SparkSession,
    process: Callable[[DataFrame], DataFrame],
    batches: Sequence[Sequence[Record]],
    *,
    real_time: bool = False,
    flow: Iterable[str] = FLOW,
) -> list[Out]:
    """What the processor gives for these batches, each of which ends before the next begins."""
    name = f"flow_{next(_numbers)}"
    source = _Source(spark, real_time)
    writer = _columns(process(_flow(source, flow))).writeStream.format("memory").queryName(name).outputMode("update")
    settings = _real_time_settings(spark) if real_time else {}
    query = (writer.trigger(realTime="1 seconds") if real_time else writer).start()
    try:
        for i, batch in enumerate(batches):
            source.add(batch)
            if real_time:
                _await_rows(query, sum(map(len, batches[: i + 1])))
            else:
                query.processAllAvailable()
        return [_out(row) for row in spark.table(name).collect()]
    finally:
        query.stop()
        for setting, before in settings.items():
            spark.conf.unset(setting) if before is None else spark.conf.set(setting, before)


def run_restarted(
    spark: SparkSession,
    process: Callable[[DataFrame], DataFrame],
    batches: Sequence[Sequence[Record]],
    checkpoint: str,
    *,
    flow: Iterable[str] = FLOW,
) -> list[Out]:
    """As `run` in micro-batches, with a new query for each batch that goes on from the checkpoint of the one before."""
    source = _Source(spark, real_time=False)
    rows: list[Any] = []
    for batch in batches:
        out = _columns(process(_flow(source, flow)))
        writer = out.writeStream.outputMode("update").option("checkpointLocation", checkpoint)
        query = writer.foreachBatch(lambda df, _: rows.extend(df.collect())).start()
        try:
            source.add(batch)
            query.processAllAvailable()
        finally:
            query.stop()
    return [_out(row) for row in rows]


def table(rows: Iterable[Out]) -> dict[tuple[str, int | None, int | None], tuple[Any, ...]]:
    """The last value of each key and window."""
    last: dict[tuple[str, int | None, int | None], tuple[Any, ...]] = {}
    for row in rows:
        where = (row.key, row.start, row.end)
        if row.value is None:
            last.pop(where, None)
        else:
            last[where] = row.value
    return last


def late(spark: SparkSession, pipeline: str) -> int:
    """How many late records were counted for a pipeline."""
    jvm = spark._jvm
    assert jvm is not None
    return int(json.loads(jvm.headrace.Meters.snapshot(pipeline))["late"])


def _flow(source: _Source, columns: Iterable[str]) -> DataFrame:
    return source.df.selectExpr(f"from_json(value, '{SCHEMA}') AS r").selectExpr(*columns)


def _columns(df: DataFrame) -> DataFrame:
    return df.selectExpr("key", "value", "old", "unix_millis(ts) AS ts", "window_start", "window_end")


def _real_time_settings(spark: SparkSession) -> dict[str, str | None]:
    """Batches of a second, and a sink in memory, which real-time mode does not list among those it trusts."""
    wanted = {
        "spark.sql.streaming.realTimeMode.minBatchDuration": "1000",
        "spark.sql.streaming.realTimeMode.allowlistCheck": "false",
    }
    before = {name: spark.conf.get(name, None) for name in wanted}
    for name, value in wanted.items():
        spark.conf.set(name, value)
    return before


def _await_rows(query: Any, count: int) -> None:
    """Waits until batches that took `count` rows in all have ended: what came of them is then in the sink."""
    deadline = time.monotonic() + _TIMEOUT_S
    while sum(progress["numInputRows"] for progress in query.recentProgress) < count:
        if query.exception() is not None:
            raise query.exception()
        assert time.monotonic() < deadline, "the query does not get on"
        time.sleep(0.05)


def _out(row: Any) -> Out:
    value, old = (None if one is None else tuple(one) for one in (row.value, row.old))
    return Out(row.key.k, value, row.ts, row.window_start, row.window_end, old)


class _Source:
    """A stream that records are put into from here."""

    def __init__(self, spark: SparkSession, real_time: bool) -> None:
        self._jvm: Any = spark._jvm
        streaming = self._jvm.org.apache.spark.sql.execution.streaming
        encoder = self._jvm.org.apache.spark.sql.Encoders.STRING()
        if real_time:
            self._stream = streaming.sources.LowLatencyMemoryStream.apply(spark._jsparkSession, 1, encoder)
        else:
            self._stream = streaming.runtime.MemoryStream.apply(encoder, spark._jsparkSession)
        self.df = DataFrame(self._stream.toDF(), spark)
        self._offsets: dict[tuple[str, int], int] = {}

    def add(self, records: Sequence[Record]) -> None:
        texts = self._jvm.java.util.ArrayList()
        for record in records:
            partition = (record.get("topic", "t"), record.get("partition", 0))
            offset = self._offsets.get(partition, 0)
            self._offsets[partition] = offset + 1
            texts.append(json.dumps({"offset": offset, **record}))
        self._stream.addData(self._jvm.scala.jdk.javaapi.CollectionConverters.asScala(texts).toSeq())
