"""The apps that work off a backlog, and what must come out: all of it, in order for each key."""

from __future__ import annotations

import json
import struct
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from headrace.streams import App, minutes, tumbling
from headrace.streams.fn import rowoffset
from headrace.streams.windows import Window

if TYPE_CHECKING:
    from confluent_kafka import Message

WINDOW_MS, HOUR_MS = 10_000, 3_600_000


@dataclass
class Event:
    n: int
    filling: str


@dataclass
class Place:
    at: int


@dataclass
class Price:
    version: int


@dataclass
class Priced:
    at: int
    version: int


@dataclass
class Verdict:
    """`out_of_order`: records that came after one of their key that they were before. `overtaken`: updates of a window that came after one of a later
    window of the same key, which is another key in the topic and so may be."""

    seen: int = 0
    out_of_order: int = 0
    overtaken: int = 0
    wrong: int = 0
    examples: list[str] = field(default_factory=list)

    def note(self, text: str) -> None:
        if len(self.examples) < 5:
            self.examples.append(text)


class BacklogApp(ABC):
    with_table: ClassVar[bool] = False
    behind_ms: ClassVar[int] = 0
    """How much older than the others' the records of the last partition are."""
    loses_late_ones: ClassVar[bool] = False

    @abstractmethod
    def app(self, name: str, events: str, prices: str, out: str) -> App: ...

    @abstractmethod
    def judge(self, output: Iterable[Message]) -> Verdict: ...


class Map(BacklogApp):
    """Each record comes out with its offset as value; per key and so per partition offsets only grow."""

    def app(self, name: str, events: str, prices: str, out: str) -> App:
        app = App(name)
        stream = app.stream(events, key=str, value=Event)
        stream.filter(lambda event: event.n > 0).map_values(lambda event: rowoffset()).to(out)
        return app

    def judge(self, output: Iterable[Message]) -> Verdict:
        last: dict[bytes, int] = {}
        verdict = Verdict()
        for message in output:
            verdict.seen += 1
            _follow(verdict, last, message.key(), struct.unpack(">q", message.value())[0])
        return verdict


class StreamTable(BacklogApp):
    """Each record comes out with its offset and the version of its key's price, which is the key's number."""

    with_table = True

    def app(self, name: str, events: str, prices: str, out: str) -> App:
        app = App(name)
        stream = app.stream(events, key=str, value=Event).map_values(lambda event: Place(at=rowoffset()))
        table = app.table(prices, key=str, value=Price)
        stream.left_join(table, lambda place, price: Priced(at=place.at, version=price.version.or_else(-1))).to(out)
        return app

    def judge(self, output: Iterable[Message]) -> Verdict:
        last: dict[bytes, int] = {}
        verdict = Verdict()
        for message in output:
            verdict.seen += 1
            key, priced = message.key(), json.loads(message.value())
            _follow(verdict, last, key, priced["at"])
            if key != b"key-%d" % priced["version"]:
                verdict.wrong += 1
                verdict.note(f"{key!r} has version {priced['version']}")
        return verdict


class WindowedCount(BacklogApp):
    """Each record raises its window's count by one, and every update comes out in its order: 1, 2, 3 …"""

    windows: ClassVar[Window] = tumbling(WINDOW_MS)

    def app(self, name: str, events: str, prices: str, out: str) -> App:
        app = App(name)
        stream = app.stream(events, key=str, value=Event)
        stream.group_by_key().windowed_by(self.windows).count().to(out)
        return app

    def judge(self, output: Iterable[Message]) -> Verdict:
        counts: dict[bytes, int] = {}
        newest: dict[bytes, bytes] = {}
        verdict = Verdict()
        for message in output:
            verdict.seen += 1
            key, count = message.key(), struct.unpack(">q", message.value())[0]
            if count != counts.get(key, 0) + 1:
                verdict.wrong += 1
                verdict.note(f"{key!r} goes from {counts.get(key, 0)} to {count}")
            counts[key] = count
            if newest.get(key[:-8], b"") > key[-8:]:
                verdict.overtaken += 1
            newest[key[:-8]] = key[-8:]
        return verdict


class HourApart(WindowedCount):
    """One partition is an hour behind the others. With the default grace that is nobody's loss."""

    behind_ms = HOUR_MS


class HourApartShortGrace(HourApart):
    """With a grace of a minute it is a loss, counted and told. What is counted is in order all the same."""

    windows = tumbling(WINDOW_MS, grace=minutes(1))
    loses_late_ones = True


APPS: dict[str, BacklogApp] = {
    "map": Map(),
    "window": WindowedCount(),
    "stream_table": StreamTable(),
    "hour_apart": HourApart(),
    "hour_apart_short_grace": HourApartShortGrace(),
}


def _follow(verdict: Verdict, last: dict[bytes, int], key: bytes, offset: int) -> None:
    if offset <= last.get(key, -1):
        verdict.out_of_order += 1
        verdict.note(f"{key!r}: {offset} after {last[key]}")
    last[key] = offset
