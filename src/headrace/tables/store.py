"""What a table asks of the place it keeps its rows in. Two exist: `memory_store.py` and `sqlite_store.py`.

A store keeps packed values under the topic's keys, sorted by their places (`places.py`), together with the position of the
changelog that they stand for and the topic they came from. One thread writes; any thread reads; every answer is of one state
and carries that state's position. A packed value is the record's timestamp, 8 bytes big-endian, then the record's value.

A store that was made with a retention (`retention.py`) also keeps the stream time, and answers without the rows that are expired in
that state, whether or not they have left it yet.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Protocol

from headrace.tables.answers import Position
from headrace.tables.places import Bounds

TIMESTAMP = struct.Struct(">q")
Pair = tuple[bytes, bytes]  # a key and its packed value


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a store's rows came from. A store with another origin than the table needs is emptied and filled anew.

    `complete`: it has once held all that the topic held when reading began. `current_at_ms`: when it last held all that the
    topic held; tombstones older than that are in it, so they may be gone from the topic.
    """

    topic_id: str
    isolation_level: str
    places: str
    complete: bool
    current_at_ms: int


@dataclass(slots=True)
class Changes:
    """Part of the changelog in its order: what is left of it per key, and where it ends."""

    upserts: dict[bytes, bytes] = field(default_factory=dict)
    deletes: set[bytes] = field(default_factory=set)
    offsets: dict[int, int] = field(default_factory=dict)
    epochs: dict[int, int] = field(default_factory=dict)
    records: int = 0


class Store(Protocol):
    """See the module. A write is best made of `batch_records` records, and of `load_records` while nobody looks yet."""

    batch_records: int
    load_records: int

    def origin(self) -> Origin | None:
        """Where the rows came from; None for a store that never had any."""

    def epochs(self) -> dict[int, int]:
        """The leader epoch of the last applied record, for each partition that had one."""

    def position(self) -> Position:
        """The offsets up to which the changelog is applied."""

    def reset(self, origin: Origin) -> None:
        """Forget all rows, the position and the stream time."""

    def mark(self, origin: Origin) -> None:
        """Keep the rows, write down another origin."""

    def apply(self, changes: Changes) -> Position:
        """Apply all of `changes` or none of it, stream time included, and return the new position."""

    def get(self, key: bytes) -> tuple[bytes | None, Position]:
        """The packed value of a key."""

    def get_many(self, keys: list[bytes]) -> tuple[list[bytes | None], Position]:
        """The packed values of several keys, in their order."""

    def scan(self, bounds: Bounds, limit: int | None) -> tuple[list[Pair], Position]:
        """The rows within bounds in the order of their places, at most `limit`."""

    def count(self) -> tuple[int, Position]:
        """How many rows there are."""

    def close(self) -> None:
        """Give back every file; nothing may be called afterwards. Twice does no harm."""
