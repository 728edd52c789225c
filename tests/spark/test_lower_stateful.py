"""Every operator with state in a pipeline, from topic to topic: what comes out, record by record.

The processors themselves are held against Kafka Streams elsewhere; here it is the way into them and out again that counts.
"""

from __future__ import annotations

from typing import Any

import pytest

from headrace.plan import steps as s
from headrace.plan import windows as w
from headrace.plan.expressions import Column, Literal, Meta, Named, RowMeta, Side
from headrace.plan.serdes import KeyWindow, Serde
from headrace.plan.types import BIGINT, STRING, struct
from headrace.testing import wait_until
from headrace.testing.record_sender import murmur2
from tests.spark.pipelines import Lab, call, json_serde, left, number, right

COUNTED = json_serde(n=BIGINT, total=BIGINT)
COUNTS = (s.AggregateCall("n", "count"), s.AggregateCall("total", "sum", (Column("amount"),)))
TIME_KEY = Serde("kafka", struct(id=STRING), wrapped=False, window=KeyWindow.TIME, window_size_ms=1000)
SESSION_KEY = Serde("kafka", struct(id=STRING), wrapped=False, window=KeyWindow.SESSION)
JOINED = json_serde(name=STRING, amount=BIGINT)
BOTH = (Named("name", right("name")), Named("amount", left("amount")))


def row(amount: int | None, name: str = "x") -> dict[str, Any]:
    return {"name": name, "amount": amount}


def values(lab: Lab, name: str = "out") -> list[tuple[str | None, Any]]:
    return [(key, value) for key, value, _ in lab.rows(name)]


@pytest.mark.parametrize("mode", ["real_time", "exactly_once"])
def test_an_aggregate_emits_every_update_with_the_largest_time(lab: Lab, mode: str) -> None:
    lab.create("in")
    steps = (
        lab.source("in"),
        s.GroupBy("g", "in"),
        s.Aggregate("n", "g", COUNTS, store="counts"),
        lab.sink("n", COUNTED),
    )
    with lab.run(*steps, mode=mode) as running:
        lab.send(
            "in", ("a", row(1), 1000), ("a", row(2), 500), ("b", row(5), 700), ("a", None, 800), (None, row(1), 900)
        )
        running.await_processed()
    expected = [("a", {"n": 1, "total": 1}, 1000), ("a", {"n": 2, "total": 3}, 1000), ("b", {"n": 1, "total": 5}, 700)]
    assert lab.rows() == expected
    assert lab.rows("counts-changelog") == expected


def test_windows_close_by_the_watermark_and_late_records_are_counted(lab: Lab) -> None:
    lab.create("in")
    steps = (
        lab.source("in"),
        s.GroupBy("g", "in"),
        s.Aggregate("n", "g", COUNTS, window=w.Tumbling(1000, 0)),
        lab.sink("n", COUNTED, TIME_KEY),
    )
    with lab.run(*steps, mode="micro_batch") as running:
        lab.send("in", ("a", row(1), 1000), ("a", row(2), 1500))
        running.await_processed()
        lab.send("in", ("a", row(4), 2700))
        running.await_processed()
        lab.send("in", ("a", row(8), 1700))
        running.await_processed()
        wait_until(lambda: running.progress()["late"] == 1)
    keys = [b"a" + (1000).to_bytes(8), b"a" + (1000).to_bytes(8), b"a" + (2000).to_bytes(8)]
    assert [one.key() for one in lab.received()] == keys
    assert [value for _, value in values(lab)] == [{"n": 1, "total": 1}, {"n": 2, "total": 3}, {"n": 1, "total": 4}]


def test_final_results_leave_once(lab: Lab) -> None:
    lab.create("in")
    steps = (
        lab.source("in"),
        s.GroupBy("g", "in"),
        s.Aggregate("n", "g", COUNTS, window=w.Tumbling(1000, 0)),
        s.Suppress("final", "n"),
        lab.sink("final", COUNTED, TIME_KEY),
    )
    with lab.run(*steps, mode="micro_batch") as running:
        lab.send("in", ("a", row(1), 1000), ("a", row(2), 1500))
        running.await_processed()
        for time in (2700, 3800):
            lab.send("in", ("b", row(4), time))
            running.await_processed()
    assert values(lab)[0][1] == {"n": 2, "total": 3}


def test_sessions_merge_and_delete_what_they_were(lab: Lab) -> None:
    lab.create("in")
    steps = (
        lab.source("in"),
        s.GroupBy("g", "in"),
        s.Aggregate("n", "g", COUNTS, window=w.Session(100)),
        lab.sink("n", COUNTED, SESSION_KEY),
    )
    with lab.run(*steps, mode="micro_batch") as running:
        lab.send("in", ("a", row(1), 1000), ("a", row(2), 1150), ("a", row(4), 1075))
        running.await_processed()
    found = [(int.from_bytes(one.key()[9:17]), int.from_bytes(one.key()[1:9])) for one in lab.received()]
    assert found[:2] == [(1000, 1000), (1150, 1150)] and found[-1] == (1000, 1150)
    assert sorted(found[2:-1]) == [(1000, 1000), (1150, 1150)]
    assert [value for _, value in values(lab)] == [
        {"n": 1, "total": 1},
        {"n": 1, "total": 2},
        None,
        None,
        {"n": 3, "total": 7},
    ]


def test_a_table_that_is_regrouped_takes_old_rows_out_again(lab: Lab) -> None:
    lab.create("in")
    by_name = Serde("kafka", struct(name=STRING), wrapped=False)
    steps = (
        lab.table("in"),
        s.Filter("positive", "in", call("greater", Column("amount"), number(0))),
        s.GroupBy("g", "positive", (Named("name", Column("name")),)),
        s.Aggregate("n", "g", COUNTS),
        lab.sink("n", COUNTED, by_name),
    )
    with lab.run(*steps, mode="real_time") as running:
        lab.send(
            "in", ("1", row(5, "x")), ("2", row(7, "x")), ("1", row(6, "x")), ("1", row(6, "y")), ("2", row(-1, "x"))
        )
        running.await_processed()
    assert values(lab) == [
        ("x", {"n": 1, "total": 5}),
        ("x", {"n": 2, "total": 12}),
        ("x", {"n": 2, "total": 13}),
        ("x", {"n": 1, "total": 7}),
        ("y", {"n": 1, "total": 6}),
        ("x", {"n": 0, "total": 0}),
    ]


def test_a_stream_meets_the_table_as_it_is_at_that_moment(lab: Lab) -> None:
    lab.create("in", "people")
    steps = (
        lab.source("in"),
        lab.table("people"),
        s.StreamTableJoin("j", "in", "people", s.JoinKind.LEFT, BOTH),
        lab.sink("j", JOINED),
    )
    with lab.run(*steps, mode="micro_batch") as running:
        lab.send("people", ("a", row(0, "Ann"), 100))
        lab.send("in", ("a", row(1), 200), ("b", row(2), 200))
        running.await_processed()
        lab.send("people", ("a", None, 300))
        lab.send("in", ("a", row(3), 400))
        running.await_processed()
    found = lab.rows()
    assert sorted(found[:2], key=str) == [
        ("a", {"name": "Ann", "amount": 1}, 200),
        ("b", {"name": None, "amount": 2}, 200),
    ]
    assert found[2:] == [("a", {"name": None, "amount": 3}, 400)]


def test_tables_join_by_key_and_an_aggregate_may_be_one_of_them(lab: Lab) -> None:
    lab.create("in", "people")
    columns = (Named("name", right("name")), Named("n", left("n")))
    steps = (
        lab.source("in"),
        lab.table("people"),
        s.GroupBy("g", "in"),
        s.Aggregate("n", "g", COUNTS),
        s.TableTableJoin("j", "n", "people", s.JoinKind.INNER, columns),
        lab.sink("j", json_serde(name=STRING, n=BIGINT)),
    )
    with lab.run(*steps, mode="micro_batch") as running:
        lab.send("people", ("a", row(0, "Ann"), 100))
        running.await_processed()
        lab.send("in", ("a", row(1), 200), ("b", row(1), 200))
        running.await_processed()
        lab.send("people", ("b", row(0, "Bob"), 300), ("a", None, 300))
        running.await_processed()
    assert values(lab)[0] == ("a", {"name": "Ann", "n": 1})
    assert sorted(values(lab)[1:], key=str) == [("a", None), ("b", {"name": "Bob", "n": 1})]


def test_streams_join_within_a_time(lab: Lab) -> None:
    lab.create("in", "other")
    steps = (
        lab.source("in"),
        lab.source("other"),
        s.StreamStreamJoin("j", "in", "other", s.JoinKind.INNER, 100, 100, BOTH),
        lab.sink("j", JOINED),
    )
    with lab.run(*steps, mode="micro_batch") as running:
        lab.send("in", ("a", row(1), 1000))
        lab.send("other", ("a", row(0, "near"), 1100), ("a", row(0, "far"), 1101))
        running.await_processed()
    assert lab.rows() == [("a", {"name": "near", "amount": 1}, 1100)]


@pytest.mark.parametrize("mode", ["real_time", "exactly_once"])
def test_a_foreign_key_join_follows_both_tables(lab: Lab, mode: str) -> None:
    lab.create("orders", "people")
    steps = (
        lab.table("orders"),
        lab.table("people"),
        s.ForeignKeyJoin("j", "orders", "people", s.JoinKind.INNER, Column("name"), BOTH),
        lab.sink("j", JOINED),
    )
    with lab.run(*steps, mode=mode) as running:
        lab.send("people", ("ann", row(0, "Ann"), 100))
        running.await_processed()
        lab.send("orders", ("1", row(5, "ann"), 200), ("2", row(6, "bob"), 200))
        # An answer that comes back after its row has changed is dropped as stale, so the change waits for it.
        wait_until(lambda: len(values(lab)) == 1, timeout_s=60, message="Ann's order is joined", interval_s=0.2)
        lab.send("people", ("bob", row(0, "Bob"), 300))
        wait_until(lambda: len(values(lab)) == 2, timeout_s=60, message="Bob's order is joined", interval_s=0.2)
        lab.send("orders", ("1", row(5, "bob"), 400))
        running.await_processed()
    assert values(lab) == [
        ("1", {"name": "Ann", "amount": 5}),
        ("2", {"name": "Bob", "amount": 6}),
        ("1", {"name": "Bob", "amount": 5}),
    ]


def test_repetitions_are_left_out_for_a_time(lab: Lab) -> None:
    lab.create("in")
    steps = (lab.source("in"), s.Deduplicate("once", "in", (Column("name"),), 1000), lab.sink("once"))
    with lab.run(*steps, mode="micro_batch") as running:
        lab.send(
            "in", ("a", row(1, "x"), 1000), ("b", row(2, "x"), 1500), ("c", row(3, "y"), 1600), ("d", row(4, "x"), 2500)
        )
        running.await_processed()
    assert sorted(values(lab)) == [("a", row(1, "x")), ("c", row(3, "y")), ("d", row(4, "x"))]


def test_a_fold_of_the_users_own_sees_row_and_accumulator(lab: Lab) -> None:
    lab.create("in")
    state = struct(longest=STRING, last=BIGINT)
    longer = call("greater", call("length", Column("name")), call("length", Column("longest", Side.STATE)))
    update = (
        Named("longest", call("if", longer, Column("name"), Column("longest", Side.STATE))),
        Named("last", RowMeta(Meta.ROWTIME)),
    )
    initial = (Named("longest", Literal(STRING, "")), Named("last", Literal(BIGINT, 0)))
    steps = (
        lab.source("in"),
        s.GroupBy("g", "in"),
        s.Aggregate("n", "g", fold=s.Fold(state, initial, update)),
        lab.sink("n", Serde("json", state)),
    )
    with lab.run(*steps, mode="micro_batch") as running:
        lab.send("in", ("a", row(1, "xx"), 10), ("a", row(1, "y"), 20), ("a", row(1, "zzz"), 15))
        running.await_processed()
    assert lab.rows() == [
        ("a", {"longest": "xx", "last": 10}, 10),
        ("a", {"longest": "xx", "last": 20}, 20),
        ("a", {"longest": "zzz", "last": 15}, 20),
    ]


def test_a_repartition_goes_through_its_own_topic(lab: Lab) -> None:
    lab.create("in")
    steps = (
        lab.source("in"),
        s.SelectKey("k", "in", (Named("id", Column("name")),)),
        s.Repartition("r", "k", 3),
        lab.sink("r"),
    )
    with lab.run(*steps, mode="micro_batch") as running:
        lab.send("in", ("a", row(1, "x"), 10), ("b", None, 20))
        running.await_processed()
    assert sorted(lab.rows(), key=str) == [("x", row(1, "x"), 10), (None, None, 20)]


def test_records_without_a_value_count_in_windows_and_no_window_begins_before_1970(lab: Lab) -> None:
    lab.create("in")
    hopping = s.Aggregate("n", "g", COUNTS, window=w.Hopping(1000, 500))
    steps = (lab.source("in"), s.GroupBy("g", "in"), hopping, lab.sink("n", COUNTED, TIME_KEY))
    with lab.run(*steps, mode="micro_batch") as running:
        lab.send("in", ("a", row(1), 100), ("a", None, 200))
        running.await_processed()
    assert [one.key() for one in lab.received()] == [b"a" + bytes(8), b"a" + bytes(8)]
    assert [value for _, value in values(lab)] == [{"n": 1, "total": 1}, {"n": 2, "total": 1}]


@pytest.mark.parametrize("mode", ["real_time", "exactly_once"])
def test_all_windows_of_a_key_are_in_one_partition(lab: Lab, mode: str) -> None:
    lab.create("in")
    lab.create("out", partitions=4)
    steps = (
        lab.source("in"),
        s.GroupBy("g", "in"),
        s.Aggregate("n", "g", COUNTS, window=w.Tumbling(1000)),
        lab.sink("n", COUNTED, TIME_KEY),
    )
    keys = "abcdefgh"
    with lab.run(*steps, mode=mode) as running:
        lab.send("in", *((key, row(1), 1000 * second) for second in range(6) for key in keys))
        running.await_processed()
    places = {(one.key()[:1], one.partition()) for one in lab.received()}
    # Where Java's producer puts the key without its window.
    assert places == {(key.encode(), (murmur2(key.encode()) & 0x7FFFFFFF) % 4) for key in keys}
    assert len({partition for _, partition in places}) > 1
