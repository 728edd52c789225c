"""Joins of streams and tables, held against Kafka Streams: `goldens/joins.json` is what its TopologyTestDriver (4.3, no caching) gives for the same records."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from headrace.spark.stateful.joins import (
    StreamStreamJoinSpec,
    StreamTableJoinSpec,
    TableTableJoinSpec,
    stream_stream_join,
    stream_table_join,
    table_table_join,
)
from headrace.spark.stateful.tables import TableChangesSpec, changes_without_old, table_changes
from tests.spark.keyed_flows import Out, late, run

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

GOLDENS = json.loads((Path(__file__).parent / "goldens" / "joins.json").read_text())
COLUMNS = "named_struct('l', left.v, 'r', right.v)"
FLOW = (
    "named_struct('k', r.k) AS key",
    "r.side AS side",
    "CASE WHEN r.side = 0 AND r.v IS NOT NULL THEN named_struct('v', r.v) END AS `left`",
    "CASE WHEN r.side = 1 AND r.v IS NOT NULL THEN named_struct('v', r.v) END AS `right`",
    "timestamp_millis(r.ts) AS ts",
    "'t' AS topic",
    "0 AS partition",
    "r.`offset` AS `offset`",
)
MODES = pytest.mark.parametrize("real_time", [False, True], ids=["micro-batch", "real-time"])
Process = Callable[["DataFrame"], "DataFrame"]
_pipelines = (f"joins-{number}" for number in itertools.count())


def goldens(topology: str, *kinds: str) -> list[Any]:
    chosen = [case for case in GOLDENS if case["topology"] == topology and (not kinds or case["kind"] in kinds)]
    return [pytest.param(case, id=f"{case['kind']}{case.get('before', '')}") for case in chosen]


def batches(records: Sequence[Sequence[Any]], size: int) -> list[list[dict[str, Any]]]:
    rows = [{"side": side, "k": key, "v": value, "ts": ts} for side, key, value, ts in records]
    return [rows[i : i + size] for i in range(0, len(rows), size)]


def outputs(
    spark: SparkSession, process: Process, records: Sequence[Sequence[Any]], *, size: int = 10, real_time: bool = False
) -> list[Out]:
    """What comes out; a result without a key has the key NULL as it went in."""

    def keyed(flow: DataFrame) -> DataFrame:
        from pyspark.sql.functions import expr

        return process(flow).withColumn("key", expr("coalesce(key, named_struct('k', CAST(NULL AS STRING)))"))

    return run(spark, keyed, batches(records, len(records) if real_time else size), real_time=real_time, flow=FLOW)


def by_key(rows: Sequence[Out]) -> dict[str | None, list[Any]]:
    keys: dict[str | None, list[Any]] = {}
    for row in rows:
        keys.setdefault(row.key, []).append((row.value, row.ts))
    return keys


def expected(case: dict[str, Any]) -> dict[str | None, list[Any]]:
    return by_key([Out(k, v and tuple(v), ts) for step in case["outputs"] for k, v, ts in step])


def counted(spark: SparkSession, pipeline: str, what: str) -> int:
    jvm: Any = spark._jvm
    return int(json.loads(jvm.headrace.Meters.snapshot(pipeline))[what])


@MODES
@pytest.mark.parametrize("case", goldens("stream-table"))
def test_stream_table_joins_give_what_kafka_streams_gives(
    spark: SparkSession, case: dict[str, Any], real_time: bool
) -> None:
    pipeline = next(_pipelines)
    spec = StreamTableJoinSpec("join", pipeline, case["kind"], COLUMNS, real_time)
    got = outputs(spark, lambda flow: stream_table_join(flow, spec), case["records"], real_time=real_time)
    assert by_key(got) == expected(case)
    unusable = [
        row
        for row in case["records"]
        if (row[0] == 1 and row[1] is None)
        or (row[0] == 0 and (row[2] is None or (row[1] is None and case["kind"] == "inner")))
    ]
    assert counted(spark, pipeline, "dropped") == len(unusable) > 0


def test_of_equal_times_the_table_goes_first(spark: SparkSession) -> None:
    spec = StreamTableJoinSpec("join", next(_pipelines), "left", COLUMNS)
    flow = (*FLOW[:5], "IF(r.side = 0, 'a', 'b') AS topic", *FLOW[6:])
    rows = batches([(0, "a", 1, 50), (1, "a", 2, 50), (0, "a", 3, 40), (1, "a", 4, 60)], 10)
    got = run(spark, lambda df: stream_table_join(df, spec), rows, flow=flow)
    # The stream's topic is a queue of 50, 40, the table's one of 50, 60: a record waits behind those before it.
    assert [row.value for row in got] == [(1, 2), (3, 2)]


@pytest.mark.parametrize("case", goldens("table-table"))
def test_table_table_joins_give_what_kafka_streams_gives(spark: SparkSession, case: dict[str, Any]) -> None:
    spec = TableTableJoinSpec("join", next(_pipelines), case["kind"], COLUMNS, old=True)
    got = outputs(spark, lambda flow: table_table_join(flow, spec), case["records"])
    assert by_key(got) == expected(case)
    assert_old_values(got)


def test_table_table_joins_in_real_time(spark: SparkSession) -> None:
    (case,) = (case for case in GOLDENS if case["topology"] == "table-table" and case["kind"] == "outer")
    spec = TableTableJoinSpec("join", next(_pipelines), "outer", COLUMNS, old=True)
    got = outputs(spark, lambda flow: table_table_join(flow, spec), case["records"], real_time=True)
    assert by_key(got) == expected(case)
    assert_old_values(got)


def assert_old_values(rows: Sequence[Out]) -> None:
    """Each row's `old` is what its key had before."""
    before: dict[str | None, Any] = {}
    for row in rows:
        assert row.old == before.get(row.key)
        before[row.key] = row.value


@MODES
def test_a_table_knows_the_value_before(spark: SparkSession, real_time: bool) -> None:
    pipeline = next(_pipelines)
    rows = [(0, "a", 1, 10), (0, "a", 2, 5), (0, "b", None, 6), (0, "a", None, 7), (0, None, 9, 8), (0, "a", 3, 9)]
    got = outputs(
        spark, lambda flow: table_changes(flow, TableChangesSpec("t", pipeline)), rows, size=2, real_time=real_time
    )
    assert [(row.value, row.old, row.ts) for row in got if row.key == "b"] == [(None, None, 6)]
    assert [(row.value, row.old, row.ts) for row in got if row.key == "a"] == [
        ((1,), None, 10),
        ((2,), (1,), 5),
        (None, (2,), 7),
        ((3,), None, 9),
    ]
    assert counted(spark, pipeline, "dropped") == 1


def test_changes_without_the_value_before_need_no_state(spark: SparkSession) -> None:
    flow = spark.sql(
        "SELECT named_struct('k', 'a') AS key, named_struct('v', 1) AS left, timestamp_millis(5) AS ts UNION ALL "
        "SELECT NULL, named_struct('v', 2), timestamp_millis(6) UNION ALL SELECT named_struct('k', 'a'), NULL, timestamp_millis(7)"
    )
    rows = changes_without_old(flow).orderBy("ts").collect()
    assert [(row.key.k, row.value and row.value.v, row.old) for row in rows] == [("a", 1, None), ("a", None, None)]


def stream_stream(case: dict[str, Any], pipeline: str) -> Process:
    spec = StreamStreamJoinSpec("join", pipeline, case["kind"], COLUMNS, case["before"], case["after"], case["grace"])
    return lambda flow: stream_stream_join(flow, spec)


@pytest.mark.parametrize("case", goldens("stream-stream"))
def test_stream_stream_joins_give_what_kafka_streams_gives(spark: SparkSession, case: dict[str, Any]) -> None:
    """One record a batch, so that the watermark is Kafka Streams' stream time. The last records, of a key of their own, only move the time on."""
    got = by_key(outputs(spark, stream_stream(case, next(_pipelines)), case["records"], size=1))
    wanted = expected(case)
    got.pop("z", None), wanted.pop("z", None)
    assert got == wanted


@MODES
def test_pairs_come_out_at_once(spark: SparkSession, real_time: bool) -> None:
    (case,) = (case for case in GOLDENS if case["topology"] == "stream-stream" and case["kind"] == "inner")
    got = outputs(spark, stream_stream(case, next(_pipelines)), case["records"], size=100, real_time=real_time)
    assert by_key(got) == expected(case)


def test_lone_rows_come_out_in_real_time_when_the_watermark_has_moved(spark: SparkSession) -> None:
    from pyspark.sql.functions import expr

    case = {"kind": "left", "before": 10, "after": 10, "grace": 5}
    process = stream_stream(case, next(_pipelines))
    rows = [batches([(0, "a", 1, 1000), (0, "b", 2, 2000)], 2)[0], batches([(0, "c", 3, 2001)], 1)[0]]
    got = run(spark, lambda flow: process(flow).withColumn("key", expr("key")), rows, real_time=True, flow=FLOW)
    assert [(row.key, row.value, row.ts) for row in got] == [("a", (1, None), 1000)]


def test_late_rows_are_counted_meet_what_is_there_and_are_not_kept(spark: SparkSession) -> None:
    pipeline = next(_pipelines)
    case = {"kind": "left", "before": 100, "after": 100, "grace": 0}
    rows = [(1, "a", 1, 1100), (1, "b", 2, 1205), (0, "a", 3, 1005), (1, "a", 4, 1004)]
    got = outputs(spark, stream_stream(case, pipeline), rows, size=1)
    # At watermark 1205 rows up to 1005 are late; the first still meets the row at 1100, the second finds no trace of the first.
    assert [(row.key, row.value) for row in got] == [("a", (3, 1))]
    assert late(spark, pipeline) == 2


def test_many_rows_of_one_key_and_window(spark: SparkSession) -> None:
    """More rows than a chunk of state holds, over two batches."""
    case = {"kind": "inner", "before": 1000, "after": 1000, "grace": 0}
    rows = [(0, "a", i, 5000 + i) for i in range(100)] + [(1, "a", 500, 5050), (0, "a", 100, 5100), (1, "a", 501, 5099)]
    got = outputs(spark, stream_stream(case, next(_pipelines)), rows, size=70)
    assert [row.value for row in got[:100]] == [(i, 500) for i in range(100)]
    assert [row.value for row in got[100:]] == [(100, 500), *((i, 501) for i in range(101))]
