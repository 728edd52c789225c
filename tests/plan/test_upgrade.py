"""Which changes of a plan its state survives, and what is said about the others."""

from __future__ import annotations

from dataclasses import replace

from headrace.functions import CATALOGUE
from headrace.plan import steps as s
from headrace.plan.expressions import Call, Column, Literal, Named, Side
from headrace.plan.plan import Plan
from headrace.plan.serdes import Serde
from headrace.plan.types import BIGINT, STRING, struct
from headrace.plan.upgrade import compatibility
from headrace.plan.windows import Tumbling

KEY = Serde("kafka", struct(id=STRING), wrapped=False)
VALUE = Serde("json", struct(name=STRING, amount=BIGINT))
SOURCE = s.StreamSource("in", "orders", KEY, VALUE)
GROUP = s.GroupBy("g", "in")
COUNT = s.Aggregate("n", "g", (s.AggregateCall("n", "count"),))
SINK = s.Sink("out", "n", "counts", KEY, Serde("json", struct(n=BIGINT)))


def reasons(old: tuple[s.Step, ...], new: tuple[s.Step, ...]) -> list[str]:
    return compatibility(Plan("p", old), Plan("p", new), CATALOGUE)


def test_what_stands_beside_the_state_may_change() -> None:
    positive = s.Filter("positive", "in", Call("greater", (Column("amount"), Literal(BIGINT, 0))))
    other = s.Sink("raw", "positive", "raw", KEY, VALUE)
    changed = (SOURCE, positive, replace(GROUP, input="positive"), replace(COUNT, store="counts"), SINK, other)
    assert reasons((SOURCE, GROUP, COUNT, SINK), changed) == []


def test_another_aggregate_key_window_or_topic_does_not_fit() -> None:
    old = (SOURCE, GROUP, COUNT, SINK)
    total = replace(COUNT, aggregates=(s.AggregateCall("n", "sum", (Column("amount"),)),))
    assert reasons(old, (SOURCE, GROUP, total, SINK)) == ["step 'n' keeps other state: aggregates changed"]
    by_name = replace(GROUP, key=(Named("name", Column("name")),))
    key = Serde("kafka", struct(name=STRING), wrapped=False)
    columns, group = reasons(old, (SOURCE, by_name, COUNT, replace(SINK, key=key)))
    assert columns.startswith("step 'n' has other input columns: grouped stream (id STRING)")
    assert group == "step 'n' keeps other state: group key changed"
    same_type = replace(GROUP, key=(Named("id", Column("name")),))
    assert reasons(old, (SOURCE, same_type, COUNT, SINK)) == [group]
    windowed = replace(COUNT, window=Tumbling(1000))
    stream = (s.ToStream("c", "n"), s.SelectKey("k", "c", (Named("id", Column("id")),)), replace(SINK, input="k"))
    assert reasons(old, (SOURCE, GROUP, windowed, *stream)) == ["step 'n' keeps other state: window changed"]
    moved = replace(SOURCE, topic="orders2")
    assert reasons(old, (moved, GROUP, COUNT, SINK)) == ["stage 'n' no longer reads orders and now reads orders2"]


def test_how_long_a_table_keeps_windows_may_change() -> None:
    windowed = replace(COUNT, window=Tumbling(1000), store="counts")
    longer = replace(COUNT, window=Tumbling(1000, retention_ms=10**9), store="counts")
    assert reasons((SOURCE, GROUP, windowed), (SOURCE, GROUP, longer)) == []


def test_state_that_is_gone_is_said() -> None:
    raw = s.Sink("raw", "in", "raw", KEY, VALUE)
    assert reasons((SOURCE, GROUP, COUNT, SINK), (SOURCE, raw)) == [
        "step 'n', which has state, is gone or has another id"
    ]


def test_a_join_may_change_its_result_but_not_the_columns_it_is_made_of() -> None:
    people = s.TableSource("people", "people", KEY, VALUE)
    columns = (Named("name", Column("name", Side.RIGHT)), Named("amount", Column("amount", Side.LEFT)))
    join = s.StreamTableJoin("j", "in", "people", s.JoinKind.INNER, columns)
    sink = s.Sink("out", "j", "joined", KEY, VALUE)
    upper = replace(join, columns=(Named("name", Call("upper", (columns[0].expression,))), columns[1]))
    assert reasons((SOURCE, people, join, sink), (SOURCE, people, upper, sink)) == []
    more = replace(join, columns=(columns[0], Named("amount", Column("amount", Side.RIGHT))))
    assert reasons((SOURCE, people, join, sink), (SOURCE, people, more, sink)) == [
        "step 'j' keeps other state: columns changed"
    ]
