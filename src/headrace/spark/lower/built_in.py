"""Aggregates that Spark's own operator computes: of streams, unwindowed or in tumbling and hopping windows, by functions it has.

Spark keeps what a row needs and nothing else through the shuffle: key columns, arguments and time. A record is late when its window's end
plus grace is at or before the watermark; that is Spark's own rule with the grace as the watermark's delay. What leaves has the largest
timestamp of its key and window.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from headrace.functions import CATALOGUE
from headrace.plan import steps as s
from headrace.plan.relations import Relation
from headrace.plan.windows import Hopping, Session, Tumbling, Window
from headrace.spark.lower.flow import Lane, RowSql, Trunk, without_failures
from headrace.spark.lower.heads import EPOCH
from headrace.spark.lower.routes import Routed
from headrace.spark.lower.texts import Texts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SHUFFLE_SLOT = "CAST(spark_partition_id() AS STRING)"


@dataclass(frozen=True)
class BuiltIn:
    """An aggregate as SQL over the columns that go through the shuffle: `k0…` of the key, `a0…` of the arguments, `ts`."""

    step: s.Aggregate
    key: tuple[str, ...]
    arguments: tuple[tuple[str, ...], ...]
    calls: tuple[str, ...]

    @property
    def window(self) -> Tumbling | Hopping | None:
        window = self.step.window
        assert window is None or isinstance(window, Tumbling | Hopping)
        return window


def is_built_in(step: s.Aggregate, input_: Relation, grouped_table: bool, old: bool) -> bool:
    """Whether Spark's own operator can do it: a stream's aggregate of functions that need no order, and nobody asks for old values."""
    if grouped_table or old or step.fold is not None or not step.aggregates:
        return False
    if step.window is not None and not isinstance(step.window, Tumbling | Hopping):
        return False
    if isinstance(step.window, Hopping) and step.window.incremental:
        return False
    return _calls(step, Texts.over(input_, _no_python)) is not None


def built_in(step: s.Aggregate, input_: Relation) -> BuiltIn:
    texts = Texts.over(input_, _no_python)
    calls = _calls(step, texts)
    assert calls is not None
    arguments = tuple(tuple(f"a{i}_{j}" for j in range(len(call.arguments))) for i, call in enumerate(step.aggregates))
    return BuiltIn(step, input_.key.names, arguments, tuple(calls))


def _calls(step: s.Aggregate, texts: Texts) -> list[str] | None:
    found: list[str] = []
    for i, call in enumerate(step.aggregates):
        names = [f"a{i}_{j}" for j in range(len(call.arguments))]
        sql = CATALOGUE.aggregate_sql(call.function, names, [texts.type(one) for one in call.arguments])
        if sql is None:
            return None
        found.append(sql)
    return found


def _no_python(_call: object, _arguments: object) -> str:
    raise AssertionError("types need no SQL")


def input_columns(aggregate: BuiltIn, lane: Lane, texts: Texts) -> Routed:
    """What a lane's rows bring to the aggregate."""
    lane = counted(lane, aggregate.step.window)
    columns = {f"k{i}": lane.key.fields[name] for i, name in enumerate(aggregate.key)}
    for call, names in zip(aggregate.step.aggregates, aggregate.arguments):
        columns |= {name: texts.sql(one, lane) for one, name in zip(call.arguments, names)}
    lane = without_failures(lane, alone=False)
    place = {"topic": "topic", "partition": "partition"} if aggregate.window is not None else {}
    return lane, {**columns, "ts": lane.ts, **place}


def counted(lane: Lane, window: Window | None) -> Lane:
    """The rows that count. As in Kafka Streams those without a key do not, and those without a value only in time windows and sessions."""
    valueless = isinstance(window, Tumbling | Hopping | Session)
    for row in (lane.key,) if valueless else (lane.key, lane.value):
        if row.missing is not None:
            lane = lane.where(f"NOT ({row.missing})")
    return replace(lane, value=RowSql(lane.value.fields)) if valueless else lane


def late_counted(aggregate: BuiltIn, rows: DataFrame, pipeline: str) -> DataFrame:
    """The same rows; those that the aggregate will leave out as late are counted, by the partition that they came from."""
    from pyspark.sql import functions as sql

    from headrace.spark.meters import late_in

    window = aggregate.window
    if window is None:
        return rows
    times = (window.size_ms, _advance(window), window.grace_ms)
    place = [sql.col(name) for name in ("topic", "partition", "ts")]
    counted = late_in(rows.sparkSession, pipeline, aggregate.step.id, times, *place)
    return rows.where(counted).drop("topic", "partition")


def _advance(window: Tumbling | Hopping) -> int:
    return window.advance_ms if isinstance(window, Hopping) else window.size_ms


def aggregated(aggregate: BuiltIn, rows: DataFrame) -> DataFrame:
    """The aggregate over rows with `input_columns`: k0…, r0…, ts, and the window's bounds."""
    from pyspark.sql import functions as sql

    window = aggregate.window
    groups = [sql.col(f"k{i}") for i in range(len(aggregate.key))]
    if window is not None:
        rows = rows.withWatermark("ts", f"{window.grace_ms} milliseconds")
        groups.append(sql.window("ts", f"{window.size_ms} milliseconds", f"{_advance(window)} milliseconds").alias("w"))
    results = [sql.expr(f"{call} AS r{i}") for i, call in enumerate(aggregate.calls)]
    grouped = rows.groupBy(*groups).agg(*results, sql.expr("max(ts) AS rowtime"))
    # Kafka Streams has no windows that begin before 1970; Spark has those that reach into it.
    return grouped.where(f"w.start >= {EPOCH}") if isinstance(window, Hopping) else grouped


def output_lane(aggregate: BuiltIn) -> Lane:
    """The aggregate's rows as a lane."""
    key = RowSql({name: f"k{i}" for i, name in enumerate(aggregate.key)})
    value = RowSql({call.name: f"r{i}" for i, call in enumerate(aggregate.step.aggregates)})
    bounds = ("unix_millis(w.start)", "unix_millis(w.end)") if aggregate.window is not None else None
    trunk = Trunk(aggregate.step.id, SHUFFLE_SLOT)
    return Lane(trunk, key, value, "rowtime", window=bounds)
