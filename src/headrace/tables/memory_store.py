"""A store in memory: a dict, and once somebody asks for a range, the keys in order.

A look-up takes a few microseconds and nothing survives the process. It needs what the rows need: measured, 230 bytes for a row with
a key of 12 and a value of 100; see docs/explanation/tables.md. One lock makes each answer one state; a write holds it
for a batch, a scan for as long as it copies references.
"""

from __future__ import annotations

import threading
from itertools import islice
from types import MappingProxyType

from headrace.tables.answers import Position
from headrace.tables.places import Bounds, Places
from headrace.tables.sorted_keys import SortedKeys
from headrace.tables.store import Changes, Origin, Pair

# Beyond this share of changed keys, sorting all of them at once is cheaper than finding a place for each.
REBUILD_SHARE = 8


class MemoryStore:
    """See the module and `store.Store`."""

    batch_records = load_records = 2_000

    def __init__(self, places: Places) -> None:
        self._places = places
        self._lock = threading.Lock()
        self._rows: dict[bytes, bytes] = {}
        self._position: Position = MappingProxyType({})
        self._epochs: dict[int, int] = {}
        self._origin: Origin | None = None
        self._sorted: SortedKeys | None = None
        self._unsorted: set[bytes] = set()

    def origin(self) -> Origin | None:
        return self._origin

    def epochs(self) -> dict[int, int]:
        return dict(self._epochs)

    def position(self) -> Position:
        return self._position

    def reset(self, origin: Origin) -> None:
        with self._lock:
            self._rows = {}
            self._position = MappingProxyType({})
            self._epochs = {}
            self._sorted = None
            self._unsorted = set()
            self._origin = origin

    def mark(self, origin: Origin) -> None:
        self._origin = origin

    def apply(self, changes: Changes) -> Position:
        position = MappingProxyType({**self._position, **changes.offsets})
        rows = self._rows
        with self._lock:
            if self._sorted is not None:
                self._unsorted.update(key for key in changes.upserts if key not in rows)
                self._unsorted.update(key for key in changes.deletes if key in rows)
            rows.update(changes.upserts)
            for key in changes.deletes:
                rows.pop(key, None)
            self._epochs.update(changes.epochs)
            self._position = position
        return position

    def get(self, key: bytes) -> tuple[bytes | None, Position]:
        with self._lock:
            return self._rows.get(key), self._position

    def get_many(self, keys: list[bytes]) -> tuple[list[bytes | None], Position]:
        with self._lock:
            return [self._rows.get(key) for key in keys], self._position

    def scan(self, bounds: Bounds, limit: int | None) -> tuple[list[Pair], Position]:
        with self._lock:
            rows = self._rows
            keys = islice(self._in_order().within(bounds), limit)
            return [(key, rows[key]) for key in keys], self._position

    def count(self) -> tuple[int, Position]:
        with self._lock:
            return len(self._rows), self._position

    def close(self) -> None:
        """Frees the rows; there is nothing else to give back."""
        with self._lock:
            self._rows = {}
            self._sorted = None

    def _in_order(self) -> SortedKeys:
        """The keys in order, brought up to date with what was written since the last scan. Called with the lock held."""
        changed, self._unsorted = self._unsorted, set()
        if self._sorted is None or len(changed) * REBUILD_SHARE > len(self._rows):
            self._sorted = SortedKeys(None if self._places.are_keys else self._places.place, self._rows)
            return self._sorted
        for key in changed:
            if key in self._rows:
                self._sorted.add(key)
            else:
                self._sorted.discard(key)
        return self._sorted
