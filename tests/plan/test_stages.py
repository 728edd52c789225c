"""How plans are cut into stages: what each reads, does and writes, and in which mode."""

from __future__ import annotations

from dataclasses import replace

import pytest

from headrace.functions import CATALOGUE
from headrace.plan import steps as s
from headrace.plan.engine import Guarantee
from headrace.plan.expressions import Call, Column, Literal, Named, PythonCall, Side
from headrace.plan.plan import Plan, PlanError
from headrace.plan.relations import relations
from headrace.plan.serdes import Serde
from headrace.plan.stage_modes import Mode
from headrace.plan.stages import CutSettings, OperatorKind, OutputKind, Stage, stages
from headrace.plan.types import BIGINT, BOOLEAN, STRING, struct
from headrace.plan.windows import Tumbling

KEY = Serde("kafka", struct(id=STRING), wrapped=False)
VALUE = Serde("json", struct(name=STRING, amount=BIGINT))
COUNTED = Serde("json", struct(n=BIGINT))
COUNT = (s.AggregateCall("n", "count"),)


def source(name: str, topic: str | None = None) -> s.StreamSource:
    return s.StreamSource(name, topic or f"{name}-topic", KEY, VALUE)


def table(name: str, store: str | None = None) -> s.TableSource:
    return s.TableSource(name, f"{name}-topic", KEY, VALUE, store=store)


def sink(name: str, input_: str, value: Serde = VALUE, key: Serde = KEY) -> s.Sink:
    return s.Sink(name, input_, f"{name}-topic", key, value)


def positive() -> Call:
    return Call("greater", (Column("amount"), Literal(BIGINT, 0)))


def columns() -> tuple[Named, ...]:
    return (Named("name", Column("name", Side.LEFT)), Named("amount", Column("amount", Side.RIGHT)))


def cut(*steps: s.Step, guarantee: Guarantee = Guarantee.AT_LEAST_ONCE) -> dict[str, Stage]:
    plan = Plan("p", steps)
    return {stage.id: stage for stage in stages(plan, relations(plan, CATALOGUE), CutSettings(guarantee))}


def test_a_stateless_plan_is_one_stage_for_each_source_and_a_merge_needs_none_of_its_own() -> None:
    found = cut(
        source("a"),
        source("b"),
        s.Filter("positive", "a", positive()),
        s.Merge("both", ("positive", "b")),
        sink("out", "both"),
    )
    assert list(found) == ["a", "b"]
    assert found["a"].before == ("positive", "both")
    assert found["b"].before == ("both",)
    assert [output.topic for stage in found.values() for output in stage.outputs] == ["out-topic", "out-topic"]
    assert all(stage.mode is Mode.REAL_TIME and not stage.reasons for stage in found.values())


def test_an_operator_reads_its_source_itself_and_what_leaves_beside_it_is_another_stage() -> None:
    found = cut(
        source("a"),
        s.GroupBy("g", "a"),
        s.Aggregate("n", "g", COUNT, store="counts"),
        s.ToStream("changes", "n"),
        sink("out", "changes", COUNTED),
        sink("raw", "a"),
    )
    assert list(found) == ["a", "n"]
    counting = found["n"]
    assert (counting.sources, counting.before, counting.after) == (("a",), ("g",), ("changes",))
    assert counting.operator is not None and counting.operator.kind is OperatorKind.AGGREGATE
    assert {(o.kind, o.topic) for o in counting.outputs} == {
        (OutputKind.SINK, "out-topic"),
        (OutputKind.CHANGELOG, "p-counts-changelog"),
    }
    assert [o.topic for o in found["a"].outputs] == ["raw-topic"]


def test_between_two_operators_is_an_internal_topic_after_the_steps_between_them() -> None:
    found = cut(
        source("a"),
        table("t"),
        s.GroupBy("g", "a"),
        s.Aggregate("n", "g", COUNT),
        s.Select("named", "n", (Named("name", Literal(STRING, "x")), Named("amount", Column("n")))),
        s.TableTableJoin("j", "named", "t", s.JoinKind.INNER, columns()),
        sink("out", "j"),
    )
    assert list(found) == ["n", "j"]
    (output,) = found["n"].outputs
    assert (output.kind, output.flow, output.topic) == (OutputKind.CHANNEL, "named", "p-j-left-repartition")
    assert found["n"].after == ("named",)
    join = found["j"]
    assert join.sources == ("t",)
    assert [channel.topic for channel in join.channels] == ["p-j-left-repartition"]
    assert join.operator is not None
    assert [(port.name, port.direct, port.channel is not None) for port in join.operator.ports] == [
        ("left", False, True),
        ("right", True, False),
    ]


def test_an_aggregate_of_a_table_gets_old_values_from_an_operator_that_keeps_the_table() -> None:
    found = cut(
        table("t", store="all"),
        s.Filter("positive", "t", positive()),
        s.GroupBy("g", "positive", (Named("name", Column("name")),)),
        s.Aggregate("n", "g", COUNT),
        sink("out", "n", COUNTED, Serde("kafka", struct(name=STRING), wrapped=False)),
    )
    assert list(found) == ["t", "t~table", "n"]
    keeper = found["t~table"]
    assert keeper.operator is not None and keeper.operator.kind is OperatorKind.TABLE and keeper.operator.old
    assert keeper.after == ("positive", "g")
    assert [(o.flow, o.topic, o.old) for o in keeper.outputs] == [("g", "p-n-repartition", True)]
    assert found["n"].sources == ()
    assert [o.topic for o in found["t"].outputs] == ["p-all-changelog"]


def test_a_foreign_key_join_is_two_stages_that_write_to_one_another() -> None:
    found = cut(
        table("orders"),
        table("people"),
        s.ForeignKeyJoin("j", "orders", "people", s.JoinKind.LEFT, Column("name"), columns()),
        sink("out", "j"),
    )
    assert list(found) == ["j", "j~right"]
    left, right = found["j"], found["j~right"]
    assert left.sources == ("orders",) and right.sources == ("people",)
    assert [o.topic for o in left.outputs] == ["p-j-subscription-repartition", "out-topic"]
    assert [c.topic for c in right.channels] == ["p-j-subscription-repartition"]
    assert [o.topic for o in right.outputs] == ["p-j-response-repartition"]
    assert [c.topic for c in left.channels] == ["p-j-response-repartition"]


def test_a_repartition_is_a_topic_that_others_read() -> None:
    found = cut(
        source("a"),
        s.SelectKey("k", "a", (Named("id", Column("name")),)),
        s.Repartition("r", "k", 7),
        s.GroupBy("g", "r"),
        s.Aggregate("n", "g", COUNT),
        sink("out", "n", COUNTED),
    )
    assert list(found) == ["a", "n"]
    (output,) = found["a"].outputs
    assert output.topic == "p-r-repartition" and output.channel is not None and output.channel.partitions == 7
    assert [channel.topic for channel in found["n"].channels] == ["p-r-repartition"]


def test_final_results_of_a_window_are_held_back_by_the_aggregate_itself() -> None:
    windowed = s.Aggregate("n", "g", COUNT, window=Tumbling(10_000, 0))
    key = Serde("kafka", struct(id=STRING), wrapped=False)
    steps = (source("a"), s.GroupBy("g", "a"), windowed, s.Suppress("final", "n"))
    found = cut(
        *steps,
        s.ToStream("changes", "final"),
        s.SelectKey("k", "changes", (Named("id", Column("id")),)),
        sink("out", "k", COUNTED, key),
    )
    assert list(found) == ["n"]
    assert found["n"].operator is not None and found["n"].operator.final
    assert found["n"].mode is Mode.MICRO_BATCH
    kept = replace(windowed, store="kept")
    found = cut(
        *steps[:2],
        kept,
        *steps[3:],
        s.ToStream("changes", "final"),
        s.SelectKey("k", "changes", (Named("id", Column("id")),)),
        sink("out", "k", COUNTED, key),
    )
    assert list(found) == ["n", "final"]


def test_reasons_against_real_time_mode_name_the_step() -> None:
    slow = PythonCall("shop:risky", (Column("name"),), BOOLEAN)
    found = cut(source("a"), s.Filter("odd", "a", slow), sink("out", "odd"))
    assert found["a"].mode is Mode.MICRO_BATCH
    assert found["a"].reasons == (
        "step 'odd': the Python function shop:risky runs in Python workers, which take micro-batches only",
    )
    once = cut(source("a"), sink("out", "a"), guarantee=Guarantee.EXACTLY_ONCE)
    assert once["a"].reasons == ("exactly_once commits a transaction with every micro-batch",)


def test_two_internal_topics_of_one_name_are_refused() -> None:
    with pytest.raises(PlanError, match="rename one"):
        cut(
            source("a"),
            s.Repartition("x-left", "a"),
            s.GroupBy("g", "x-left"),
            s.Aggregate("n", "g", COUNT),
            s.GroupBy("g2", "a"),
            s.Aggregate("m", "g2", COUNT),
            s.TableTableJoin("x", "n", "m", s.JoinKind.INNER, (Named("n", Column("n", Side.LEFT)),)),
            sink("out", "x", COUNTED),
        )


def test_what_nobody_reads_does_not_run() -> None:
    counting = (source("a"), s.GroupBy("g", "a"), s.Aggregate("n", "g", COUNT))
    assert list(cut(*counting, sink("out", "a"))) == ["a"]
    with pytest.raises(PlanError, match="add a sink"):
        cut(*counting)
