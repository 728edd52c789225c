"""Windows that Spark has no operator for: of records, by punctuation, and hopping ones kept up to date pane by pane."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from headrace.plan.expressions import Literal
from headrace.plan.types import BOOLEAN
from headrace.plan.windows import Count, Hopping, Punctuation, Session, Sliding, Tumbling, Window
from headrace.spark.stateful.folds import Leaves, fold
from tests.spark.keyed_flows import Out, late, run, run_restarted, table
from tests.spark.test_stateful_folds import MAX, SUM, in_batches, random_records, rec, spec, summed

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pyspark.sql import SparkSession

MERGED = {name: text for name, text in SUM.items() if name != "unmerge"}
REDUCED = {
    "state": "v BIGINT",
    "initial": "row",
    "update": "named_struct('v', state.v + row.v)",
    "undo": "named_struct('v', state.v - row.v)",
    "merge": "named_struct('v', state.v + other.v)",
}


@pytest.mark.parametrize("real_time", [False, True], ids=["micro-batch", "real-time"])
def test_count_windows_leave_when_they_are_full(spark: SparkSession, real_time: bool) -> None:
    records = [rec("a", 1 << i, 10 * i) for i in range(7)] + [rec("b", 5, 1)]
    out = run(
        spark,
        lambda flow: fold(flow, spec(window=Count(3, 2), real_time=real_time)),
        in_batches(records, 4),
        real_time=real_time,
    )
    assert out == [Out("a", (7, 3), 20, 0, 20), Out("a", (28, 3), 40, 20, 40), Out("a", (112, 3), 60, 40, 60)]


@pytest.mark.parametrize(
    ("inclusive", "wanted"),
    [
        (True, [(103, 3, 1, 3), (100, 1, 4, 4), (10, 3, 5, 7)]),
        (False, [(3, 2, 1, 2), (100, 1, 3, 3), (109, 3, 4, 6)]),
    ],
    ids=["its last", "the next one's first"],
)
def test_a_record_ends_a_window(spark: SparkSession, inclusive: bool, wanted: list[tuple[int, ...]]) -> None:
    """Records of 100 and more say "end"; the last window ends because it has as many records as it may."""
    records = [rec("a", value, 1 + i) for i, value in enumerate((1, 2, 100, 100, 4, 5, 1))]
    window = Punctuation(Literal(BOOLEAN, True), inclusive=inclusive, max_records=3)
    out = run(spark, lambda flow: fold(flow, spec(window=window, window_end="row.v >= 100")), in_batches(records, 4))
    assert out == [Out("a", (total, n), end, start, end) for total, n, start, end in wanted]


@pytest.mark.parametrize(
    ("texts", "size"),
    [(SUM, 30), (SUM, 35), (MERGED, 35), (MAX, 30), (REDUCED, 30)],
    ids=["inverse", "inverse of unequal panes", "stacks", "maximum", "reduce"],
)
def test_panes_give_every_window_of_records_in_order(spark: SparkSession, texts: Mapping[str, str], size: int) -> None:
    records = sorted(random_records(4, 150, 3, 200), key=lambda r: int(r["ts"]))  # type: ignore[call-overload]
    for record in records[75:]:  # a long silence, in which windows run empty
        record["ts"] = int(record["ts"]) + 500  # type: ignore[call-overload]
    one = spec(texts, window=Hopping(size, 10, incremental=True), first_is_initial=texts is REDUCED)
    out = run(spark, lambda flow: fold(flow, one), in_batches(records, 40))
    assert table(out) == windows_of(records, size, texts, until=passed(records))
    assert len(table(out)) == len(out)  # in order nothing has to be corrected


@pytest.mark.parametrize("texts", [SUM, MERGED, REDUCED], ids=["inverse", "stacks", "reduce"])
@pytest.mark.parametrize("real_time", [False, True], ids=["micro-batch", "real-time"])
def test_panes_are_corrected_by_records_out_of_order(
    spark: SparkSession, texts: Mapping[str, str], real_time: bool
) -> None:
    records = random_records(5, 120, 3, 60)
    one = spec(texts, window=Hopping(30, 10, incremental=True), first_is_initial=texts is REDUCED, real_time=real_time)
    out = run(spark, lambda flow: fold(flow, one), in_batches(records, 60 if real_time else 25), real_time=real_time)
    wanted = windows_of(records, 30, texts, until=passed(records))
    found = table(out)
    assert {where: found[where] for where in wanted} == wanted
    assert found.items() <= windows_of(records, 30, texts, until=dict.fromkeys(["k0", "k1", "k2"], 10**6)).items()


@pytest.mark.parametrize(
    "window",
    [None, Tumbling(20), Session(10), Sliding(15), Hopping(20, 10, incremental=True), Count(3, 2)],
    ids=lambda window: type(window).__name__,
)
def test_state_outlives_the_query(spark: SparkSession, tmp_path: Path, window: Window | None) -> None:
    """A new query on the same checkpoint, made of the same texts, goes on where the last one ended."""
    records = random_records(6, 40, 2, 30)
    batches = in_batches(records, 20)
    one = spec(window=window)
    assert run_restarted(spark, lambda flow: fold(flow, one), batches, str(tmp_path)) == run(
        spark, lambda flow: fold(flow, one), batches
    )


def test_a_corrected_window_tells_what_it_was(spark: SparkSession) -> None:
    one = spec(window=Hopping(20, 10, incremental=True), old=True)
    out = run(spark, lambda flow: fold(flow, one), [[rec("a", 1, 5), rec("a", 2, 35)], [rec("a", 4, 12)]])
    assert out == [
        Out("a", (1, 1), 5, 0, 20),
        Out("a", (5, 2), 12, 0, 20, old=(1, 1)),
        Out("a", (4, 1), 12, 10, 30),
    ]


def test_silent_keys_leave_with_the_watermark_and_their_state_goes(spark: SparkSession) -> None:
    window = Hopping(20, 10, grace_ms=0, incremental=True)
    batches = [
        [rec("a", 1, 5), rec("a", 2, 12)],
        [rec("b", 1, 31)],
        [rec("b", 1, 200)],
        [rec("b", 1, 201), rec("a", 9, 100)],
    ]
    out = run(spark, lambda flow: fold(flow, spec(window=window, pipeline="silent")), batches)
    assert [row for row in out if row.key == "a"] == [
        Out("a", (3, 2), 12, 0, 20),
        Out("a", (2, 1), 12, 10, 30),
    ]
    assert late(spark, "silent") == 1


def test_final_panes_wait_for_the_grace_and_never_correct(spark: SparkSession) -> None:
    window = Hopping(20, 10, grace_ms=15, incremental=True)
    batches = [
        [rec("a", 1, 25)],
        [rec("a", 2, 12)],
        [rec("a", 4, 45)],
        [rec("a", 8, 29), rec("b", 1, 100)],
        [rec("b", 1, 101)],
    ]
    out = run(spark, lambda flow: fold(flow, spec(window=window, emit=Leaves.FINAL, pipeline="final-panes")), batches)
    assert [row for row in out if row.key == "a"] == [
        Out("a", (2, 1), 12, 0, 20),
        Out("a", (3, 2), 25, 10, 30),
        Out("a", (9, 2), 29, 20, 40),
        Out("a", (4, 1), 45, 30, 50),
        Out("a", (4, 1), 45, 40, 60),
    ]
    assert late(spark, "final-panes") == 1  # 29 was too late for the window that ends at 30


def passed(records: list[dict[str, object]]) -> dict[str, int]:
    """The newest time of each key."""
    return {str(r["k"]): max(int(o["ts"]) for o in records if o["k"] == r["k"]) for r in records}  # type: ignore[call-overload]


def windows_of(
    records: list[dict[str, object]], size: int, texts: Mapping[str, str], until: Mapping[str, int]
) -> dict[object, object]:
    """All windows, with an advance of 10, that hold records of a key and end at `until` of that key or before."""
    found: dict[object, object] = {}
    for k, newest in until.items():
        for start in range(0, 2000, 10):
            total = summed(records, k, start, start + size - 1)
            if total is None or start + size > newest - newest % (10 if size % 10 == 0 else 5):
                continue
            inside = [int(r["v"]) for r in records if r["k"] == k and start <= int(r["ts"]) < start + size]  # type: ignore[call-overload]
            found[(k, start, start + size)] = (
                (max(inside),) if texts is MAX else total[:1] if texts is REDUCED else total
            )
    return found
