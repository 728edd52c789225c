"""The jobs as apps of Headrace's Streams API, as a user would write them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bench.pipelines.records import LEAST_AMOUNT, TAX
from headrace.streams import App, hopping, seconds, tumbling


@dataclass
class Event:
    id: int
    name: str
    amount: float
    kind: str
    note: str


@dataclass
class Priced:
    id: int
    name: str
    gross: float
    kind: str


@dataclass
class User:
    city: str
    tier: int


@dataclass
class Enriched:
    id: int
    amount: float
    city: str
    tier: int


@dataclass
class Counted:
    start: int
    n: int


def mapped(app: App, events: str, _users: str, output: str) -> None:
    stream = app.stream(events, key=str, value=Event)
    wanted = stream.filter(lambda event: event.amount >= LEAST_AMOUNT)
    wanted.map_values(lambda event: Priced(event.id, event.name, event.amount * TAX, event.kind)).to(output)


def counted(app: App, events: str, _users: str, output: str) -> None:
    counts = app.stream(events, key=str, value=bytes).group_by_key().windowed_by(tumbling(seconds=10)).count()
    counts.to_stream().map(lambda window, n: (window.key, Counted(window.start, n))).to(output)


def counted_json(app: App, events: str, _users: str, output: str) -> None:
    wanted = app.stream(events, key=str, value=Event).filter(lambda event: event.amount >= LEAST_AMOUNT)
    counts = wanted.group_by_key().windowed_by(tumbling(seconds=10)).count()
    counts.to_stream().map(lambda window, n: (window.key, Counted(window.start, n))).to(output)


def joined(app: App, events: str, users: str, output: str) -> None:
    table = app.table(users, key=str, value=User)
    stream = app.stream(events, key=str, value=Event)
    stream.join(table, lambda event, user: Enriched(event.id, event.amount, user.city, user.tier)).to(output)


def sliding(length_s: int) -> Callable[[App, str, str, str], None]:
    def build(app: App, events: str, _users: str, output: str) -> None:
        window = hopping(seconds=length_s, every=seconds(1), grace=0, incremental=True)
        counts = app.stream(events, key=str, value=bytes).group_by_key().windowed_by(window).count()
        counts.to_stream().map(lambda window, n: (window.key, Counted(window.start, n))).to(output)

    return build


JOBS: Mapping[str, Callable[[App, str, str, str], None]] = {
    "map": mapped,
    "count": counted,
    "count-json": counted_json,
    "join": joined,
    "sliding-60": sliding(60),
    "sliding-600": sliding(600),
}
