"""Finding records in a topic: from where, in which partitions, which of them. Bounded in records read, bytes kept and time. Blocking."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from headrace.admin.cluster import Cluster
from headrace.admin.errors import Problem
from headrace.admin.positions import Partition, Position, Range, ranges
from headrace.admin.reading import read_partitions
from headrace.console.expression import compiled
from headrace.console.records import Record, record
from headrace.console.registry import Lens

MOST_SHOWN = 1_000
MOST_SCANNED = 200_000
MOST_BYTES = 32 << 20
LONGEST_S = 6.0
LOOKED_BACK = 20_000
"""How many records a search among the newest takes at a time."""
Where = Literal["anywhere", "key", "value", "headers"]


@dataclass(frozen=True, slots=True)
class Filter:
    """Which records: those with the text in them, upper and lower case alike, for which the expression is true."""

    text: str = ""
    where: Where = "anywhere"
    expression: str = ""

    def test(self) -> Callable[[Record], bool] | None:
        """None when all are meant; `Problem` when the expression is none."""
        holds = compiled(self.expression) if self.expression.strip() else None
        if not self.text:
            return holds
        return lambda found: self._has_text(found) and (holds is None or holds(found))

    def _has_text(self, found: Record) -> bool:
        wanted = self.text.encode().lower()
        if self.where in ("anywhere", "key") and found.key and wanted in found.key.lower():
            return True
        if self.where in ("anywhere", "value") and found.value and wanted in found.value.lower():
            return True
        return self.where in ("anywhere", "headers") and any(
            wanted in name.encode().lower() + b"=" + (content or b"").lower() for name, content in found.headers
        )


@dataclass(frozen=True, slots=True)
class Query:
    """`partitions` None means all. `begin` of kind "last" searches backwards from the end, any other forwards. `rest` goes on where an earlier answer ended."""

    topic: str
    begin: Position
    partitions: tuple[int, ...] | None = None
    filter: Filter = Filter()
    limit: int = 100
    rest: Mapping[Partition, Range] | None = None

    @property
    def backwards(self) -> bool:
        return self.begin.kind == "last"


@dataclass(frozen=True, slots=True)
class Found:
    """Newest first. `rest` is what was not read; empty when everything was."""

    records: tuple[Record, ...]
    scanned: int
    rest: Mapping[Partition, Range]

    def next(self, query: Query) -> Query:
        return replace(query, rest=self.rest)


def find(cluster: Cluster, query: Query, lens: Lens | None = None) -> Found:
    """The records that match, up to the query's limit."""
    rest = dict(query.rest) if query.rest is not None else _spans(cluster, query)
    search = _Search(cluster, query.filter.test(), min(query.limit, MOST_SHOWN), lens or Lens())
    if query.backwards:
        share = query.limit if search.test is None else LOOKED_BACK
        while rest and not search.is_full():
            newest = _newest(rest, share)
            # A piece is read forwards and as a whole; one that was not comes again, with what was seen of it.
            unread = search.read(newest, whole=True)
            rest = {p: s if p in unread else Range(s.start, newest[p].start) for p, s in rest.items()}
            rest = {p: s for p, s in rest.items() if s.start < s.end}
            if unread:
                break
    elif rest:
        rest = search.read(rest, whole=False)
    return Found(tuple(sorted(search.kept, key=_newest_first)), search.scanned, rest)


@dataclass
class _Search:
    """What was found so far, and whether that is enough."""

    cluster: Cluster
    test: Callable[[Record], bool] | None
    limit: int
    lens: Lens
    kept: list[Record] = field(default_factory=list)
    scanned: int = 0
    kept_bytes: int = 0
    deadline: float = field(default_factory=lambda: time.monotonic() + LONGEST_S)

    def is_full(self) -> bool:
        return len(self.kept) >= self.limit or self.is_tired()

    def is_tired(self) -> bool:
        return self.scanned >= MOST_SCANNED or self.kept_bytes >= MOST_BYTES or time.monotonic() > self.deadline

    def read(self, spans: Mapping[Partition, Range], *, whole: bool) -> dict[Partition, Range]:
        """Returns what is left of the spans; of a whole piece nothing is, unless it took too long or its bytes are too many."""
        rest = dict(spans)
        messages = read_partitions(self.cluster, spans, follow=False)
        try:
            for message in messages:
                if message is not None:
                    self._take(message, rest)
                if self.is_tired() if whole else self.is_full():
                    return {place: span for place, span in rest.items() if span.start < span.end}
        finally:
            messages.close()
        return {}

    def _take(self, message: object, rest: dict[Partition, Range]) -> None:
        self.scanned += 1
        one = record(message)
        place = (one.topic, one.partition)
        rest[place] = Range(one.offset + 1, rest[place].end)
        one = self.lens.apply(one)
        if self.test is None or self.test(one):
            self.kept.append(one)
            self.kept_bytes += one.size
            if len(self.kept) > 2 * MOST_SHOWN:
                # Of a piece full of matches the newest stay.
                self.kept = sorted(self.kept, key=_newest_first)[:MOST_SHOWN]


def _newest(spans: Mapping[Partition, Range], amount: int) -> dict[Partition, Range]:
    """The last records of every partition, an equal share each."""
    share = max(1, -(-amount // len(spans)))
    return {place: Range(max(span.start, span.end - share), span.end) for place, span in spans.items()}


def _newest_first(found: Record) -> tuple[int, int, int]:
    return -(found.timestamp_ms or 0), found.partition, -found.offset


def _spans(cluster: Cluster, query: Query) -> dict[Partition, Range]:
    known = sorted(cluster.topic(query.topic).partitions)
    for index in query.partitions or ():
        if index not in known:
            raise Problem(f"'{query.topic}' has no partition {index}", f"It has 0 to {len(known) - 1}")
    chosen = known if query.partitions is None else query.partitions
    begin = Position("beginning") if query.backwards else query.begin
    spans = ranges(cluster, [(query.topic, index) for index in chosen], begin, None)
    return {place: span for place, span in spans.items() if span.start < span.end}
