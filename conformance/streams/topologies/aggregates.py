"""Aggregates of streams without windows."""

from __future__ import annotations

from dataclasses import dataclass

from conformance.streams.case import OUT, Item, topology
from conformance.streams.sequences import IN_ORDER, NULL_KEYS, NULLS, OUT_OF_ORDER, SAME_TIME
from conformance.streams.topologies.stateless import source
from headrace.streams import App, agg, fn

ALL = (IN_ORDER, OUT_OF_ORDER, SAME_TIME, NULLS)


@dataclass(frozen=True)
class Summary:
    rows: int
    total: int
    least: int
    most: int


@topology(*ALL, NULL_KEYS)
def count(app: App) -> None:
    source(app).group_by_key().count().to_stream().to(OUT)


@topology(*ALL)
def count_by_value(app: App) -> None:
    source(app).group_by(lambda i: fn.coalesce(i.name, "none")).count().to_stream().to(OUT)


@topology(*ALL)
def reduce_to_sum(app: App) -> None:
    source(app).group_by_key().reduce(lambda old, new: Item(new.name, old.n + new.n)).to_stream().to(OUT)


@topology(IN_ORDER, OUT_OF_ORDER)
def reduce_to_largest(app: App) -> None:
    source(app).group_by_key().reduce(lambda old, new: Item(old.name, fn.greatest(old.n, new.n))).to_stream().to(OUT)


@topology(*ALL)
def aggregate(app: App) -> None:
    source(app).group_by_key().aggregate(
        lambda: Summary(0, 0, 1_000, -1_000),
        lambda key, i, s: Summary(s.rows + 1, s.total + i.n, fn.least(s.least, i.n), fn.greatest(s.most, i.n)),
    ).to_stream().to(OUT)


@topology(*ALL)
def several_functions(app: App) -> None:
    source(app).group_by_key().summarize(
        lambda i: {"rows": agg.count(), "total": agg.sum(i.n), "least": agg.min(i.n), "most": agg.max(i.n)}
    ).to_stream().to(OUT)


@topology(IN_ORDER, SAME_TIME)
def average(app: App) -> None:
    source(app).group_by_key().summarize(lambda i: {"mean": agg.avg(i.n)}).to_stream().to(OUT)


@topology(IN_ORDER, NULLS)
def count_of_a_column(app: App) -> None:
    source(app).group_by_key().summarize(lambda i: {"named": agg.count(i.name)}).to_stream().to(OUT)


@topology(IN_ORDER, SAME_TIME)
def collected(app: App) -> None:
    source(app).group_by_key().summarize(lambda i: {"all": agg.collect_list(i.n)}).to_stream().to(OUT)


@topology(IN_ORDER, OUT_OF_ORDER)
def after_a_filter(app: App) -> None:
    source(app).filter(lambda i: i.n > 1).group_by_key().count().to_stream().to(OUT)


@topology(IN_ORDER, OUT_OF_ORDER)
def after_a_new_key(app: App) -> None:
    source(app).select_key(lambda key, i: fn.coalesce(i.name, "none")).group_by_key().count().to_stream().to(OUT)


@topology(IN_ORDER, OUT_OF_ORDER)
def result_mapped(app: App) -> None:
    source(app).group_by_key().count().map_values(lambda n: n * 100).to_stream().filter(lambda n: n > 100).to(OUT)


@topology(IN_ORDER, SAME_TIME)
def result_filtered_as_a_table(app: App) -> None:
    source(app).group_by_key().count().filter(lambda n: n != 2).to_stream().to(OUT)


@topology(IN_ORDER, SAME_TIME)
def merged_then_counted(app: App) -> None:
    stream = source(app)
    stream.filter(lambda i: i.n > 1).merge(stream.filter(lambda i: i.n < 5)).group_by_key().count().to_stream().to(OUT)


@topology(IN_ORDER, OUT_OF_ORDER)
def stored(app: App) -> None:
    source(app).group_by_key().count(store="counts").to_stream().to(OUT)
