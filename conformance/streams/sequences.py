"""The records that topologies are run with. Times are milliseconds; names say what is special about a sequence."""

from __future__ import annotations

from conformance.streams.case import Item, Record, Sequence

SECOND = 1_000


def one(name: str, *rows: tuple[str | None, str | None, int | None, int], stepwise: bool = False) -> Sequence:
    """A sequence for topic `in`: key, name, n (None for a null value), time."""
    return Sequence(name, tuple(_record("in", *row) for row in rows), stepwise)


def two(name: str, *rows: tuple[str, str | None, str | None, int | None, int], stepwise: bool = False) -> Sequence:
    """A sequence for topics `left` and `right`: the topic's first letter, then as in `one`."""
    topics = {"l": "left", "r": "right"}
    return Sequence(name, tuple(_record(topics[row[0]], *row[1:]) for row in rows), stepwise)


def _record(topic: str, key: str | None, name: str | None, n: int | None, timestamp: int) -> Record:
    return Record(topic, key, None if n is None else Item(name, n), timestamp)


IN_ORDER = one(
    "in-order",
    ("a", "x", 1, 1_000),
    ("b", "y", 2, 2_000),
    ("a", "x", 3, 3_000),
    ("a", "y", 4, 4_000),
    ("c", "z", -5, 12_000),
    ("b", "x", 6, 13_000),
    ("a", None, 7, 13_500),
    ("b", "y", 2, 21_000),
)
OUT_OF_ORDER = one(
    "out-of-order",
    ("a", "x", 1, 5_000),
    ("a", "y", 2, 1_000),
    ("b", "x", 3, 4_000),
    ("a", "z", 4, 11_000),
    ("a", "x", 5, 9_999),
    ("b", "y", 6, 10_000),
    ("b", "x", 7, 3_999),
    ("a", "y", 8, 10_001),
)
SAME_TIME = one(
    "same-time",
    ("a", "x", 1, 1_000),
    ("a", "y", 2, 1_000),
    ("b", "x", 3, 1_000),
    ("a", "x", 1, 1_000),
    ("b", "x", 3, 1_000),
)
NULLS = one(
    "nulls",
    ("a", "x", 1, 1_000),
    ("a", "x", None, 2_000),
    ("b", "y", None, 3_000),
    ("b", "y", 2, 4_000),
    ("a", "z", 3, 5_000),
    ("b", "y", None, 6_000),
    ("b", "y", None, 7_000),
    ("a", "x", 4, 8_000),
)
NULL_KEYS = one(
    "null-keys",
    (None, "x", 1, 1_000),
    ("a", "y", 2, 2_000),
    (None, "y", 3, 3_000),
    ("a", "x", 4, 4_000),
)
CHANGES = one(
    "changes",
    ("a", "x", 1, 1_000),
    ("b", "x", 2, 2_000),
    ("c", "y", 3, 3_000),
    ("a", "y", 4, 4_000),
    ("b", "x", 5, 5_000),
    ("c", "y", None, 6_000),
    ("a", "x", 6, 7_000),
    ("d", "z", 7, 8_000),
    ("d", "x", None, 9_000),
)
LATE = one(
    "late",
    ("a", "x", 1, 1_000),
    ("a", "x", 2, 9_000),
    ("a", "x", 3, 15_000),
    ("a", "x", 4, 2_000),
    ("b", "x", 5, 40_000),
    ("a", "x", 6, 3_000),
    ("a", "x", 7, 39_000),
    ("a", "x", 8, 90_000),
    ("b", "x", 9, 41_000),
    stepwise=True,
)
SESSIONS = one(
    "sessions",
    ("a", "x", 1, 0),
    ("a", "x", 2, 3_000),
    ("a", "x", 3, 20_000),
    ("b", "x", 4, 21_000),
    ("a", "x", 5, 11_500),
    ("a", "x", 6, 7_000),
    ("b", "x", 7, 60_000),
    ("a", "x", 8, 15_000),
    ("b", "x", 9, 21_000),
)

LEFT_FIRST = two(
    "left-first",
    ("l", "a", "x", 1, 1_000),
    ("l", "b", "y", 2, 2_000),
    ("r", "a", "A", 10, 3_000),
    ("r", "b", "B", 20, 4_000),
    ("l", "a", "z", 3, 5_000),
    ("r", "c", "C", 30, 6_000),
    ("l", "c", "w", 4, 7_000),
)
RIGHT_FIRST = two(
    "right-first",
    ("r", "a", "A", 10, 1_000),
    ("r", "b", "B", 20, 2_000),
    ("l", "a", "x", 1, 3_000),
    ("l", "c", "z", 3, 4_000),
    ("r", "a", "A2", 11, 5_000),
    ("l", "a", "y", 2, 6_000),
    ("l", "b", "v", 5, 7_000),
)
TABLE_FIRST = two(
    "table-first",
    ("r", "a", "A", 10, 1_000),
    ("r", "b", "B", 20, 2_000),
    ("r", "b", "B", None, 3_000),
    ("r", "a", "A2", 11, 4_000),
    ("l", "a", "x", 1, 5_000),
    ("l", "b", "y", 2, 6_000),
    ("l", "c", "z", 3, 7_000),
    ("l", "a", "w", 4, 8_000),
)
DELETIONS = two(
    "deletions",
    ("r", "a", "A", 10, 1_000),
    ("l", "a", "x", 1, 2_000),
    ("r", "a", "A", None, 3_000),
    ("l", "a", "y", 2, 4_000),
    ("r", "a", "A3", 12, 5_000),
    ("l", "a", "z", None, 6_000),
    ("l", "b", "u", None, 7_000),
    ("r", "b", "B", None, 8_000),
    ("l", "b", "w", 3, 9_000),
    ("r", "b", "B2", 21, 10_000),
    ("r", "b", "B2", None, 11_000),
)
CROSSED = two(
    "crossed",
    ("l", "a", "x", 1, 9_000),
    ("r", "a", "A", 10, 4_000),
    ("l", "a", "y", 2, 3_000),
    ("r", "a", "A2", 11, 12_000),
    ("l", "b", "v", 3, 11_000),
    ("r", "b", "B", 20, 1_000),
    ("l", "b", "w", 4, 10_500),
    stepwise=True,
)
APART = two(
    "apart",
    ("l", "a", "x", 1, 0),
    ("r", "a", "A", 10, 4_000),
    ("l", "a", "y", 2, 9_000),
    ("r", "a", "A2", 11, 14_000),
    ("r", "b", "B", 20, 20_000),
    ("l", "b", "v", 3, 26_000),
    ("l", "c", "w", 4, 60_000),
    ("r", "c", "C", 30, 60_000),
    ("r", "d", "D", 40, 120_000),
    ("l", "d", "u", 5, 180_000),
    stepwise=True,
)
# For foreign keys: the left's `name` is the right's key.
ORDERS = two(
    "orders",
    ("r", "p1", "pen", 5, 1_000),
    ("l", "o1", "p1", 1, 2_000),
    ("l", "o2", "p2", 2, 3_000),
    ("r", "p2", "ink", 7, 4_000),
    ("l", "o3", "p1", 3, 5_000),
    ("r", "p1", "pencil", 6, 6_000),
    stepwise=True,
)
MOVES = two(
    "moves",
    ("r", "p1", "pen", 5, 1_000),
    ("r", "p2", "ink", 7, 2_000),
    ("l", "o1", "p1", 1, 3_000),
    ("l", "o1", "p2", 1, 4_000),
    ("l", "o1", None, 1, 5_000),
    ("l", "o1", "p3", 1, 6_000),
    ("l", "o1", "p1", 2, 7_000),
    ("l", "o1", "p1", 2, 8_000),
    stepwise=True,
)
VANISHING = two(
    "vanishing",
    ("l", "o1", "p1", 1, 1_000),
    ("r", "p1", "pen", 5, 2_000),
    ("r", "p1", "pen", None, 3_000),
    ("l", "o2", "p1", 2, 4_000),
    ("l", "o1", "p1", None, 5_000),
    ("r", "p1", "pen2", 8, 6_000),
    ("l", "o2", "p1", None, 7_000),
    ("l", "o2", "p1", None, 8_000),
    stepwise=True,
)
