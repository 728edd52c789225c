"""Folds without windows and over windows of time, in both modes."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from headrace.plan.windows import Hopping, Session, Sliding, Tumbling
from headrace.spark.stateful.folds import FoldSpec, Leaves, fold
from tests.spark.keyed_flows import FLOW, Out, late, run, table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

SUM = {
    "state": "total BIGINT, n BIGINT",
    "initial": "named_struct('total', 0, 'n', 0)",
    "update": "named_struct('total', state.total + row.v, 'n', state.n + 1)",
    "undo": "named_struct('total', state.total - row.v, 'n', state.n - 1)",
    "merge": "named_struct('total', state.total + other.total, 'n', state.n + other.n)",
    "unmerge": "named_struct('total', state.total - other.total, 'n', state.n - other.n)",
}
MAX = {
    "state": "most BIGINT",
    "initial": "named_struct('most', NULL)",
    "update": "named_struct('most', greatest(state.most, row.v))",
    "merge": "named_struct('most', greatest(state.most, other.most))",
}


def rec(k: str, v: int | None, ts: int, **more: object) -> dict[str, object]:
    return {"k": k, "v": v, "ts": ts, **more}


def spec(texts: Mapping[str, str] = SUM, **more: object) -> FoldSpec:
    return FoldSpec(step="totals", **{**texts, **more})  # type: ignore[arg-type]


@pytest.mark.parametrize("real_time", [False, True], ids=["micro-batch", "real-time"])
def test_every_update_of_a_key_leaves_with_the_largest_time(spark: SparkSession, real_time: bool) -> None:
    batches = [[rec("a", 1, 10), rec("a", 2, 5), rec("b", 7, 6)], [rec("a", 3, 20), rec("a", None, 30)]]
    out = run(
        spark,
        lambda flow: fold(
            flow, spec(result="named_struct('mean', state.total / state.n)", old=True, real_time=real_time)
        ),
        batches,
        real_time=real_time,
    )
    assert [row for row in out if row.key == "a"] == [
        Out("a", (1.0,), 10, old=None),
        Out("a", (1.5,), 10, old=(1.0,)),
        Out("a", (2.0,), 20, old=(1.5,)),
    ]
    assert [row for row in out if row.key == "b"] == [Out("b", (7.0,), 6)]


def test_last_of_batch_leaves_once_per_key(spark: SparkSession) -> None:
    out = run(
        spark,
        lambda flow: fold(flow, spec(emit=Leaves.LAST_OF_BATCH)),
        [[rec("a", 1, 1), rec("a", 2, 2)], [rec("a", 3, 3)]],
    )
    assert out == [Out("a", (3, 2), 2), Out("a", (6, 3), 3)]


def test_rows_of_partitions_meet_by_their_first_timestamp(spark: SparkSession) -> None:
    """Each partition in its own order, whatever the timestamps; between partitions the smaller head goes first."""
    batch = [
        rec("a", 30, 30, partition=1),
        rec("a", 5, 5, partition=1),
        rec("a", 20, 20, partition=0),
        rec("a", 10, 40, partition=0),
    ]
    texts = {
        "state": "seen STRING",
        "initial": "named_struct('seen', '')",
        "update": "named_struct('seen', concat(state.seen, ' ', row.v))",
    }
    out = run(spark, lambda flow: fold(flow, spec(texts)), [batch])
    assert out[-1].value == (" 20 30 5 10",)


def test_a_reduce_begins_with_the_first_row_and_null_deletes(spark: SparkSession) -> None:
    texts = {
        "state": "v BIGINT",
        "initial": "row",
        "update": "CASE WHEN row.v > 0 THEN named_struct('v', state.v + row.v) END",
    }
    batches = [[rec("a", 1, 1), rec("a", 2, 2)], [rec("a", -1, 3)], [rec("a", 4, 4)]]
    out = run(spark, lambda flow: fold(flow, spec(texts, first_is_initial=True)), batches)
    assert [row.value for row in out] == [(1,), (3,), None, (4,)]


@pytest.mark.parametrize("real_time", [False, True], ids=["micro-batch", "real-time"])
def test_a_table_takes_the_old_row_out(spark: SparkSession, real_time: bool) -> None:
    flow = (*FLOW, "CASE WHEN r.old IS NOT NULL THEN named_struct('v', r.old) END AS `right`", "r.undo AS undo")
    batches = [
        [rec("a", 1, 1), rec("a", 5, 2), rec("a", 1, 3, undo=True)],
        [rec("a", 7, 4, old=5), rec("a", 7, 5, undo=True), rec("b", 3, 6, undo=True)],
    ]
    out = run(spark, lambda df: fold(df, spec(real_time=real_time)), batches, real_time=real_time, flow=flow)
    values = [row.value for row in out if row.key == "a"]
    assert values == [(1, 1), (6, 2), (5, 1), (7, 1), (0, 0)]
    assert [row.value for row in out if row.key == "b"] == [None]  # nothing to take it from


@pytest.mark.parametrize("real_time", [False, True], ids=["micro-batch", "real-time"])
def test_tumbling_windows_take_what_is_not_late(spark: SparkSession, real_time: bool) -> None:
    pipeline = f"tumbling-{real_time}"
    window = Tumbling(10, grace_ms=5)
    batches = [
        [rec("a", 1, 3), rec("a", 2, 12), rec("a", 4, 9)],
        [rec("b", 1, 14)],
        [rec("a", 8, 9)],
        [rec("b", 1, 15)],
        [rec("a", 16, 9)],
    ]
    out = run(
        spark,
        lambda flow: fold(flow, spec(window=window, pipeline=pipeline, real_time=real_time)),
        batches,
        real_time=real_time,
    )
    assert [row for row in out if row.key == "a"] == [
        Out("a", (1, 1), 3, 0, 10),
        Out("a", (2, 1), 12, 10, 20),
        Out("a", (5, 2), 9, 0, 10),
        Out("a", (13, 3), 9, 0, 10),
    ]
    assert late(spark, pipeline) == 1


def test_final_results_leave_once(spark: SparkSession) -> None:
    window = Tumbling(10, grace_ms=5)
    batches = [
        [rec("a", 1, 3), rec("a", 2, 12), rec("b", 4, 9)],
        [rec("a", 8, 15)],
        [rec("c", 1, 40)],
        [rec("c", 1, 41)],
    ]
    out = run(spark, lambda flow: fold(flow, spec(window=window, emit=Leaves.FINAL)), batches)
    assert sorted(out, key=lambda row: (row.start, row.key)) == [
        Out("a", (1, 1), 3, 0, 10),
        Out("b", (4, 1), 9, 0, 10),
        Out("a", (10, 2), 15, 10, 20),
    ]


def random_records(seed: int, count: int, keys: int, spread: int) -> list[dict[str, object]]:
    chance = random.Random(seed)
    return [
        rec(f"k{chance.randrange(keys)}", chance.randrange(100), i * 3 + chance.randrange(spread)) for i in range(count)
    ]


def in_batches(records: list[dict[str, object]], size: int) -> list[list[dict[str, object]]]:
    return [records[i : i + size] for i in range(0, len(records), size)]


def summed(records: list[dict[str, object]], k: str, start: int, end: int) -> tuple[int, int] | None:
    """Of the records of a key in [start, end]."""
    found = [int(r["v"]) for r in records if r["k"] == k and start <= int(r["ts"]) <= end]  # type: ignore[call-overload]
    return (sum(found), len(found)) if found else None


@pytest.mark.parametrize("real_time", [False, True], ids=["micro-batch", "real-time"])
def test_hopping_windows_hold_what_lies_in_them(spark: SparkSession, real_time: bool) -> None:
    records = random_records(1, 120, 3, 60)
    batches = in_batches(records, 40 if real_time else 17)
    out = run(
        spark, lambda flow: fold(flow, spec(window=Hopping(30, 10), real_time=real_time)), batches, real_time=real_time
    )
    wanted = {
        (k, start, start + 30): total
        for k in {str(r["k"]) for r in records}
        for start in range(0, 600, 10)
        if (total := summed(records, k, start, start + 29)) is not None
    }
    assert table(out) == wanted


@pytest.mark.parametrize("real_time", [False, True], ids=["micro-batch", "real-time"])
def test_sliding_windows_are_the_sets_of_records_within_a_time(spark: SparkSession, real_time: bool) -> None:
    records = random_records(2, 100, 3, 70)
    batches = in_batches(records, 40 if real_time else 13)
    out = run(
        spark, lambda flow: fold(flow, spec(window=Sliding(25), real_time=real_time)), batches, real_time=real_time
    )
    wanted = {}
    for r in records:
        ts, k = int(r["ts"]), str(r["k"])  # type: ignore[call-overload]
        for start in (max(0, ts - 25), ts + 1):
            total = summed(records, k, start, start + 25)
            if total is not None:
                wanted[(k, start, start + 25)] = total
    assert table(out) == wanted


@pytest.mark.parametrize("real_time", [False, True], ids=["micro-batch", "real-time"])
def test_sessions_grow_together(spark: SparkSession, real_time: bool) -> None:
    records = random_records(3, 100, 4, 90)
    batches = in_batches(records, 40 if real_time else 13)
    out = run(
        spark, lambda flow: fold(flow, spec(window=Session(12), real_time=real_time)), batches, real_time=real_time
    )
    wanted = {}
    for k in {str(r["k"]) for r in records}:
        times = sorted(int(r["ts"]) for r in records if r["k"] == k)  # type: ignore[call-overload]
        start = times[0]
        for before, after in zip(times, [*times[1:], 10**9], strict=True):
            if after - before > 12:
                wanted[(k, start, before)] = summed(records, k, start, before)
                start = after
    assert table(out) == wanted


def test_a_session_that_grows_deletes_the_one_it_was(spark: SparkSession) -> None:
    out = run(
        spark,
        lambda flow: fold(flow, spec(window=Session(10))),
        [[rec("a", 1, 5)], [rec("a", 2, 20)], [rec("a", 4, 12), rec("a", 8, 12)]],
    )
    assert out == [
        Out("a", (1, 1), 5, 5, 5),
        Out("a", (2, 1), 20, 20, 20),
        Out("a", None, 5, 5, 5),
        Out("a", None, 20, 20, 20),
        Out("a", (7, 3), 20, 5, 20),
        Out("a", None, 20, 5, 20),
        Out("a", (15, 4), 20, 5, 20),
    ]


def test_sessions_of_a_batch_tell_what_was_before_it(spark: SparkSession) -> None:
    """What came and went within a batch is not told; a value that goes is told with what it was when last told."""
    one = spec(window=Session(10), emit=Leaves.LAST_OF_BATCH, old=True)
    batches = [
        [rec("a", 1, 5), rec("a", 2, 9)],
        [rec("a", 4, 12), rec("a", 8, 12), rec("b", 1, 30)],
        [rec("b", 2, 30), rec("b", 4, 30)],
    ]
    assert run(spark, lambda flow: fold(flow, one), batches) == [
        Out("a", (3, 2), 9, 5, 9),
        Out("a", None, 9, 5, 9, old=(3, 2)),
        Out("a", (15, 4), 12, 5, 12),
        Out("b", (1, 1), 30, 30, 30),
        Out("b", (7, 3), 30, 30, 30, old=(1, 1)),
    ]


def test_sessions_close_and_late_records_are_counted(spark: SparkSession) -> None:
    window = Session(10, grace_ms=5)
    batches = [[rec("a", 1, 100)], [rec("b", 2, 115)], [rec("a", 4, 90)], [rec("b", 8, 116)], [rec("a", 16, 90)]]
    out = run(spark, lambda flow: fold(flow, spec(window=window, pipeline="sessions")), batches)
    assert [row for row in out if row.key == "a"] == [
        Out("a", (1, 1), 100, 100, 100),
        Out("a", None, 100, 100, 100),
        Out("a", (5, 2), 100, 90, 100),
    ]
    assert late(spark, "sessions") == 1
    final = run(
        spark,
        lambda flow: fold(flow, spec(window=window, emit=Leaves.FINAL)),
        [*batches, [rec("c", 1, 200)], [rec("c", 1, 201)]],
    )
    assert final == [Out("a", (5, 2), 100, 90, 100), Out("b", (10, 2), 116, 115, 116)]
