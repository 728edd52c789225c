"""How long the windows of a stored table are kept: what Kafka Streams keeps unless told otherwise."""

from __future__ import annotations

import pytest

from headrace.functions import CATALOGUE
from headrace.plan import steps as s
from headrace.plan import windows as w
from headrace.plan.expressions import Column, Literal, Named, PythonCall, Side
from headrace.plan.plan import Plan
from headrace.plan.relations import relations
from headrace.plan.serdes import KeyWindow, Serde
from headrace.plan.step_text import window_text
from headrace.plan.stores import stores
from headrace.plan.types import BIGINT, BOOLEAN, STRING, struct

KEY = Serde("kafka", struct(id=STRING), wrapped=False)
VALUE = Serde("json", struct(name=STRING))
COUNT = (s.AggregateCall("n", "count"),)
KEEP = (Named("n", Column("n")),)
HOUR_MS = 3_600_000


def kept(*steps: s.Step) -> int | None:
    """The retention of the one store of these steps after a grouped stream."""
    plan = Plan("p", (s.StreamSource("in", "orders", KEY, VALUE), s.GroupBy("g", "in"), *steps))
    (store,) = stores(plan, relations(plan, CATALOGUE)).values()
    return store.retention_ms


def counted(window: w.Window | None, id_: str = "n", store: str | None = None) -> s.Aggregate:
    return s.Aggregate(id_, "g", COUNT, window=window, store=store)


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        (None, None),
        (w.Tumbling(HOUR_MS), 25 * HOUR_MS),
        (w.Tumbling(10, 5), 15),
        (w.Tumbling(10, 5, retention_ms=1000), 1000),
        (w.Hopping(10, 2, 5), 15),
        (w.Sliding(10, 5), 25),
        (w.Session(10, 5), 15),
        (w.Session(10, 5, retention_ms=15), 15),
        (w.Count(10, 10), None),
        (w.Punctuation(PythonCall("m:f", (), BOOLEAN)), None),
    ],
)
def test_windows_are_kept_for_as_long_as_they_may_change(window: w.Window | None, expected: int | None) -> None:
    assert kept(counted(window, store="counts")) == expected


def test_what_is_made_of_windows_is_kept_as_they_are() -> None:
    window, other = counted(w.Tumbling(10, 5)), counted(w.Tumbling(10, 500), "m")
    assert kept(window, s.Filter("f", "n", Literal(BOOLEAN, True), "kept")) == 15
    assert kept(window, s.Filter("f", "n", Literal(BOOLEAN, True)), s.Select("s", "f", KEEP, "kept")) == 15
    columns = (Named("n", Column("n", Side.LEFT)), Named("m", Column("n", Side.RIGHT)))
    join = s.TableTableJoin("j", "n", "m", s.JoinKind.INNER, columns, store="kept")
    assert kept(window, other, join) == 510


def test_windows_from_a_topic_are_kept_for_ever() -> None:
    key = Serde("kafka", struct(id=STRING), wrapped=False, window=KeyWindow.TIME, window_size_ms=10)
    assert kept(s.TableSource("t", "counts", key, Serde("json", struct(n=BIGINT)), store="kept")) is None


def test_a_retention_of_ones_own_is_told() -> None:
    assert window_text(w.Tumbling(1000, 0)) == "tumbling 1 s, grace 0 ms"
    assert window_text(w.Tumbling(1000, 0, retention_ms=HOUR_MS)) == "tumbling 1 s, grace 0 ms, kept for 1 h"
