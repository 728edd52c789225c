"""Partitions whose times lie an hour apart: with the default grace nothing is lost, with a short one it is counted by partition and warned about.

In every mode, for all that counts late records in its own way: Spark's aggregation, a fold of ours, and a join of two streams.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest

from headrace.plan import steps as s
from headrace.plan import windows as w
from headrace.plan.expressions import Column
from headrace.plan.serdes import KeyWindow, Serde
from headrace.plan.types import BIGINT, STRING, struct
from headrace.spark.pipeline import start
from headrace.spark.running import RunningPipeline
from headrace.streams import App, minutes, within
from tests.spark.pipelines import MODES, Lab, json_serde

HOUR, MINUTE, START = 3_600_000, 60_000, 1_700_000_040_000
ROUNDS, PER_ROUND = 2, 20
KEY = Serde("kafka", struct(id=STRING), wrapped=False, window=KeyWindow.TIME, window_size_ms=MINUTE)
# Spark's own aggregation knows no order, so with a last value it is a fold of ours.
KINDS: Mapping[str, tuple[s.AggregateCall, ...]] = {
    "built_in": (s.AggregateCall("n", "count"),),
    "fold": (s.AggregateCall("n", "count"), s.AggregateCall("last", "latest_by_offset", (Column("amount"),))),
}
CASES = [*((mode, "built_in") for mode in MODES), ("micro_batch", "fold")]


def times(partition: int, round_: int) -> list[int]:
    """The records of partition 1 are an hour behind those of partition 0; each partition is in order."""
    behind = HOUR if partition == 1 else 0
    return [START - behind + (round_ * PER_ROUND + i) * 5_000 for i in range(PER_ROUND)]


def feed(lab: Lab, running: RunningPipeline, *topics: str) -> None:
    """All records, in several batches: time moves between them."""
    for round_ in range(ROUNDS):
        for partition in (0, 1):
            for shift, topic in enumerate(topics):
                records = [(f"k{partition}", {"amount": ts}, ts + 1000 * shift) for ts in times(partition, round_)]
                lab.send(topic, *records, partition=partition)
        running.await_processed()


def window_steps(lab: Lab, kind: str, **grace: int) -> tuple[s.Step, ...]:
    calls = KINDS[kind]
    value = json_serde(**{call.name: BIGINT for call in calls})
    window = w.Tumbling(MINUTE, **grace)
    return (
        lab.source("in", json_serde(amount=BIGINT)),
        s.GroupBy("g", "in"),
        s.Aggregate("counts", "g", calls, window=window),
        lab.sink("counts", value, KEY),
    )


def last_counts(lab: Lab) -> dict[tuple[bytes, int], int]:
    """By key and window."""
    return {(one.key()[:2], int.from_bytes(one.key()[2:])): json.loads(one.value())["n"] for one in lab.received()}


@pytest.mark.parametrize(("mode", "kind"), CASES)
def test_with_the_default_grace_no_window_loses_a_record(lab: Lab, mode: str, kind: str) -> None:
    lab.create("in", partitions=2)
    with lab.run(*window_steps(lab, kind), mode=mode) as running:
        feed(lab, running, "in")
        progress = running.progress()
    everything = Counter(
        (f"k{partition}".encode(), ts // MINUTE * MINUTE)
        for partition in (0, 1)
        for round_ in range(ROUNDS)
        for ts in times(partition, round_)
    )
    assert last_counts(lab) == dict(everything)
    assert (progress["late"], progress["late_partitions"], progress["warnings"]) == (0, [], [])


@pytest.mark.parametrize(("mode", "kind"), CASES)
def test_with_a_short_grace_late_records_are_counted_and_the_partition_is_named(lab: Lab, mode: str, kind: str) -> None:
    lab.create("in", partitions=2)
    with lab.run(*window_steps(lab, kind, grace_ms=MINUTE), mode=mode) as running:
        feed(lab, running, "in")
        progress = running.progress()
    missing = 2 * ROUNDS * PER_ROUND - sum(last_counts(lab).values())
    # The first batch comes before there is a watermark.
    assert missing >= PER_ROUND
    assert progress["late"] == missing
    check_late(progress, "counts", {f"{lab.topic('in')}-1": missing})


def check_late(progress: Mapping[str, Any], step: str, records: Mapping[str, int]) -> None:
    late = progress["late_partitions"]
    assert {one["partition"]: one["records"] for one in late} == records
    assert {one["step"] for one in late} == {step}
    assert all(HOUR - 5 * MINUTE < one["behind_ms"] < HOUR + 5 * MINUTE for one in late)
    for warning, (partition, count) in zip(progress["warnings"], sorted(records.items()), strict=True):
        assert f"{count} records of {partition} came too late for step {step!r}" in warning
        assert re.search(r"a grace of [56]\d min lets such records in", warning)


@pytest.fixture
def pairs(lab: Lab) -> Any:
    """Runs a join of two streams and gives the progress and the joined records."""

    def run(mode: str, **grace: Any) -> tuple[Mapping[str, Any], Counter[tuple[str | None, int]]]:
        lab.create("left", "right", partitions=2)
        app = App(lab.name)
        value = json_serde(amount=BIGINT)
        left, right = (app.stream(lab.topic(name), key=str, value=value.columns) for name in ("left", "right"))
        left.join(right, lambda a, b: {"left": a.amount, "right": b.amount}, within(seconds=2, **grace), name="met").to(
            lab.topic("out")
        )
        running = start(lab.spark, app.plan(), lab.settings(mode))
        try:
            feed(lab, running, "left", "right")
            progress = running.progress()
        finally:
            running.stop()
        return progress, Counter((key, row["left"]) for key, row, _ in lab.rows() if row["left"] == row["right"])

    return run


def all_pairs() -> Counter[tuple[str | None, int]]:
    return Counter(
        (f"k{partition}", ts) for partition in (0, 1) for round_ in range(ROUNDS) for ts in times(partition, round_)
    )


@pytest.mark.parametrize("mode", MODES)
def test_with_the_default_grace_a_join_loses_no_pair(pairs: Any, mode: str) -> None:
    progress, found = pairs(mode)
    assert found == all_pairs()
    assert (progress["late"], progress["warnings"]) == (0, [])


@pytest.mark.parametrize("mode", MODES)
def test_with_a_short_grace_what_is_too_late_for_a_join_is_counted(lab: Lab, pairs: Any, mode: str) -> None:
    progress, found = pairs(mode, grace=minutes(10))
    missing = all_pairs() - found
    assert {key for key, _ in missing} == {"k1"} and missing.total() >= PER_ROUND
    late = {one["partition"]: one["records"] for one in progress["late_partitions"]}
    assert set(late) == {f"{lab.topic(name)}-1" for name in ("left", "right")}
    assert all(PER_ROUND <= count <= ROUNDS * PER_ROUND for count in late.values())
    check_late(progress, "met", late)
