"""The two processors of a foreign-key join: alone, and in a ring as two stages are, held against Kafka Streams (`goldens/joins.json`)."""

from __future__ import annotations

import itertools
import json
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from headrace.spark.stateful.joins import (
    RESULTS,
    SUBSCRIPTIONS,
    ForeignKeyJoinSpec,
    foreign_key_left,
    foreign_key_right,
    response_type,
    subscription_type,
)
from tests.spark.keyed_flows import _await_rows, _real_time_settings, _Source

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

GOLDENS = json.loads((Path(__file__).parent / "goldens" / "joins.json").read_text())
RECORDS = 16
"""Of each golden case: every record takes a few micro-batches around the ring."""
COLUMNS = "named_struct('l', left.v, 'r', right.v)"
FOREIGN_KEY = "named_struct('k', CAST(nullif(left.v DIV 100, 0) AS STRING))"
MESSAGE = "k STRING, side INT, v BIGINT, ts BIGINT, `offset` BIGINT, other STRUCT<{other}>"
FLOW = (
    "named_struct('k', r.k) AS key",
    "r.side AS side",
    "{left} AS `left`",
    "{right} AS `right`",
    "timestamp_millis(r.ts) AS ts",
    "IF(r.side = 0, 'l', 'r') AS topic",
    "0 AS partition",
    "r.`offset` AS `offset`",
)
VALUE = "CASE WHEN r.v IS NOT NULL THEN named_struct('v', r.v) END"
_numbers = itertools.count()


def spec(kind: Any, *, old: bool = False) -> ForeignKeyJoinSpec:
    return ForeignKeyJoinSpec("join", f"foreign-{next(_numbers)}", kind, COLUMNS, FOREIGN_KEY, "k STRING", old)


class Stage:
    """A processor on a source in memory: records in, rows out, a micro-batch at a time or in real-time mode."""

    def __init__(
        self, spark: SparkSession, process: Callable[[DataFrame], DataFrame], other: str, left: str, right: str
    ):
        self.spark = spark
        self.name = f"stage_{next(_numbers)}"
        self.source = _Source(spark, self.real_time)
        self.given = self.seen = 0
        rows = self.source.df.selectExpr(f"from_json(value, '{MESSAGE.format(other=other)}') AS r")
        flow = rows.selectExpr(*(column.format(left=left, right=right) for column in FLOW))
        writer = process(flow).writeStream.format("memory").queryName(self.name).outputMode("update")
        self.query = (writer.trigger(realTime="1 seconds") if self.real_time else writer).start()

    real_time = False

    def step(self, *records: dict[str, Any]) -> list[Any]:
        """What these records give, and nothing that came before."""
        self.source.add(records)
        self.given += len(records)
        if self.real_time:
            _await_rows(self.query, self.given)
        else:
            self.query.processAllAvailable()
        rows = self.spark.table(self.name).collect()[self.seen :]
        self.seen += len(rows)
        return rows


class RealTimeStage(Stage):
    real_time = True


def routed(rows: DataFrame) -> DataFrame:
    """Results as (k, value, ts), subscriptions as (foreign key, value, ts), told apart by `output`, as a stage would write them to topics."""
    return rows.selectExpr(
        "output",
        f"IF({RESULTS.condition}, {RESULTS.key}.k, {SUBSCRIPTIONS.key}.k) AS k",
        f"IF({RESULTS.condition}, to_json({RESULTS.value}), to_json({SUBSCRIPTIONS.value})) AS value",
        "to_json(old) AS old",
        "unix_millis(ts) AS ts",
    )


def left_stage(spark: SparkSession, join: ForeignKeyJoinSpec, kind: type[Stage] = Stage) -> Stage:
    return kind(
        spark,
        lambda flow: routed(foreign_key_left(flow, join)),
        response_type("v BIGINT"),
        f"IF(r.side = 0, {VALUE}, NULL)",
        "IF(r.side = 1, r.other, NULL)",
    )


def right_stage(spark: SparkSession, join: ForeignKeyJoinSpec, kind: type[Stage] = Stage) -> Stage:
    return kind(
        spark,
        lambda flow: foreign_key_right(flow, join).selectExpr(
            "key.k AS k", "to_json(value) AS value", "unix_millis(ts) AS ts"
        ),
        subscription_type("k STRING"),
        "IF(r.side = 0, r.other, NULL)",
        f"IF(r.side = 1, {VALUE}, NULL)",
    )


@contextmanager
def stages(spark: SparkSession, join: ForeignKeyJoinSpec, kind: type[Stage] = Stage) -> Iterator[tuple[Stage, Stage]]:
    settings = _real_time_settings(spark) if kind.real_time else {}
    started: list[Stage] = []
    try:
        started.append(left_stage(spark, join, kind))
        started.append(right_stage(spark, join, kind))
        yield started[0], started[1]
    finally:
        for stage in started:
            stage.query.stop()
        for setting, before in settings.items():
            spark.conf.unset(setting) if before is None else spark.conf.set(setting, before)


def message(side: int, row: Any) -> dict[str, Any]:
    """A row of one stage as the record that the other gets."""
    return {"side": side, "k": row.k, "other": json.loads(row.value), "ts": row.ts}


def around(left: Stage, right: Stage, side: int, record: dict[str, Any]) -> list[Any]:
    """The results of one record, once all it set off has come to rest."""
    results: list[Any] = []
    todo: deque[tuple[Stage, list[dict[str, Any]]]] = deque([((left, right)[side], [{"side": side, **record}])])
    while todo:
        stage, records = todo.popleft()
        rows = stage.step(*records)
        if stage is right:
            answers = [message(1, row) for row in rows]
            todo.extend([(left, answers)] if answers else [])
        else:
            results += [row for row in rows if row.output == 0]
            asked = [message(0, row) for row in rows if row.output == 1]
            todo.extend([(right, asked)] if asked else [])
    return results


def result(row: Any) -> list[Any]:
    value = None if row.value is None else json.loads(row.value)
    return [row.k, None if value is None else [value.get("l"), value.get("r")], row.ts]


def ordered(rows: Sequence[Any]) -> list[Any]:
    return sorted(rows, key=repr)


CASES = [case for case in GOLDENS if case["topology"] == "foreign-key"]


@pytest.mark.parametrize("case", [pytest.param(case, id=case["kind"]) for case in CASES])
def test_a_foreign_key_join_gives_what_kafka_streams_gives(spark: SparkSession, case: dict[str, Any]) -> None:
    with stages(spark, spec(case["kind"])) as (left, right):
        for (side, key, value, ts), wanted in list(zip(case["records"], case["outputs"], strict=True))[:RECORDS]:
            got = around(left, right, side, {"k": key, "v": value, "ts": ts})
            assert ordered(map(result, got)) == ordered(wanted), (side, key, value, ts)


def test_an_answer_to_a_row_that_has_changed_is_dropped(spark: SparkSession) -> None:
    with stages(spark, spec("left", old=True)) as (left, right):
        right.step({"side": 1, "k": "1", "v": 900, "ts": 1})
        (first,) = left.step({"side": 0, "k": "a", "v": 101, "ts": 2})
        (stale,) = right.step(message(0, first))
        (second,) = left.step({"side": 0, "k": "a", "v": 102, "ts": 3})
        assert left.step(message(1, stale)) == []
        (fresh,) = right.step(message(0, second))
        (row,) = left.step(message(1, fresh))
        assert (result(row), row.old) == (["a", [102, 900], 3], None)
        unsubscribe, gone = left.step({"side": 0, "k": "a", "v": None, "ts": 4})
        assert right.step(message(0, unsubscribe)) == []
        assert (result(gone), json.loads(gone.old)) == (["a", None, 4], {"l": 102, "r": 900})
        assert right.step({"side": 1, "k": "1", "v": 901, "ts": 5}) == []


@pytest.mark.parametrize("deleted_between", [False, True], ids=["changed", "deleted and made again"])
def test_a_right_row_that_goes_while_the_left_one_changes_takes_its_result_along(
    spark: SparkSession, deleted_between: bool
) -> None:
    with stages(spark, spec("inner")) as (left, right):
        right.step({"side": 1, "k": "1", "v": 900, "ts": 1})
        (result_out,) = around(left, right, 0, {"k": "a", "v": 101, "ts": 2})
        assert result(result_out) == ["a", [101, 900], 2]
        stale = right.step({"side": 1, "k": "1", "v": None, "ts": 3})
        asked = left.step({"side": 0, "k": "a", "v": None, "ts": 4}) if deleted_between else []
        asked += left.step({"side": 0, "k": "a", "v": 102, "ts": 5})
        assert left.step(*(message(1, row) for row in stale)) == []
        answers = right.step(*(message(0, row) for row in asked))
        gone = left.step(*(message(1, row) for row in answers))
        assert [result(row) for row in gone] == [["a", None, 5]]
        assert around(left, right, 0, {"k": "a", "v": 103, "ts": 6}) == []  # nothing is out, so nothing is taken back


def test_both_processors_run_in_real_time(spark: SparkSession) -> None:
    with stages(spark, spec("inner"), RealTimeStage) as (left, right):
        asked = left.step({"side": 0, "k": "a", "v": 101, "ts": 5}, {"side": 0, "k": "b", "v": 102, "ts": 6})
        answers = right.step(*(message(0, row) for row in asked), {"side": 1, "k": "1", "v": 900, "ts": 4})
        results = left.step(*(message(1, row) for row in answers))
        assert ordered(map(result, results)) == [["a", [101, 900], 4], ["b", [102, 900], 4]]
