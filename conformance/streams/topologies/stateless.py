"""One record at a time."""

from __future__ import annotations

from conformance.streams.case import OUT, Item, topology
from conformance.streams.sequences import IN_ORDER, NULL_KEYS, OUT_OF_ORDER
from headrace.streams import App, KeyValue, KStream, fn, when


def source(app: App) -> KStream[str, Item]:
    return app.stream("in", key=str, value=Item)


@topology(IN_ORDER, OUT_OF_ORDER, NULL_KEYS)
def copy(app: App) -> None:
    source(app).to(OUT)


@topology(IN_ORDER, OUT_OF_ORDER)
def filter_by_value(app: App) -> None:
    source(app).filter(lambda i: (i.n > 1) & (i.name != "y")).to(OUT)


@topology(IN_ORDER)
def filter_not_by_key(app: App) -> None:
    source(app).filter_not(lambda key, i: key == "a").to(OUT)


@topology(IN_ORDER, OUT_OF_ORDER)
def map_values(app: App) -> None:
    source(app).map_values(
        lambda i: Item(fn.concat(fn.coalesce(i.name, "none"), "!"), when(i.n < 0).then(0).otherwise(i.n * 2))
    ).to(OUT)


@topology(IN_ORDER)
def map_values_with_key(app: App) -> None:
    source(app).map_values(lambda key, i: Item(fn.upper(key), i.n + 1)).to(OUT)


@topology(IN_ORDER, NULL_KEYS)
def map_key_and_value(app: App) -> None:
    source(app).map(lambda key, i: KeyValue(fn.coalesce(i.name, "?"), Item(key, i.n))).to(OUT)


@topology(IN_ORDER, NULL_KEYS)
def select_key(app: App) -> None:
    source(app).select_key(lambda key, i: i.name).to(OUT)


@topology(IN_ORDER)
def flat_map_values(app: App) -> None:
    source(app).flat_map_values(lambda i: fn.array(Item(i.name, i.n), Item("twice", i.n * 2))).to(OUT)


@topology(IN_ORDER)
def flat_map(app: App) -> None:
    source(app).flat_map(
        lambda key, i: [KeyValue(key, Item("same", i.n)), KeyValue(fn.concat(key, "-2"), Item("other", i.n))]
    ).to(OUT)


@topology(IN_ORDER, OUT_OF_ORDER)
def branches(app: App) -> None:
    small, middle, rest = source(app).branch(lambda i: i.n < 2, lambda i: i.n < 5, lambda i: i.n >= 5)
    small.map_values(lambda i: Item("small", i.n)).to(OUT)
    middle.to("middle")
    rest.select_key(lambda key, i: fn.concat(key, "!")).to("rest")


@topology(IN_ORDER)
def two_sinks(app: App) -> None:
    stream = source(app)
    stream.to(OUT)
    stream.filter(lambda i: i.n > 2).to("large")


@topology(IN_ORDER, OUT_OF_ORDER)
def event_time_of_a_field(app: App) -> None:
    app.stream("in", key=str, value=Item, timestamp=lambda i: i.n * 1000 + 50_000).to(OUT)


@topology(IN_ORDER)
def chain_of_steps(app: App) -> None:
    (
        source(app)
        .filter(lambda i: i.n > 0)
        .map_values(lambda i: Item(i.name, i.n + 10))
        .select_key(lambda key, i: fn.concat(key, "/", fn.coalesce(i.name, "-")))
        .filter(lambda key, i: key != "a/x")
        .map_values(lambda key, i: Item(key, i.n))
        .to(OUT)
    )
