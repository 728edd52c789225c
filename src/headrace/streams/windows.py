"""Windows, as people write them: `tumbling(seconds=10)`, `hopping(minutes=5, every=seconds(30))`, `session(minutes=30)`.

Durations are keywords (`days`, `hours`, `minutes`, `seconds`, `ms`) or a `timedelta`; wherever a second one is needed, a `timedelta` or milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from headrace.plan import windows as plan_windows
from headrace.streams.errors import StreamsError

Duration = timedelta | int
"""A `timedelta`, or milliseconds."""

Window = plan_windows.Window


def days(count: float) -> timedelta:
    return timedelta(days=count)


def hours(count: float) -> timedelta:
    return timedelta(hours=count)


def minutes(count: float) -> timedelta:
    return timedelta(minutes=count)


def seconds(count: float) -> timedelta:
    return timedelta(seconds=count)


def milliseconds(duration: Duration, what: str, *, zero: bool = False) -> int:
    """A duration in milliseconds; whole, and not negative."""
    if isinstance(duration, timedelta):
        found, rest = divmod(duration, timedelta(milliseconds=1))
        if rest:
            raise StreamsError(f"{what} is {duration}; times are whole milliseconds")
    elif type(duration) is int:
        found = duration
    else:
        raise StreamsError(f"{what} is a timedelta or whole milliseconds, not {duration!r}")
    if found < 0 or (found == 0 and not zero):
        raise StreamsError(f"{what} is {duration!r}; it must be {'0 or more' if zero else 'more than 0'}")
    return found


def _length(size: Duration | None, parts: dict[str, float], what: str) -> int:
    ms = parts.pop("ms", 0)
    unknown = set(parts) - {"days", "hours", "minutes", "seconds"}
    if unknown:
        raise StreamsError(f"{what} has no {', '.join(sorted(unknown))}; it has days, hours, minutes, seconds, ms")
    total = timedelta(**parts) + timedelta(milliseconds=ms)
    if size is not None and total:
        raise StreamsError(f"{what} is given twice: as {size!r} and as keywords")
    return milliseconds(size if size is not None else total, what)


def _times(grace: Duration | None, retention: Duration | None) -> dict[str, int]:
    """What was given; the plan has Kafka's defaults for the rest: a grace of a day, and a retention of what can still change."""
    found = {} if grace is None else {"grace_ms": milliseconds(grace, "grace", zero=True)}
    return found if retention is None else {**found, "retention_ms": milliseconds(retention, "retention")}


def tumbling(
    size: Duration | None = None, *, grace: Duration | None = None, retention: Duration | None = None, **parts: float
) -> plan_windows.Tumbling:
    """Windows of one size, one after the other: each record is in exactly one. Kafka's `TimeWindows.ofSizeAndGrace`.

    `grace`: how long after its end a window still takes late records; a day if nothing is said. `retention`: how long a stored table (`store=`)
    has a window after a newer one began; size and grace if nothing is said, and never less. Kafka's `Materialized.withRetention`.
    """
    return plan_windows.Tumbling(_length(size, parts, "the size"), **_times(grace, retention))


def hopping(
    size: Duration | None = None,
    *,
    every: Duration,
    grace: Duration | None = None,
    retention: Duration | None = None,
    incremental: bool = False,
    **parts: float,
) -> plan_windows.Hopping:
    """Windows of one size that begin `every` so often and overlap. Kafka's `TimeWindows.….advanceBy`.

    `incremental`: results leave once per advance instead of at every record, and the cost of a record does not grow with size ÷ advance.
    """
    length, advance = _length(size, parts, "the size"), milliseconds(every, "every")
    if advance > length:
        raise StreamsError(
            f"windows of {length} ms that begin every {advance} ms would miss records; `every` is at most the size"
        )
    return plan_windows.Hopping(length, advance, incremental=incremental, **_times(grace, retention))


def sliding(
    difference: Duration | None = None,
    *,
    grace: Duration | None = None,
    retention: Duration | None = None,
    **parts: float,
) -> plan_windows.Sliding:
    """A window for each set of records that lie within `difference` of one another. Kafka's `SlidingWindows.ofTimeDifferenceAndGrace`."""
    return plan_windows.Sliding(_length(difference, parts, "the difference"), **_times(grace, retention))


def session(
    gap: Duration | None = None, *, grace: Duration | None = None, retention: Duration | None = None, **parts: float
) -> plan_windows.Session:
    """Records no more than `gap` apart: a window ends when nothing came for that long. Kafka's `SessionWindows.ofInactivityGapAndGrace`."""
    return plan_windows.Session(_length(gap, parts, "the gap"), **_times(grace, retention))


def count_window(size: int, *, every: int | None = None) -> plan_windows.Count:
    """Every `size` records of a key; a new window each `every` records (`size` if nothing is said)."""
    advance = size if every is None else every
    if not (type(size) is int and type(advance) is int and 1 <= advance <= size):
        raise StreamsError(
            f"a window of {size} records, a new one every {advance}: both are whole, and 1 ≤ every ≤ size"
        )
    return plan_windows.Count(size, advance)


@dataclass(frozen=True)
class PunctuationWindow:
    """`until(…)` before its function is traced, which needs the stream it is for."""

    end: Callable[..., Any]
    inclusive: bool
    max_records: int


def until(end: Callable[..., Any], *, inclusive: bool = True, max_records: int = 1_000_000) -> PunctuationWindow:
    """Records of a key up to one that says "end": the first for which `end` is true. `inclusive`: that one belongs to the window."""
    if type(max_records) is not int or max_records < 1:
        raise StreamsError(f"max_records is {max_records!r}; it must be a whole number of 1 or more")
    return PunctuationWindow(end, inclusive, max_records)


@dataclass(frozen=True)
class JoinWindow:
    """How far apart two records may lie that are joined: right in [left - before, left + after]. Made by `within`.

    `grace_ms` None: nobody said how late records may be.
    """

    before_ms: int
    after_ms: int
    grace_ms: int | None


def within(
    difference: Duration | None = None,
    *,
    before: Duration | None = None,
    after: Duration | None = None,
    grace: Duration | None = None,
    **parts: float,
) -> JoinWindow:
    """Two records are joined when their times are at most that far apart. Kafka's `JoinWindows.ofTimeDifferenceAndGrace`.

    `before`, `after`: how much earlier and later the right record may be, where the two differ (Kafka's `before()` and `after()`).
    `grace`: how long after that late records are still joined; a day if nothing is said. A `left_join` and an `outer_join` must be told: their
    records without a partner come out when it has passed.
    """
    late = None if grace is None else milliseconds(grace, "grace", zero=True)
    if before is None and after is None:
        both = _length(difference, parts, "the difference")
        return JoinWindow(both, both, late)
    rest = _length(difference, dict(parts), "the difference") if difference is not None or parts else 0
    return JoinWindow(
        rest if before is None else milliseconds(before, "before", zero=True),
        rest if after is None else milliseconds(after, "after", zero=True),
        late,
    )
