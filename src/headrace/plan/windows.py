"""Windows: how the records of a key are divided before they are aggregated. All lengths are milliseconds or counts.

`retention_ms` is how long a stored table keeps windows of time, from the newest on; None is `least_retention_ms`, Kafka Streams' default.
"""

from __future__ import annotations

from dataclasses import dataclass

from headrace.plan.expressions import Expression

DAY_MS = 24 * 60 * 60 * 1000


@dataclass(frozen=True)
class Window:
    """Base of all windows."""


@dataclass(frozen=True)
class Tumbling(Window):
    """[n·size, (n+1)·size), aligned to the epoch."""

    size_ms: int
    grace_ms: int = DAY_MS
    retention_ms: int | None = None


@dataclass(frozen=True)
class Hopping(Window):
    """Windows of one size that begin every `advance_ms`; a record is in size ÷ advance of them.

    `incremental`: kept up to date record by record with an inverse, or with panes where there is none, so that the cost of a record
    does not grow with size ÷ advance; a result leaves at every advance.
    """

    size_ms: int
    advance_ms: int
    grace_ms: int = DAY_MS
    incremental: bool = False
    retention_ms: int | None = None


@dataclass(frozen=True)
class Sliding(Window):
    """Kafka Streams' sliding windows: a window for each set of records that lie within `difference_ms` of one another; both bounds inclusive."""

    difference_ms: int
    grace_ms: int = DAY_MS
    retention_ms: int | None = None


@dataclass(frozen=True)
class Session(Window):
    """Records no more than `gap_ms` apart. Sessions that meet are merged, and the old ones deleted."""

    gap_ms: int
    grace_ms: int = DAY_MS
    retention_ms: int | None = None


@dataclass(frozen=True)
class Count(Window):
    """Every `size` records of a key, a new window each `advance` records."""

    size: int
    advance: int


@dataclass(frozen=True)
class Punctuation(Window):
    """Records of a key up to one for which `end` holds; `inclusive`: that one too. `max_records` bounds a window that nobody ends."""

    end: Expression
    inclusive: bool = True
    max_records: int = 1_000_000


def least_retention_ms(window: Window) -> int | None:
    """How long a window may still change, counted as stores count: from the start of the newest window, or from the end of the newest session.

    None: it does not end by time, and no store can tell when it is old.
    """
    match window:
        case Tumbling(size, grace) | Hopping(size, _, grace):
            return size + grace
        case Sliding(difference, grace):
            return 2 * difference + grace  # a new record looks back two differences for windows that it is part of
        case Session(gap, grace):
            return gap + grace
    return None


def retention_ms(window: Window) -> int | None:
    """How long a stored table keeps these windows."""
    kept: int | None = getattr(window, "retention_ms", None)
    return least_retention_ms(window) if kept is None else kept
