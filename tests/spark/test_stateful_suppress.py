"""Suppress and de-duplication, in both modes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from headrace.spark.stateful.deduplicate import DeduplicateSpec, deduplicate
from headrace.spark.stateful.suppress import SuppressSpec, suppress
from tests.spark.keyed_flows import FLOW, Out, late, run
from tests.spark.test_stateful_folds import rec

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WINDOWED = (*FLOW, "r.window_start", "r.window_end")


def in_window(k: str, v: int | None, ts: int, start: int, end: int) -> dict[str, object]:
    return rec(k, v, ts, window_start=start, window_end=end)


def test_windows_leave_when_they_are_closed(spark: SparkSession) -> None:
    batches = [
        [
            in_window("a", 1, 3, 0, 10),
            in_window("a", 2, 5, 0, 10),
            in_window("a", 7, 12, 10, 20),
            in_window("b", 4, 4, 0, 10),
        ],
        [in_window("b", None, 14, 0, 10)],
        [in_window("c", 1, 15, 10, 20)],
        [in_window("a", 3, 6, 0, 10), in_window("c", 1, 30, 30, 40)],
        [in_window("c", 1, 31, 30, 40)],
    ]
    one = SuppressSpec(step="final", wait_ms=5, until_window_closes=True, pipeline="suppress")
    out = run(spark, lambda flow: suppress(flow, one), batches, flow=WINDOWED)
    assert sorted(out, key=lambda row: (row.end, row.key)) == [
        Out("a", (2,), 5, 0, 10),
        Out("a", (7,), 12, 10, 20),
        Out("c", (1,), 15, 10, 20),
    ]
    assert late(spark, "suppress") == 1


@pytest.mark.parametrize("real_time", [False, True], ids=["micro-batch", "real-time"])
def test_one_update_per_key_and_time(spark: SparkSession, real_time: bool) -> None:
    batches = [
        [rec("a", 1, 10), rec("a", 2, 12), rec("b", 5, 11)],
        [rec("a", 3, 14)],
        [rec("c", 1, 21)],
        [rec("a", None, 22)],
        [rec("c", 2, 40)],
        [rec("c", 3, 41)],
    ]
    one = SuppressSpec(step="slow", wait_ms=10, real_time=real_time)
    out = run(spark, lambda flow: suppress(flow, one), batches, real_time=real_time)
    assert [row for row in out if row.key == "a"] == [Out("a", (3,), 14), Out("a", None, 22)]
    assert [row for row in out if row.key == "b"] == [Out("b", (5,), 11)]
    assert [row for row in out if row.key == "c"] == [Out("c", (2,), 40)]  # the last one seen when its time was over


def test_who_waited_longest_leaves_when_too_many_wait(spark: SparkSession) -> None:
    batches = [[rec("a", 1, 10)], [rec("b", 2, 5)], [rec("c", 3, 20)], [rec("d", 4, 21)], [rec("a", 5, 22)]]
    out = run(spark, lambda flow: suppress(flow, SuppressSpec(step="slow", wait_ms=1000, max_records=2)), batches)
    assert out == [Out("b", (2,), 5), Out("a", (1,), 10), Out("c", (3,), 20)]


@pytest.mark.parametrize("real_time", [False, True], ids=["micro-batch", "real-time"])
def test_repetitions_within_a_time_are_left_out(spark: SparkSession, real_time: bool) -> None:
    pipeline = f"repetitions-{real_time}"
    batches = [
        [rec("a", 1, 100), rec("a", 2, 105), rec("b", 3, 100), rec("a", 4, 98)],
        [rec("a", 5, 109), rec("a", 6, 110)],
        [rec("a", 7, 119), rec("c", 8, 150)],
        [rec("a", 9, 145), rec("b", 10, 140)],
    ]
    one = DeduplicateSpec(step="once", within_ms=10, pipeline=pipeline, real_time=real_time)
    out = run(spark, lambda flow: deduplicate(flow, one), batches, real_time=real_time)
    assert sorted((row.key, row.value) for row in out) == [
        ("a", (1,)),
        ("a", (6,)),
        ("a", (9,)),
        ("b", (3,)),
        ("c", (8,)),
    ]
    assert late(spark, pipeline) == 1
