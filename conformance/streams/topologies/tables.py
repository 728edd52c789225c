"""Tables: their steps, their aggregates, their joins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from conformance.streams.case import OUT, Item, topology
from conformance.streams.sequences import (
    CHANGES,
    CROSSED,
    DELETIONS,
    IN_ORDER,
    LEFT_FIRST,
    MOVES,
    NULLS,
    ORDERS,
    RIGHT_FIRST,
    VANISHING,
)
from conformance.streams.topologies.stateless import source
from conformance.streams.topologies.stream_joins import joined
from headrace.streams import App, KeyValue, agg, fn, seconds

ROWS = (IN_ORDER, NULLS, CHANGES)
BOTH = (LEFT_FIRST, RIGHT_FIRST, DELETIONS, CROSSED)
KEYS = (ORDERS, MOVES, VANISHING)


@dataclass(frozen=True)
class Total:
    rows: int
    total: int


def table(app: App) -> Any:
    return app.table("in", key=str, value=Item)


def two_tables(app: App) -> tuple[Any, Any]:
    return app.table("left", key=str, value=Item), app.table("right", key=str, value=Item)


@topology(*ROWS)
def table_copied(app: App) -> None:
    table(app).to_stream().to(OUT)


@topology(*ROWS)
def table_filtered(app: App) -> None:
    table(app).filter(lambda i: i.n > 2).to_stream().to(OUT)


@topology(*ROWS)
def table_mapped(app: App) -> None:
    table(app).map_values(lambda i: Item(fn.concat(fn.coalesce(i.name, ""), "!"), i.n * 2)).to_stream().to(OUT)


@topology(*ROWS)
def table_filtered_then_mapped(app: App) -> None:
    table(app).filter(lambda i: i.n > 2).map_values(lambda i: Item(i.name, i.n + 1)).to_stream().to(OUT)


@topology(*ROWS)
def stored_table_filtered(app: App) -> None:
    app.table("in", key=str, value=Item, store="rows").filter(lambda i: i.n > 2).to_stream().to(OUT)


@topology(*ROWS)
def stream_as_table(app: App) -> None:
    source(app).to_table().to_stream().to(OUT)


@topology(IN_ORDER, CHANGES)
def stream_as_table_filtered(app: App) -> None:
    source(app).to_table().filter(lambda i: i.n > 2).to_stream().to(OUT)


@topology(*ROWS, one_by_one=True)
def table_count_by_value(app: App) -> None:
    table(app).group_by(lambda key, i: fn.coalesce(i.name, "none")).count().to_stream().to(OUT)


@topology(*ROWS, one_by_one=True)
def table_sum_by_value(app: App) -> None:
    table(app).group_by(lambda key, i: KeyValue(fn.coalesce(i.name, "none"), Item(i.name, i.n))).aggregate(
        lambda: Total(0, 0),
        lambda key, i, t: Total(t.rows + 1, t.total + i.n),
        lambda key, i, t: Total(t.rows - 1, t.total - i.n),
    ).to_stream().to(OUT)


@topology(*ROWS, one_by_one=True)
def table_summarized(app: App) -> None:
    table(app).group_by(lambda key, i: fn.coalesce(i.name, "none")).summarize(
        lambda i: {"rows": agg.count(), "total": agg.sum(i.n)}
    ).to_stream().to(OUT)


@topology(*ROWS, one_by_one=True)
def table_count_over_all(app: App) -> None:
    table(app).group_by(lambda key, i: "all").count().to_stream().to(OUT)


@topology(IN_ORDER, CHANGES, one_by_one=True)
def filtered_table_counted(app: App) -> None:
    table(app).filter(lambda i: i.n > 2).group_by(lambda key, i: fn.coalesce(i.name, "none")).count().to_stream().to(
        OUT
    )


@topology(IN_ORDER, CHANGES, one_by_one=True)
def count_of_counts(app: App) -> None:
    source(app).group_by_key().count().group_by(
        lambda key, n: fn.concat("n=", fn.cast(n, "STRING"))
    ).count().to_stream().to(OUT)


@topology(IN_ORDER, one_by_one=True)
def suppressed_for_some_time(app: App) -> None:
    source(app).group_by_key().count().suppress(seconds(5)).to_stream().to(OUT)


@topology(*BOTH)
def table_table_inner(app: App) -> None:
    left, right = two_tables(app)
    left.join(right, joined).to_stream().to(OUT)


@topology(*BOTH)
def table_table_left(app: App) -> None:
    left, right = two_tables(app)
    left.left_join(right, joined).to_stream().to(OUT)


@topology(*BOTH)
def table_table_outer(app: App) -> None:
    left, right = two_tables(app)
    left.outer_join(right, joined).to_stream().to(OUT)


@topology(LEFT_FIRST, DELETIONS, one_by_one=True)
def table_table_then_count(app: App) -> None:
    left, right = two_tables(app)
    left.join(right, joined).group_by(lambda key, i: "all").count().to_stream().to(OUT)


@topology(LEFT_FIRST, DELETIONS)
def table_table_filtered_sides(app: App) -> None:
    left, right = two_tables(app)
    left.filter(lambda i: i.n > 1).left_join(right.filter(lambda i: i.n > 10), joined).to_stream().to(OUT)


@topology(*KEYS)
def foreign_key_inner(app: App) -> None:
    left, right = two_tables(app)
    left.join(right, joined, on=lambda i: i.name).to_stream().to(OUT)


@topology(*KEYS)
def foreign_key_left(app: App) -> None:
    left, right = two_tables(app)
    left.left_join(right, joined, on=lambda i: i.name).to_stream().to(OUT)


@topology(LEFT_FIRST, RIGHT_FIRST, one_by_one=True)
def counts_joined_with_a_table(app: App) -> None:
    counts = app.stream("left", key=str, value=Item).group_by_key().count()
    counts.join(app.table("right", key=str, value=Item), lambda n, i: Item(i.name, n * 100 + i.n)).to_stream().to(OUT)


@topology(LEFT_FIRST, RIGHT_FIRST, one_by_one=True)
def stream_joined_with_counts(app: App) -> None:
    counts = app.stream("right", key=str, value=Item).group_by_key().count()
    app.stream("left", key=str, value=Item).left_join(
        counts, lambda i, n: Item(i.name, i.n * 100 + fn.coalesce(n, 0))
    ).to(OUT)
