"""What is wrong with a topology is told before anything starts, at the user's line, with what to do."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from headrace.streams import (
    App,
    KeyValue,
    Processor,
    StreamsError,
    agg,
    count_window,
    hopping,
    seconds,
    session,
    tumbling,
    until,
    within,
)
from tests.streams.topologies import Payment, Silence, customers, payments


@dataclass
class WithRowkey:
    rowkey: str


class NoType(Processor):
    pass


def clicks(app: App) -> Any:
    return app.stream("clicks", key=int, value=str)


CASES: dict[str, tuple[Callable[[App], Any], str]] = {
    "filter": (lambda app: payments(app).filter(lambda p: p.amount), "needs a condition; the function returns a DOUBLE"),
    "arity": (lambda app: payments(app).filter(lambda a, b, c: True), "a function of 1 or 2 values, this has 3"),
    "no function": (lambda app: payments(app).map_values("x"), "takes a function, not 'x'"),
    "none": (lambda app: payments(app).map_values(lambda p: None), "returns None, which has no type"),
    "map": (lambda app: payments(app).map(lambda k, p: p.amount), "returns KeyValue(key, value) or a pair"),
    "flat map": (lambda app: payments(app).flat_map_values(lambda p: p.card), "returns a list or an array column"),
    "merge": (lambda app: payments(app).merge(clicks(app)), "have the same columns"),
    "outer join without grace": (
        lambda app: payments(app).outer_join(payments(app), lambda a, b: a.card, within(seconds=1)),
        "grace=seconds(30)",
    ),
    "join without window": (lambda app: payments(app).join(payments(app), lambda a, b: a.card), "within(minutes=5)"),
    "join table with window": (
        lambda app: payments(app).join(customers(app), lambda a, b: a.card, within(seconds=1)),
        "takes no window",
    ),
    "keys differ": (lambda app: payments(app).join(clicks(app), lambda a, b: b, within(seconds=1)), "have the same types"),
    "outer join of table": (lambda app: payments(app).outer_join(customers(app)), "use left_join"),
    "join nothing": (lambda app: payments(app).join("customers"), "takes a KStream, a KTable or a GlobalKTable"),
    "table join stream": (lambda app: customers(app).join(payments(app)), "a stream is the left side"),
    "on with a table": (lambda app: payments(app).join(customers(app), None, on=lambda p: p.card), "app.global_table"),
    "foreign key": (lambda app: customers(app).join(customers(app), on=lambda c: c.age), "the foreign key"),
    "global key": (
        lambda app: payments(app).join(app.global_table("g", key=int, value=str), on=lambda p: p.card),
        "the key of 'global-table-1'",
    ),
    "no keys": (lambda app: app.stream("t", key=None, value=str).group_by_key(), "use group_by"),
    "key of no keys": (lambda app: app.stream("t", key=None, value=str).filter(lambda k, v: k == v), "has no keys"),
    "session without merge": (
        lambda app: payments(app).group_by_key().windowed_by(session(minutes=1)).aggregate(0, lambda n, p: n + 1),
        "has no merge",
    ),
    "accumulator": (lambda app: payments(app).group_by_key().aggregate([], lambda items, p: items), "returns=…"),
    "accumulator type": (
        lambda app: payments(app).group_by_key().aggregate(0, lambda n, p: n + p.amount),
        "is BIGINT, but the expression is DOUBLE",
    ),
    "fold in python": (
        lambda app: (
            payments(app)
            .group_by_key()
            .windowed_by(tumbling(seconds=1))
            .aggregate(0, lambda n, p: n + 1 if p.amount else n)
        ),
        "belongs in process(…)",
    ),
    "not a window": (lambda app: payments(app).group_by_key().windowed_by(10), "takes a window such as tumbling"),
    "until": (lambda app: payments(app).group_by_key().windowed_by(until(lambda p: p.card)), "needs a condition"),
    "emit": (lambda app: payments(app).group_by_key().emit_strategy("on_window_close"), "windowed_by(…) first"),
    "emit word": (
        lambda app: payments(app).group_by_key().windowed_by(tumbling(seconds=1)).emit_strategy("final"),
        "on_window_close",
    ),
    "suppress": (lambda app: customers(app).suppress(), "waits for the end of a window"),
    "summarize": (lambda app: payments(app).group_by_key().summarize(lambda p: p.amount), "agg.count()"),
    "agg outside": (lambda app: payments(app).map_values(lambda p: agg.count()), "summarize(…) only"),
    "branch": (lambda app: payments(app).branch(), "at least one predicate"),
    "split": (lambda app: payments(app).split(a=None, b=None), "only one branch"),
    "processor": (lambda app: payments(app).process(Silence()), "a class that extends Processor"),
    "processor type": (lambda app: payments(app).process(NoType), "needs `returns = …`"),
    "value type": (lambda app: app.stream("t", value=object), "is no type of a column"),
    "type text": (lambda app: app.stream("t", value="STRUCT<a FOO>"), "'FOO' is no type"),
    "union": (lambda app: app.stream("t", value=int | str), "more than one type"),
    "rowkey": (lambda app: app.stream("t", value=WithRowkey), "rename it"),
    "topic": (lambda app: app.stream("a b", value=str), "is no name of a topic"),
    "step twice": (lambda app: [payments(app).filter(lambda p: True, name="x") for _ in "ab"], "two steps with this id"),
    "store twice": (lambda app: [payments(app).group_by_key().count(store="x") for _ in "ab"], "names of stores are unique"),
    "no store": (lambda app: app.table("counts"), "no table was stored as 'counts'"),
    "offset reset": (lambda app: app.stream("t", value=str, offset_reset="first"), "earliest or latest"),
    "not kept": (lambda app: payments(app).to_table().get("a"), "store=…"),
    "cogroup keys": (
        lambda app: payments(app).group_by_key().cogroup(lambda s, p: s).cogroup(clicks(app).group_by_key(), lambda s, p: s),
        "of one type",
    ),
    "group by pair": (
        lambda app: customers(app).group_by(lambda c: KeyValue(c.region, {"group_key": c.age})),
        "no field 'group_key'",
    ),
    "update state": (lambda app: payments(app).update_state_by_key(lambda p: 1, 0), "a function of value and state"),
    "not traceable": (
        lambda app: payments(app).map_values(lambda p: 1 if p.amount > 1 else 2),
        "@python_function(returns=…)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_mistakes_are_told_at_the_line(name: str) -> None:
    build, message = CASES[name]
    with pytest.raises(StreamsError) as error:
        build(App("app"))
    assert message in str(error.value)
    assert error.value.location.rpartition(":")[0].endswith(("test_errors.py", "topologies.py")), error.value.location


def test_the_line_is_that_of_the_call() -> None:
    stream = payments(App("app"))
    with pytest.raises(StreamsError) as error:
        stream.filter(lambda p: p.amount)
    line = inspect.getsourcelines(test_the_line_is_that_of_the_call)[1] + 3
    assert error.value.location == f"{__file__}:{line}"


def test_a_step_that_was_refused_leaves_nothing_behind() -> None:
    app = App("app")
    stream = payments(app)
    with pytest.raises(StreamsError):
        stream.filter(lambda p: p.amount)
    assert [step.id for step in app.plan().steps] == ["stream-1"]
    assert stream.filter(lambda p: p.amount > 1).step == "filter-1"


def test_an_app_needs_a_name_and_a_step() -> None:
    with pytest.raises(StreamsError, match="no name for an app"):
        App("a b")
    with pytest.raises(StreamsError, match="does nothing yet"):
        App("a").plan()
    with pytest.raises(StreamsError, match="no guarantee"):
        App("a", guarantee="at_most_once")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: tumbling(), "more than 0"),
        (lambda: tumbling(seconds=-1), "more than 0"),
        (lambda: tumbling(seconds=0.0001), "whole milliseconds"),
        (lambda: tumbling(timedelta(seconds=1), minutes=1), "given twice"),
        (lambda: tumbling(secs=1), "has no secs"),
        (lambda: tumbling("10s"), "timedelta or whole milliseconds"),
        (lambda: tumbling(seconds=1, grace=-1), "0 or more"),
        (lambda: tumbling(seconds=1, retention=0), "more than 0"),
        (lambda: hopping(seconds=1, every=seconds(2)), "would miss records"),
        (lambda: count_window(0), "1 ≤ every ≤ size"),
        (lambda: count_window(3, every=4), "1 ≤ every ≤ size"),
        (lambda: until(lambda v: True, max_records=0), "1 or more"),
        (lambda: within(), "more than 0"),
    ],
)
def test_windows_are_checked(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(StreamsError, match=r"test_errors\.py") as error:
        make()
    assert message in str(error.value)


def test_durations_can_be_said_in_several_ways() -> None:
    assert (
        tumbling(minutes=1, seconds=30).size_ms == tumbling(timedelta(seconds=90)).size_ms == tumbling(90_000).size_ms
    )
    assert tumbling(ms=5).size_ms == 5
    assert within(minutes=1).before_ms == 60_000
    assert (within(before=seconds(1), after=0).before_ms, within(before=seconds(1), after=0).after_ms) == (1000, 0)


def test_a_source_that_is_named_twice_is_read_once() -> None:
    app = App("app")
    assert payments(app).step == payments(app).step
    assert app.stream("payments", key=str, value=Payment, name="again").step == "again"
