"""One small topology for each operation; `test_golden.py` compares their plans with the files in `golden/`.

`python -m tests.streams.write_golden` writes the files anew; read the difference before you commit it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

from headrace.plan.document import to_json
from headrace.streams import (
    App,
    Context,
    KeyValue,
    Processor,
    State,
    agg,
    count_window,
    fn,
    hopping,
    length,
    minutes,
    python_function,
    seconds,
    session,
    sliding,
    tumbling,
    until,
    when,
    within,
)

GOLDEN = Path(__file__).parent / "golden"


@dataclass
class Payment:
    card: str
    amount: float
    country: str | None = None


@dataclass
class Alert:
    card: str
    amount: float
    level: str


@dataclass
class Customer:
    name: str
    region: str
    age: Annotated[int, "INTEGER"]


@dataclass
class Order:
    customer: str
    total: float
    lines: list[Payment]
    at: datetime


@dataclass
class Stats:
    count: int = 0
    total: float = 0.0
    cards: list[str] = field(default_factory=list)


@python_function()
def risk(payment: Payment) -> float:
    return len(payment.card) * 0.1


def classify(payment: Payment) -> Alert:
    if payment.amount > 1000:
        return Alert(payment.card, payment.amount, "high")
    return Alert(payment.card, payment.amount, "low")


class Silence(Processor):
    state = {"last": int, "seen": State(str, ttl_ms=60_000)}  # noqa: RUF012 - as people write it
    returns = Alert

    def process(self, key: str, value: Payment, context: Context) -> Iterable[Alert]:
        context.state["last"] = context.timestamp_ms
        context.schedule(context.timestamp_ms + 60_000)
        return ()

    def on_timer(self, key: str, timestamp_ms: int, context: Context) -> Iterable[Alert]:
        yield Alert(key, 0.0, "silent")


def payments(app: App) -> Any:
    return app.stream("payments", key=str, value=Payment)


def customers(app: App) -> Any:
    return app.table("customers", key=str, value=Customer)


TOPOLOGIES: dict[str, Callable[[App], Any]] = {}


def topology(function: Callable[[App], Any]) -> Callable[[App], Any]:
    TOPOLOGIES[function.__name__] = function
    return function


@topology
def sources(app: App) -> None:
    app.stream("bytes", key=None, value=bytes).to("out")
    app.stream("orders", key=int, value=Order, timestamp=lambda o: o.at, offset_reset="latest", name="orders").to(
        "orders-out"
    )
    app.stream("lines", value="STRUCT<a STRING, b INTEGER>", value_format="delimited", delimiter="|").to("csv-out")
    app.table("customers", key=str, value=Customer, store="customers").to("customers-out")


@topology
def filters(app: App) -> None:
    large = payments(app).filter(lambda p: (p.amount > 100) & (p.country != "DE"))
    large.filter_not(lambda key, p: key.startswith("test-") | (p.country == None)).to("large")  # noqa: E711


@topology
def map_values(app: App) -> None:
    payments(app).map_values(
        lambda p: Alert(
            card=p.card.upper(),
            amount=p.amount * 1.19,
            level=when(p.amount > 1000).then("high").when(p.amount > 100).then("middle").otherwise("low"),
        )
    ).to("alerts")


@topology
def map_values_to_single(app: App) -> None:
    payments(app).map_values(lambda key, p: key + ":" + p.card[0:4]).to("texts")


@topology
def map_key_and_value(app: App) -> None:
    payments(app).map(lambda key, p: KeyValue(p.country, p.amount)).to("by-country")
    payments(app).map(lambda key, p: (p.card, Alert(key, p.amount, "swapped"))).to("swapped")


@topology
def select_key(app: App) -> None:
    payments(app).select_key(lambda p: (p.country, p.card)).to("by-country-and-card")


@topology
def flat_map_values(app: App) -> None:
    orders = app.stream("orders", key=str, value=Order)
    orders.flat_map_values(lambda o: o.lines).to("lines")
    orders.flat_map_values(lambda o: o.lines.map(lambda line: line.amount)).to("amounts")
    payments(app).flat_map_values(lambda p: [p.card, p.country]).to("both")


@topology
def flat_map(app: App) -> None:
    payments(app).flat_map(lambda key, p: [KeyValue(p.card, p.amount), KeyValue(key, p.amount)]).to("twice")
    app.stream("texts", value=str).flat_map(words_of).to("words")


def words_of(key: str, text: str) -> list[tuple[str, int]]:
    return [(word, len(word)) for word in text.split()]


@topology
def branch(app: App) -> None:
    large, rest = payments(app).branch(lambda p: p.amount > 100, lambda p: True)
    large.to("large")
    rest.to("rest")


@topology
def split(app: App) -> None:
    parts = payments(app).split(large=lambda p: p.amount > 100, foreign=lambda p: p.country != "DE", rest=None)
    parts.large.to("large")
    parts["foreign"].to("foreign")
    parts.rest.to("rest")


@topology
def merge(app: App) -> None:
    payments(app).merge(app.stream("more-payments", key=str, value=Payment)).to("all")


@topology
def repartition_and_through(app: App) -> None:
    payments(app).repartition(4).through("middle").to("out")


@topology
def to_topic_by_record(app: App) -> None:
    payments(app).to(lambda p: "payments-" + p.country.lower())


@topology
def python_functions(app: App) -> None:
    payments(app).filter(lambda p: risk(p) > 0.5).map_values(classify).to("alerts")


@topology
def process(app: App) -> None:
    payments(app).process(Silence).to("silent")


@topology
def deduplicate(app: App) -> None:
    payments(app).deduplicate(minutes(10), by=lambda p: (p.card, p.amount)).to("once")


@topology
def count(app: App) -> None:
    payments(app).group_by_key().count(store="counts").to("counts")


@topology
def group_by_and_reduce(app: App) -> None:
    payments(app).group_by(lambda p: p.country).reduce(
        lambda a, b: Payment(fn.greatest(a.card, b.card), a.amount + b.amount, a.country)
    ).to("sums")


@topology
def aggregate(app: App) -> None:
    payments(app).group_by_key().aggregate(
        Stats, lambda s, p: Stats(s.count + 1, s.total + p.amount, fn.array_append(s.cards, p.card)), store="stats"
    ).to("stats")


@topology
def aggregate_in_kafkas_order(app: App) -> None:
    payments(app).group_by_key().aggregate(lambda: "", lambda key, p, text: text + key + p.card).to("texts")


@topology
def summarize(app: App) -> None:
    grouped = payments(app).group_by(lambda p: p.country)
    grouped.summarize(lambda p: {"n": agg.count(), "total": agg.sum(p.amount)}).to("direct")
    grouped.summarize(lambda p: {"spread": agg.max(p.amount) - agg.min(p.amount)}, store="spread").to("computed")


@topology
def window_tumbling(app: App) -> None:
    payments(app).group_by_key().windowed_by(tumbling(seconds=10, grace=0)).count(store="counts").to("counts")


@topology
def window_hopping(app: App) -> None:
    grouped = payments(app).group_by_key().windowed_by(hopping(minutes=5, every=minutes(1)))
    grouped.summarize(lambda p: {"total": agg.sum(p.amount)}).to("totals")


@topology
def window_sliding(app: App) -> None:
    payments(app).group_by_key().windowed_by(sliding(seconds=5, grace=seconds(1))).count().to("counts")


@topology
def window_session(app: App) -> None:
    grouped = payments(app).group_by_key().windowed_by(session(minutes=30))
    grouped.aggregate(0.0, lambda total, p: total + p.amount, lambda a, b: a + b).to("totals")


@topology
def window_count(app: App) -> None:
    payments(app).group_by_key().windowed_by(count_window(10, every=5)).count().to("counts")


@topology
def window_punctuation(app: App) -> None:
    payments(app).group_by_key().windowed_by(until(lambda p: p.card == "END", inclusive=False)).count().to("counts")


@topology
def window_final(app: App) -> None:
    windows = payments(app).group_by_key().windowed_by(tumbling(seconds=10, grace=seconds(5)))
    windows.emit_strategy("on_window_close").count().to("final")
    windows.count().suppress().to_stream(lambda key, n: key.key).to("suppressed")


@topology
def window_reduce_with_inverse(app: App) -> None:
    amounts = payments(app).map_values(lambda p: p.amount)
    amounts.group_by_key().windowed_by(hopping(minutes=1, every=seconds(1), incremental=True)).reduce(
        lambda a, b: a + b, lambda a, b: a - b
    ).to("sums")


@topology
def windowed_key(app: App) -> None:
    counts = payments(app).group_by_key().windowed_by(tumbling(seconds=10)).count()
    counts.to_stream().map(lambda key, n: (key.key, {"from": key.start, "to": key.end, "n": n})).to("flat")


@topology
def cogroup(app: App) -> None:
    clicks = app.stream("clicks", key=str, value=int).group_by_key()
    spent = payments(app).group_by(lambda p: p.card)
    clicks.cogroup(lambda s, n: {"clicks": s.clicks + n, "spent": s.spent}).cogroup(
        spent, lambda s, p: {"clicks": s.clicks, "spent": s.spent + p.amount}
    ).aggregate({"clicks": 0, "spent": 0.0}, store="both").to("both")


@topology
def table_operations(app: App) -> None:
    adults = customers(app).filter(lambda c: c.age >= 18, store="adults")
    adults.map_values(lambda c: c.region).to_stream().to("regions")


@topology
def to_table(app: App) -> None:
    payments(app).to_table(store="latest").filter_not(lambda p: p.amount == 0.0).to("latest")


@topology
def table_group_by(app: App) -> None:
    customers(app).group_by(lambda key, c: c.region).count(store="per-region").to("per-region")


@topology
def table_aggregate(app: App) -> None:
    customers(app).group_by(lambda c: c.region).aggregate(
        0, lambda total, c: total + c.age, lambda total, c: total - c.age
    ).to("ages")


@topology
def table_group_by_pair(app: App) -> None:
    customers(app).group_by(lambda key, c: KeyValue(c.region, length(key))).reduce(
        lambda a, b: a + b, lambda a, b: a - b
    ).to("lengths")


@topology
def suppress_by_time(app: App) -> None:
    customers(app).suppress(seconds(5), max_records=1000).to("calm")


@topology
def join_stream_stream(app: App) -> None:
    clicks = app.stream("clicks", key=str, value=str)
    payments(app).join(clicks, lambda p, c: p.card + c, within(minutes=5, grace=minutes(1))).to("inner")
    payments(app).left_join(clicks, lambda p, c: c.or_else("none"), within(before=seconds(1), after=0, grace=0)).to(
        "left"
    )
    payments(app).outer_join(clicks, lambda key, p, c: {"key": key, "p": p, "c": c}, within(seconds=1, grace=0)).to(
        "outer"
    )


@topology
def join_stream_table(app: App) -> None:
    payments(app).join(customers(app), lambda p, c: {"amount": p.amount, "name": c.name}).to("inner")


@topology
def join_stream_table_left(app: App) -> None:
    payments(app).left_join(customers(app)).to("both")


@topology
def join_with_python(app: App) -> None:
    payments(app).join(customers(app), joined_by_python).to("out")


def joined_by_python(payment: Payment, customer: Customer) -> Alert:
    return Alert(payment.card, payment.amount, "adult" if customer.age >= 18 else "minor")


@topology
def join_global_table(app: App) -> None:
    countries = app.global_table("countries", key=str, value=str)
    payments(app).join(countries, lambda p, name: {"amount": p.amount, "country": name}, on=lambda p: p.country).to(
        "out"
    )


@topology
def join_table_table(app: App) -> None:
    limits = app.table("limits", key=str, value=float)
    customers(app).join(limits, lambda c, limit: {"name": c.name, "limit": limit}, store="limits").to("inner")
    customers(app).outer_join(limits, lambda key, c, limit: {"key": key, "limit": limit}).to("outer")


@topology
def join_foreign_key(app: App) -> None:
    orders = app.table("orders", key=str, value=Order)
    orders.join(customers(app), lambda o, c: {"total": o.total, "name": c.name}, on=lambda o: o.customer).to("enriched")
    orders.left_join(customers(app), lambda o, c: c.name.or_else("?"), on=lambda o: o.customer).to("names")


@topology
def dstream(app: App) -> None:
    amounts = payments(app).map_values(lambda p: p.amount)
    amounts.window(minutes(1), seconds(10)).count().to("counts")
    amounts.count_by_window(minutes(1)).to("tumbling-counts")
    amounts.count_by_value_and_window(minutes(1), seconds(10)).to("value-counts")
    amounts.reduce_by_window(lambda a, b: a + b, None, minutes(1), seconds(10)).to("panes")
    amounts.reduce_by_key_and_window(lambda a, b: a + b, lambda a, b: a - b, minutes(10), seconds(1)).to("sums")
    amounts.update_state_by_key(lambda amount, total: total + amount, 0.0).to("totals")
    amounts.transform(lambda stream: stream.filter(lambda amount: amount > 0)).to("positive")


@topology
def metadata(app: App) -> None:
    payments(app).map_values(
        lambda p: {"at": fn.rowtime(), "partition": fn.rowpartition(), "offset": fn.rowoffset(), "topic": fn.topic()}
    ).to("where")


@topology
def python_semantics(app: App) -> None:
    numbers = app.stream(
        "numbers", key=str, value="STRUCT<a BIGINT, b BIGINT, t STRING, l ARRAY<BIGINT>, m MAP<STRING, BIGINT>>"
    )
    numbers.map_values(
        lambda n: {
            "divided": n.a / n.b,
            "floored": n.a // n.b,
            "rest": n.a % n.b,
            "same": n.a == n.b,
            "words": n.t.split(),
            "stripped": n.t.strip(),
            "last": n.l[-1],
            "of_key": n.m.get("k", 0),
            "one_of": n.a.is_in([1, 2]),
            "negative": -n.a,
            "absolute": abs(n.a),
            "evens": n.l.filter(lambda x: x % 2 == 0),
            "length": length(n.t),
        }
    ).to("out")


def plan_json(name: str) -> str:
    app = App(name.replace("_", "-"))
    TOPOLOGIES[name](app)
    return to_json(app.plan(), indent=1) + "\n"
