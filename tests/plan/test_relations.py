"""What steps yield, and what is said of plans that cannot run: the step, the problem, the way out."""

from __future__ import annotations

import re

import pytest

from headrace.formats import FORMATS
from headrace.functions import CATALOGUE
from headrace.plan import steps as s
from headrace.plan import windows as w
from headrace.plan.expressions import (
    Call,
    Case,
    Cast,
    Expression,
    FieldOf,
    Lambda,
    Literal,
    Meta,
    Named,
    PythonCall,
    RowMeta,
    Side,
    Variable,
    When,
)
from headrace.plan.plan import Plan, PlanError
from headrace.plan.relations import Relation, RelationKind, relations
from headrace.plan.serdes import KeyWindow, Serde
from headrace.plan.types import BIGINT, BOOLEAN, DOUBLE, INTEGER, STRING, TIME, Array, DataType, Map, Struct, struct
from tests.plan.plans import COUNT, KEY, ORDER, PLANS, USER, call, column, named, number, orders, sink, timed, users

NOTHING = Serde("none", struct())


def found(*steps: s.Step) -> dict[str, Relation]:
    return relations(Plan("p", steps), CATALOGUE, FORMATS)


def test_what_a_windowed_aggregate_yields() -> None:
    plan = next(plan for plan in PLANS if plan.name == "tumbling")
    known = relations(plan, CATALOGUE)
    assert known["orders"] == Relation(RelationKind.STREAM, KEY.columns, ORDER.columns)
    assert known["by-user"].kind is RelationKind.GROUPED_STREAM
    assert known["counted"] == Relation(RelationKind.TABLE, KEY.columns, struct(n=BIGINT), KeyWindow.TIME, 10_000)
    assert str(known["counted"]) == "table windowed by time (user STRING) -> (n BIGINT)"


def test_branches_have_their_own_names() -> None:
    known = relations(next(plan for plan in PLANS if plan.name == "branch"), CATALOGUE)
    assert known["size.large"] == known["size.small"] == known["orders"]


def test_a_value_column_hides_a_key_column_of_its_name() -> None:
    source = s.StreamSource("a", "t", Serde("json", struct(x=STRING)), Serde("json", struct(x=BIGINT)))
    made = found(source, s.Select("b", "a", (Named("value", column("x")), Named("key", column("x", Side.KEY)))))
    assert made["b"].value == struct(value=BIGINT, key=STRING)


@pytest.mark.parametrize(
    ("expression", "type_"),
    [
        (call("add", column("amount"), Literal(INTEGER, 1)), BIGINT),
        (
            call(
                "transform",
                call("split", column("item"), Literal(STRING, ",")),
                Lambda(("x",), call("length", Variable("x"))),
            ),
            Array(INTEGER),
        ),
        (Case((When(Literal(BOOLEAN, True), Literal(INTEGER, 1)),), column("price")), DOUBLE),
        (RowMeta(Meta.ROWTIME), BIGINT),
        (Cast(column("amount"), STRING), STRING),
        (PythonCall("m:f", (column("amount"),), Map(STRING, BIGINT)), Map(STRING, BIGINT)),
    ],
)
def test_types_of_expressions(expression: Expression, type_: DataType) -> None:
    assert found(orders(), s.Select("x", "orders", (Named("x", expression),)))["x"].value == struct(x=type_)


def selected(expression: Expression) -> tuple[s.Step, ...]:
    return (orders(), s.Select("bad", "orders", (Named("x", expression),)))


def grouped(*more: s.Step) -> tuple[s.Step, ...]:
    return (orders(), s.GroupBy("g", "orders"), *more)


def windowed(window: w.Window) -> tuple[s.Step, ...]:
    return grouped(s.Aggregate("bad", "g", COUNT, window=window))


def fold(**parts: tuple[Named, ...] | None) -> s.Fold:
    total = Named("total", call("add", column("total", Side.STATE), column("price")))
    defaults = {"initial": (Named("total", Literal(DOUBLE, 0.0)),), "update": (total,)}
    return s.Fold(struct(total=DOUBLE), **(defaults | parts))  # type: ignore[arg-type]


def joined(left: s.Step, right: s.Step, join: s.Step) -> tuple[s.Step, ...]:
    return (left, right, join)


LEFT = named("item", side=Side.LEFT)
BY_NUMBER = Serde("kafka", struct(id=BIGINT), wrapped=False)
NUMBERED = s.TableSource("numbered", "numbered", BY_NUMBER, USER)
WINDOWED = (*grouped(s.Aggregate("counted", "g", COUNT, window=w.Tumbling(1000))),)

WRONG: list[tuple[tuple[s.Step, ...], str]] = [
    # Expressions
    (selected(column("amonut")), "there is no column amonut; did you mean amount? There are item, amount, price, user"),
    (selected(column("amount", Side.LEFT)), "left.amount: there is no left row here"),
    (selected(RowMeta(Meta.WINDOWSTART)), "WINDOWSTART is of windowed keys only"),
    (selected(call("uper", column("item"))), "there is no function 'uper'; did you mean upper?"),
    (selected(call("upper", column("amount"))), "upper takes upper(STRING) -> STRING"),
    (selected(call("count")), "count is an aggregate function"),
    (selected(Literal(INTEGER, "x")), "is no INTEGER: expected a whole number"),
    (selected(Literal(TIME, "25:00:00")), "a time within a day"),
    (selected(Literal(Array(STRING), "x")), "can only be NULL"),
    (selected(Cast(column("price"), Array(STRING))), "DOUBLE cannot be cast to ARRAY<STRING>"),
    (selected(FieldOf(column("item"), "x")), "only a STRUCT has fields"),
    (selected(Variable("x")), "is a parameter of no lambda"),
    (selected(Lambda(("x",), column("item"))), "stands where no function takes one"),
    (
        selected(call("transform", call("array", column("item")), Lambda(("x", "y"), Variable("x")))),
        "gives its lambda 1 values",
    ),
    (selected(Case(())), "at least one WHEN"),
    (selected(Case((When(column("item"), number(1)),))), "a condition is a BOOLEAN"),
    (selected(Case((When(Literal(BOOLEAN, True), number(1)),), column("item"))), "cast them to one type"),
    (selected(PythonCall("os.system('x')", (), STRING)), "write module:name"),
    # One row at a time
    ((orders(), s.Filter("bad", "orders", column("item"))), "a condition is a BOOLEAN"),
    (
        grouped(s.Filter("bad", "g", Literal(BOOLEAN, True))),
        "filter needs a stream or a table, 'g' is a grouped stream: aggregate it first",
    ),
    ((orders(), s.Select("bad", "orders", ())), "the value has no columns"),
    ((orders(), s.Select("bad", "orders", named("item", "item"))), "two columns 'item'"),
    ((orders(), s.Select("bad", "orders", (Named("${x}", number(1)),))), "holds no '${'"),
    ((orders(), s.Select("bad", "orders", named("item"), store="x")), "only a table can be stored"),
    ((users(), s.Select("bad", "users", named("name"), store="a b")), "no name of a store"),
    (
        (users(), s.SelectKey("bad", "users", named("name"))),
        "'users' is a table: take its changes as a stream with ToStream first",
    ),
    ((orders(), s.SelectKey("bad", "orders", ())), "has no columns"),
    (
        (orders(), s.SelectKey("bad", "orders", (Named("m", call("map", column("item"), number(1))),))),
        "maps cannot be compared",
    ),
    ((orders(), s.FlatMap("bad", "orders", column("item"), named("item"))), "takes an ARRAY apart"),
    ((orders(), s.Merge("bad", ())), "merges nothing"),
    ((orders(), s.StreamSource("o", "o", KEY, USER), s.Merge("bad", ("orders", "o"))), "have the same columns"),
    ((orders(), s.Branch("bad", "orders", ())), "has no branches"),
    ((orders(), s.Branch("bad", "orders", (s.BranchCase("a", None), s.BranchCase("b", None)))), "must be the last"),
    (
        (orders(), s.Branch("b", "orders", (s.BranchCase("a", None),)), s.ToTable("bad", "b")),
        "read from one of its branches: b.a",
    ),
    ((orders(), sink("orders", ORDER.columns), s.ToTable("bad", "out")), "reads from the sink 'out'"),
    ((orders(), s.ToStream("bad", "orders")), "make it a table with ToTable"),
    ((s.StreamSource("o", "o", NOTHING, USER), s.ToTable("bad", "o")), "choose a key with SelectKey"),
    ((orders(), s.Repartition("bad", "orders", 0)), "the number of partitions is 0"),
    ((orders(), s.Deduplicate("bad", "orders", (), 1000)), "no expression to know equal rows by"),
    ((orders(), s.Deduplicate("bad", "orders", (column("item"),), 0)), "within_ms is 0"),
    ((orders(), s.Suppress("bad", "orders")), "suppress needs a table"),
    ((users(), s.Suppress("bad", "users")), "'users' has none: aggregate with a window"),
    ((users(), s.Suppress("bad", "users", False)), "nothing to wait for"),
    ((users(), s.Suppress("bad", "users", True, 5)), "choose one of them"),
    # Aggregates
    ((orders(), s.Aggregate("bad", "orders", COUNT)), "group it with GroupBy first"),
    (grouped(s.Aggregate("bad", "g")), "either aggregates or a fold"),
    (grouped(s.Aggregate("bad", "g", COUNT, fold=fold())), "either aggregates or a fold"),
    (grouped(s.Aggregate("bad", "g", (s.AggregateCall("n", "cuont"),))), "did you mean count"),
    (grouped(s.Aggregate("bad", "g", (s.AggregateCall("n", "sum", (column("item"),)),))), "sum takes"),
    (grouped(s.Aggregate("bad", "g", (*COUNT, *COUNT))), "two columns 'n'"),
    (grouped(s.Aggregate("bad", "g", COUNT, emit=s.Emit.FINAL)), "add a window or emit changes"),
    (
        (users(), s.GroupBy("g", "users"), s.Aggregate("bad", "g", COUNT, window=w.Tumbling(1))),
        "a table has no windows",
    ),
    (
        (users(), s.GroupBy("g", "users"), s.Aggregate("bad", "g", (s.AggregateCall("n", "max", (column("name"),)),))),
        "max cannot take a row out again",
    ),
    ((*WINDOWED, s.GroupBy("bad", "counted")), "windowed keys; name the columns to group by"),
    ((s.StreamSource("o", "o", NOTHING, USER), s.GroupBy("bad", "o")), "nothing to bring rows together by"),
    (grouped(s.Aggregate("bad", "g", fold=fold(update=()))), "update gives nothing; the accumulator has total"),
    (
        grouped(s.Aggregate("bad", "g", fold=fold(update=(Named("total", column("item")),)))),
        "update gives 'total' as STRING",
    ),
    (
        grouped(s.Aggregate("bad", "g", fold=fold(initial=(Named("total", column("price")),)))),
        "there is no column price",
    ),
    (grouped(s.Aggregate("bad", "g", fold=fold(), window=w.Session(5))), "has no merge"),
    (grouped(s.Aggregate("bad", "g", fold=fold(), window=w.Hopping(10, 5, 0, True))), "neither undo nor merge"),
    (
        (
            users(),
            s.GroupBy("g", "users"),
            s.Aggregate("bad", "g", fold=fold(update=(Named("total", Literal(DOUBLE, 1.0)),))),
        ),
        "has no undo",
    ),
    (
        grouped(s.Aggregate("bad", "g", fold=fold(update=(Named("total", PythonCall("m:f", (), DOUBLE)),)))),
        "use expressions, or a Process step",
    ),
    (
        grouped(
            s.Aggregate("bad", "g", fold=s.Fold(struct(x=BIGINT), (), (Named("x", number(1)),), first_is_initial=True))
        ),
        "a reduce yields what it takes",
    ),
    (windowed(w.Tumbling(0)), "the window's size is 0; it must be at least 1"),
    (windowed(w.Tumbling(1 << 60)), "at most"),
    (windowed(w.Tumbling(10, -1)), "grace is -1"),
    (windowed(w.Tumbling(10, 5, retention_ms=14)), "retention is 14 ms, and these windows may change for 15 ms"),
    (windowed(w.Hopping(10, 2, 5, retention_ms=0)), "retention is 0 ms"),
    (windowed(w.Sliding(10, 5, retention_ms=24)), "may change for 25 ms"),
    (windowed(w.Session(10, 5, retention_ms=14)), "may change for 15 ms"),
    (windowed(w.Hopping(10, 11)), "advances by 11 ms"),
    (windowed(w.Hopping(10_000_000, 1)), "in 10000000 windows"),
    (windowed(w.Session(0)), "the session's gap is 0"),
    (windowed(w.Sliding(0)), "the window's difference is 0"),
    (windowed(w.Count(2, 3)), "advances by 3 records"),
    (windowed(w.Punctuation(column("item"))), "a condition is a BOOLEAN"),
    # Joins
    (
        joined(orders(), NUMBERED, s.StreamTableJoin("bad", "orders", "numbered", s.JoinKind.LEFT, LEFT)),
        "keys that are joined have the same types",
    ),
    (
        joined(orders(), users(), s.StreamTableJoin("bad", "orders", "users", s.JoinKind.OUTER, LEFT)),
        "inner or left, not outer",
    ),
    (
        joined(orders(), users(), s.StreamTableJoin("bad", "users", "orders", s.JoinKind.LEFT, LEFT)),
        "left side needs a stream, 'users' is a table",
    ),
    (
        joined(orders(), users(), s.StreamTableJoin("bad", "orders", "users", s.JoinKind.LEFT, named("item"))),
        "item needs a side; here are left and right",
    ),
    (
        joined(orders(), users(), s.GlobalTableJoin("bad", "orders", "users", s.JoinKind.LEFT, column("item"), LEFT)),
        "join with it in a StreamTableJoin",
    ),
    (
        joined(orders("a"), orders("b"), s.StreamStreamJoin("bad", "a", "b", s.JoinKind.INNER, -5, 4, LEFT)),
        "leave no time",
    ),
    (
        joined(orders("a"), orders("b"), s.StreamStreamJoin("bad", "a", "b", s.JoinKind.INNER, 5, 5, LEFT, -1)),
        "grace is -1",
    ),
    (
        joined(
            users(),
            NUMBERED,
            s.ForeignKeyJoin(
                "bad", "users", "numbered", s.JoinKind.LEFT, column("name"), named("name", side=Side.LEFT)
            ),
        ),
        "the foreign key name is a STRING, the key of 'numbered' is a BIGINT",
    ),
    (
        joined(
            users(),
            NUMBERED,
            s.ForeignKeyJoin(
                "bad", "users", "numbered", s.JoinKind.OUTER, column("name"), named("name", side=Side.LEFT)
            ),
        ),
        "inner or left",
    ),
    (
        (*WINDOWED, users(), s.TableTableJoin("bad", "counted", "users", s.JoinKind.INNER, named("n", side=Side.LEFT))),
        "only equal windows can be joined",
    ),
    (
        (
            *WINDOWED,
            users(),
            s.ForeignKeyJoin(
                "bad", "counted", "users", s.JoinKind.INNER, Cast(column("n"), STRING), named("n", side=Side.LEFT)
            ),
        ),
        "'counted' has windowed keys",
    ),
    # Ends
    ((s.StreamSource("bad", "a/b", KEY, USER),), "'a/b' is no name of a topic"),
    ((s.TableSource("bad", "t", NOTHING, USER),), "nothing to bring rows together by"),
    ((s.StreamSource("bad", "t", KEY, USER, timestamp=column("name")),), "a BIGINT of milliseconds or a TIMESTAMP"),
    (
        (s.StreamSource("bad", "t", Serde("jsn", struct(a=STRING)), USER),),
        "the key: there is no format 'jsn'; did you mean json?",
    ),
    (
        (s.StreamSource("bad", "t", Serde("kafka", struct(a=STRING), window=KeyWindow.TIME), USER),),
        "needs window_size_ms",
    ),
    ((s.StreamSource("bad", "t", KEY, Serde("json", struct(a=STRING), window=KeyWindow.SESSION)),), "only keys are"),
    (
        (orders(), sink("orders", struct(item=STRING), id_="bad")),
        "the rows have amount, price more; select the columns",
    ),
    (
        (orders(), sink("orders", struct(item=STRING, amount=BIGINT, price=DOUBLE, x=STRING), id_="bad")),
        "the rows lack x",
    ),
    (
        (orders(), sink("orders", struct(item=STRING, amount=INTEGER, price=DOUBLE), id_="bad")),
        "has 'amount' as INTEGER, the rows have it as BIGINT; cast it",
    ),
    ((*WINDOWED, sink("counted", struct(n=BIGINT), id_="bad")), "time-windowed keys, the sink's key has no window"),
    ((*WINDOWED, sink("counted", struct(n=BIGINT), timed(5), id_="bad")), "make them equal"),
    ((orders(), sink("orders", ORDER.columns, timed(5), id_="bad")), "the rows have no window"),
    ((users(), sink("users", USER.columns, NOTHING, id_="bad")), "writes a table without its key"),
    (
        (orders(), s.Sink("bad", "orders", "", KEY, ORDER, topic_expression=column("amount"))),
        "a topic's name is a STRING",
    ),
    ((orders(), s.Process("bad", "orders", "not code", (), struct(a=STRING))), "write module:name"),
    (
        (orders(), s.Process("bad", "orders", "m:C", (s.StateVariable("a b", STRING),), struct(a=STRING))),
        "no name that Python could use",
    ),
    ((orders(), s.Process("bad", "orders", "m:C", (), Struct(()))), "the value has no columns"),
]


@pytest.mark.parametrize(("steps", "problem"), WRONG, ids=lambda one: one[:60] if isinstance(one, str) else None)
def test_a_plan_that_cannot_run(steps: tuple[s.Step, ...], problem: str) -> None:
    with pytest.raises(PlanError, match=re.escape(problem)) as raised:
        found(*steps)
    assert raised.value.step in {step.id for step in steps}
    assert raised.value.step == ("bad" if any(step.id == "bad" for step in steps) else raised.value.step)


def test_global_tables_are_only_joined() -> None:
    table = s.GlobalTableSource("global", "t", KEY, USER)
    with pytest.raises(PlanError, match="a global table can only be joined with"):
        found(table, s.Filter("bad", "global", Literal(BOOLEAN, True)))
    with pytest.raises(PlanError, match="join with it in a GlobalTableJoin"):
        found(orders(), table, s.StreamTableJoin("bad", "orders", "global", s.JoinKind.LEFT, LEFT))


def test_a_deep_expression_is_typed() -> None:
    deep: Expression = column("amount")
    for _ in range(90):
        deep = Call("add", (deep, number(1)))
    assert found(*selected(deep))["bad"].value == struct(x=BIGINT)
