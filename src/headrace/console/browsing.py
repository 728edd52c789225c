"""Finding records in a topic: from where, in which partitions, which of them. Bounded in records read, bytes kept and time. Blocking."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from headrace.admin.cluster import Cluster
from headrace.admin.errors import Problem
from headrace.admin.positions import Partition, Position, Range, ranges
from headrace.admin.reading import read_partitions
from headrace.console.records import Record, record

MOST_SHOWN = 1_000
MOST_SCANNED = 200_000
MOST_BYTES = 32 << 20
LONGEST_S = 6.0
Where = Literal["anywhere", "key", "value", "headers"]


@dataclass(frozen=True, slots=True)
class Filter:
    """Which records: those with the text in them, upper and lower case alike."""

    text: str = ""
    where: Where = "anywhere"

    def matches(self, found: Record) -> bool:
        if not self.text:
            return True
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
    """`partitions` None means all. `resume` goes on where an earlier answer ended."""

    topic: str
    begin: Position
    partitions: tuple[int, ...] | None = None
    filter: Filter = Filter()
    limit: int = 100
    resume: tuple[tuple[Partition, Range], ...] | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """Newest first. `rest` is what was not read; empty when everything was."""

    records: tuple[Record, ...]
    scanned: int
    rest: Mapping[Partition, Range]
    stopped: str = ""

    def next(self, query: Query) -> Query:
        return replace(query, resume=tuple(self.rest.items()))


def find(cluster: Cluster, query: Query) -> Found:
    """The records that match, up to the query's limit."""
    spans = dict(query.resume) if query.resume is not None else _spans(cluster, query)
    limit = min(query.limit, MOST_SHOWN)
    rest = dict(spans)
    kept: list[Record] = []
    scanned = kept_bytes = 0
    stopped = ""
    deadline = time.monotonic() + LONGEST_S
    messages = read_partitions(cluster, spans, follow=False)
    try:
        for message in messages:
            if message is not None:
                scanned += 1
                one = record(message)
                place = (one.topic, one.partition)
                rest[place] = Range(one.offset + 1, rest[place].end)
                if query.filter.matches(one):
                    kept.append(one)
                    kept_bytes += one.size
            stopped = _reason(len(kept), limit, scanned, kept_bytes, deadline)
            if stopped:
                break
    finally:
        messages.close()
    left = {place: span for place, span in rest.items() if span.start < span.end} if stopped else {}
    return Found(tuple(sorted(kept, key=_newest_first)), scanned, left, stopped if left else "")


def _newest_first(found: Record) -> tuple[int, int, int]:
    return -(found.timestamp_ms or 0), found.partition, -found.offset


def _reason(kept: int, limit: int, scanned: int, kept_bytes: int, deadline: float) -> str:
    if kept >= limit:
        return f"the first {limit}"
    if scanned >= MOST_SCANNED or kept_bytes >= MOST_BYTES or time.monotonic() > deadline:
        return "not all was searched"
    return ""


def _spans(cluster: Cluster, query: Query) -> dict[Partition, Range]:
    known = sorted(cluster.topic(query.topic).partitions)
    for index in query.partitions or ():
        if index not in known:
            raise Problem(f"'{query.topic}' has no partition {index}", f"It has 0 to {len(known) - 1}")
    chosen = known if query.partitions is None else query.partitions
    begin = query.begin
    if begin.kind == "last" and not query.filter.text:
        # The last N of the topic: no partition can hold more of them than an equal share, unless they are uneven.
        begin = Position("last", max(1, -(-begin.amount // max(1, len(chosen)))))
    spans = ranges(cluster, [(query.topic, index) for index in chosen], begin, None)
    return {place: span for place, span in spans.items() if span.start < span.end}
