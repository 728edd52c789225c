"""Steps that look at one row at a time: branches, several sinks, flat maps, tables without state, users' functions."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest

from headrace.plan import steps as s
from headrace.plan.expressions import Column, Literal, Named, PythonCall
from headrace.plan.plan import PlanError
from headrace.plan.processing import Context, Processor
from headrace.plan.serdes import Serde
from headrace.plan.types import BIGINT, STRING, Array, struct
from tests.spark.pipelines import KEY, VALUE, Lab, call, json_serde, left, number, right


def row(amount: int | None, name: str = "x") -> dict[str, Any]:
    return {"name": name, "amount": amount}


def greater(limit: int) -> Any:
    return call("greater", Column("amount"), number(limit))


def test_one_read_feeds_branches_a_flat_map_and_a_second_sink(lab: Lab) -> None:
    lab.create("in")
    words = call("split", Column("name"), Literal(STRING, " "))
    steps = (
        lab.source("in"),
        s.Branch(
            "b",
            "in",
            (s.BranchCase("large", greater(10)), s.BranchCase("middle", greater(5)), s.BranchCase("rest", None)),
        ),
        lab.sink("b.large", name="large"),
        s.Filter("odd", "b.rest", call("equal", call("modulo", Column("amount"), number(2)), number(1))),
        s.Merge("some", ("b.middle", "odd")),
        lab.sink("some", name="some"),
        s.FlatMap("words", "in", words, (Named("word", Column("item")), Named("amount", Column("amount")))),
        lab.sink("words", json_serde(word=STRING, amount=BIGINT), name="words"),
        s.SelectKey("k", "in", (Named("id", Column("name")),)),
        lab.sink("k", name="all"),
    )
    with lab.run(*steps, mode="micro_batch") as running:
        assert len(running.stages) == 1
        lab.send(
            "in", ("a", row(11, "p q")), ("b", row(6, "r")), ("c", row(3, "s t u")), ("d", row(4, "")), ("e", None)
        )
        running.await_processed()
    found = {name: [(key, value) for key, value, _ in lab.rows(name)] for name in ("large", "some", "words", "all")}
    assert found["large"] == [("a", row(11, "p q"))]
    assert found["some"] == [("b", row(6, "r")), ("c", row(3, "s t u"))]
    assert [(key, value["word"]) for key, value in found["words"]] == [
        ("a", "p"),
        ("a", "q"),
        ("b", "r"),
        ("c", "s"),
        ("c", "t"),
        ("c", "u"),
        ("d", ""),
    ]
    assert [key for key, _ in found["all"]] == ["p q", "r", "s t u", "", None]


def test_a_tables_filter_deletes_and_keys_are_needed(lab: Lab) -> None:
    lab.create("in")
    steps = (
        lab.table("in", store="all"),
        s.Filter("large", "in", greater(10)),
        s.Select("named", "large", (Named("label", Column("name")),)),
        lab.sink("named", json_serde(label=STRING)),
    )
    with lab.run(*steps, mode="real_time") as running:
        lab.send("in", ("a", row(11)), ("a", row(3)), (None, row(12)), ("b", None))
        running.await_processed()
    assert [(key, value) for key, value, _ in lab.rows()] == [("a", {"label": "x"}), ("a", None), ("b", None)]
    assert [(key, value) for key, value, _ in lab.rows("all-changelog")] == [("a", row(11)), ("a", row(3)), ("b", None)]


def test_time_comes_from_a_column_and_records_without_it_are_bad(lab: Lab) -> None:
    lab.create("in")
    steps = (lab.source("in", timestamp=Column("amount")), lab.sink("in"))
    with lab.run(*steps, mode="micro_batch") as running:
        lab.send("in", ("a", row(1234), 99), ("b", row(None), 99), ("c", row(-5), 99))
        running.await_processed()
        assert running.progress()["bad"] == 2
    assert lab.rows() == [("a", row(1234), 1234)]


def shout(name: str) -> str:
    if name == "bad":
        raise ValueError("not this one")
    return name.upper()


def letters(name: str) -> list[str]:
    return list(name)


def test_a_python_function_that_raises_costs_its_record_only(lab: Lab) -> None:
    lab.create("in")
    loud = PythonCall(f"{__name__}:shout", (Column("name"),), STRING)
    split = PythonCall(f"{__name__}:letters", (Column("name"),), Array(STRING))
    steps = (
        lab.source("in"),
        s.Select("loud", "in", (Named("name", loud), Named("amount", Column("amount")))),
        lab.sink("loud"),
        s.FlatMap("letters", "in", split, (Named("name", Column("item")), Named("amount", Column("amount")))),
        lab.sink("letters", name="letters"),
    )
    with lab.run(*steps) as running:
        assert "Python workers" in running.progress()["stages"][0]["reasons"][0]
        lab.send("in", ("a", row(1, "ok")), ("b", row(2, "bad")), ("c", row(3, "fine")))
        running.await_processed()
        assert running.progress()["bad"] == 1
    assert [value["name"] for _, value, _ in lab.rows()] == ["OK", "FINE"]
    assert "".join(value["name"] for _, value, _ in lab.rows("letters")) == "okbadfine"
    (entry,) = [
        one
        for one in map(json.loads, (m.value() for m in lab.received(topic="_headrace_processing_log")))
        if one["pipeline"] == lab.name
    ]
    assert entry["offset"] == 1 and entry["reason"] == f"{__name__}:shout: ValueError: not this one"


def test_python_from_a_module_that_is_not_allowed_is_refused(lab: Lab) -> None:
    lab.create("in")
    loud = PythonCall("os:getcwd", (), STRING)
    steps = (lab.source("in"), s.Select("x", "in", (Named("name", loud),)), lab.sink("x", json_serde(name=STRING)))
    with pytest.raises(PlanError, match="may not import 'os'"), lab.run(*steps, python_modules=("shop",)):
        pass


class Running(Processor):
    """A running total that says so again when time has passed."""

    def process(self, key: str, value: Any, context: Context) -> Iterable[dict[str, int]]:
        if value.amount < 0:
            raise ValueError("negative")
        context.state["total"] = (context.state["total"] or 0) + value.amount
        context.schedule(context.timestamp_ms + 1000)
        yield {"total": context.state["total"]}

    def on_timer(self, key: str, timestamp_ms: int, context: Context) -> Iterable[dict[str, int]]:
        yield {"total": -context.state["total"]}


def test_a_processor_has_state_and_timers_and_its_exceptions_are_data(lab: Lab) -> None:
    lab.create("in")
    total = struct(total=BIGINT)
    steps = (
        lab.source("in"),
        s.Process("p", "in", f"{__name__}:Running", (s.StateVariable("total", BIGINT),), total),
        lab.sink("p", Serde("json", total)),
    )
    with lab.run(*steps) as running:
        lab.send("in", ("a", row(1), 1000), ("a", row(-1), 1001), ("a", row(2), 1002))
        running.await_processed()
        lab.send("in", ("b", row(5), 5000))
        running.await_processed()
        lab.send("in", ("b", row(5), 5001))
        running.await_processed()
        assert running.progress()["bad"] == 1
    found = [(key, value["total"], time) for key, value, time in lab.rows()]
    assert found[:2] == [("a", 1, 1000), ("a", 3, 1002)]
    assert ("b", 5, 5000) in found and ("a", -3, 2000) in found


@pytest.mark.parametrize("mode", ["real_time", "micro_batch"])
def test_a_global_table_is_looked_up_by_any_expression(lab: Lab, mode: str) -> None:
    lab.create("in", "people")
    people = s.GlobalTableSource("people", lab.topic("people"), KEY, VALUE, store="people")
    columns = (Named("who", right("name")), Named("amount", left("amount")), Named("id", right("id")))
    steps = (
        lab.source("in"),
        people,
        s.GlobalTableJoin("j", "in", "people", s.JoinKind.LEFT, call("lower", Column("name")), columns),
        lab.sink("j", json_serde(who=STRING, amount=BIGINT, id=STRING)),
    )
    lab.send("people", ("ann", row(0, "Ann")), ("bob", row(0, "Bob")), ("bob", None))
    with lab.run(*steps, mode=mode) as running:
        lab.send("in", ("1", row(1, "ANN")), ("2", row(2, "BOB")), ("3", None))
        running.await_processed()
    assert [(key, value) for key, value, _ in lab.rows()] == [
        ("1", {"who": "Ann", "amount": 1, "id": "ann"}),
        ("2", {"who": None, "amount": 2, "id": None}),
    ]
    assert [key for key, _, _ in lab.rows("people-changelog")] == ["ann", "bob", "bob"]
