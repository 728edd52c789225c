"""Streams joined with streams, tables and global tables."""

from __future__ import annotations

from typing import Any

from conformance.streams.case import OUT, Item, topology
from conformance.streams.sequences import APART, CROSSED, DELETIONS, LEFT_FIRST, RIGHT_FIRST, TABLE_FIRST
from headrace.streams import App, fn, seconds, within

WINDOW = within(seconds(5), grace=seconds(0))
STREAMS = (LEFT_FIRST, RIGHT_FIRST, CROSSED)
TABLE = (LEFT_FIRST, RIGHT_FIRST, DELETIONS, CROSSED)


def joined(left: Any, right: Any) -> Item:
    return Item(
        fn.concat(fn.coalesce(left.name, "-"), "+", fn.coalesce(right.name, "-")),
        fn.coalesce(left.n, 0) * 1000 + fn.coalesce(right.n, 0),
    )


def streams(app: App) -> tuple[Any, Any]:
    return app.stream("left", key=str, value=Item), app.stream("right", key=str, value=Item)


def stream_and_table(app: App) -> tuple[Any, Any]:
    return app.stream("left", key=str, value=Item), app.table("right", key=str, value=Item)


@topology(*STREAMS, APART)
def stream_stream_inner(app: App) -> None:
    left, right = streams(app)
    left.join(right, joined, within(seconds(5), grace=seconds(600))).to(OUT)


@topology(APART, CROSSED)
def stream_stream_left(app: App) -> None:
    left, right = streams(app)
    left.left_join(right, joined, WINDOW).to(OUT)


@topology(APART, CROSSED)
def stream_stream_outer(app: App) -> None:
    left, right = streams(app)
    left.outer_join(right, joined, WINDOW).to(OUT)


@topology(*STREAMS)
def stream_stream_only_after(app: App) -> None:
    left, right = streams(app)
    left.join(right, joined, within(before=seconds(0), after=seconds(4), grace=seconds(600))).to(OUT)


@topology(*STREAMS)
def stream_stream_only_before(app: App) -> None:
    left, right = streams(app)
    left.join(right, joined, within(before=seconds(4), after=seconds(0), grace=seconds(600))).to(OUT)


@topology(APART)
def stream_stream_left_with_grace(app: App) -> None:
    left, right = streams(app)
    left.left_join(right, joined, within(seconds(5), grace=seconds(10))).to(OUT)


@topology(LEFT_FIRST, RIGHT_FIRST)
def stream_stream_after_new_keys(app: App) -> None:
    left, right = streams(app)
    window = within(seconds(5), grace=seconds(600))
    left.select_key(lambda key, i: "one").join(right.select_key(lambda key, i: "one"), joined, window).to(OUT)


@topology(LEFT_FIRST, RIGHT_FIRST)
def stream_stream_then_filter(app: App) -> None:
    left, right = streams(app)
    left.join(right, joined, within(seconds(5), grace=seconds(600))).filter(lambda i: i.n > 1010).to(OUT)


@topology(*TABLE)
def stream_table_inner(app: App) -> None:
    left, right = stream_and_table(app)
    left.join(right, joined).to(OUT)


@topology(*TABLE)
def stream_table_left(app: App) -> None:
    left, right = stream_and_table(app)
    left.left_join(right, joined).to(OUT)


@topology(LEFT_FIRST, RIGHT_FIRST)
def stream_table_with_filtered_table(app: App) -> None:
    left, right = stream_and_table(app)
    left.left_join(right.filter(lambda i: i.n > 10), joined).to(OUT)


@topology(LEFT_FIRST, RIGHT_FIRST, DELETIONS)
def stream_table_with_mapped_table(app: App) -> None:
    left, right = stream_and_table(app)
    left.join(right.map_values(lambda i: Item(fn.concat(i.name, "!"), i.n + 1)), joined).to(OUT)


@topology(LEFT_FIRST, RIGHT_FIRST, one_by_one=True)
def stream_table_then_count(app: App) -> None:
    left, right = stream_and_table(app)
    left.join(right, joined).group_by_key().count().to_stream().to(OUT)


@topology(TABLE_FIRST)
def global_table_inner(app: App) -> None:
    left = app.stream("left", key=str, value=Item)
    left.join(app.global_table("right", key=str, value=Item), joined, on=lambda key, i: key).to(OUT)


@topology(TABLE_FIRST)
def global_table_left(app: App) -> None:
    left = app.stream("left", key=str, value=Item)
    left.left_join(app.global_table("right", key=str, value=Item), joined, on=lambda key, i: key).to(OUT)
