"""A store in memory: a dict, and once somebody asks for a range, the keys in order.

A look-up takes a few microseconds and nothing survives the process. It needs what the rows need: measured, 230 bytes for a row with
a key of 12 and a value of 100; see docs/explanation/tables.md. One lock makes each answer one state; a write holds it
for a batch, a scan for as long as it copies references.
"""

from __future__ import annotations

import threading
from itertools import chain, islice
from types import MappingProxyType

from headrace.tables.answers import Position
from headrace.tables.places import Bounds, Places
from headrace.tables.retention import Retention, looks
from headrace.tables.sorted_keys import SortedKeys
from headrace.tables.store import Changes, Origin, Pair

# Beyond this share of changed keys, sorting all of them at once is cheaper than finding a place for each.
REBUILD_SHARE = 8


class MemoryStore:
    """See the module and `store.Store`."""

    batch_records = load_records = 2_000

    def __init__(self, places: Places, retention: Retention | None = None) -> None:
        self._places = places
        self._retention = retention
        self._lock = threading.Lock()
        self._rows: dict[bytes, bytes] = {}
        self._position: Position = MappingProxyType({})
        self._epochs: dict[int, int] = {}
        self._origin: Origin | None = None
        self._sorted: SortedKeys | None = None
        self._unsorted: set[bytes] = set()
        self._stream_time_ms = -1
        self._limit = b""
        self._sweep_began_ms = -1
        self._to_sweep: list[bytes] = []

    def origin(self) -> Origin | None:
        return self._origin

    def epochs(self) -> dict[int, int]:
        return dict(self._epochs)

    def position(self) -> Position:
        return self._position

    def reset(self, origin: Origin) -> None:
        with self._lock:
            self._rows = {}
            self._stream_time_ms = -1
            self._limit = b""
            self._sweep_began_ms = -1
            self._to_sweep = []
            self._position = MappingProxyType({})
            self._epochs = {}
            self._sorted = None
            self._unsorted = set()
            self._origin = origin

    def mark(self, origin: Origin) -> None:
        self._origin = origin

    def apply(self, changes: Changes) -> Position:
        position = MappingProxyType({**self._position, **changes.offsets})
        rows, upserts, retention = self._rows, changes.upserts, self._retention
        if retention is not None:
            upserts = self._move_on(retention, changes)
        with self._lock:
            if self._sorted is not None:
                self._unsorted.update(key for key in upserts if key not in rows)
                self._unsorted.update(key for key in changes.deletes if key in rows)
            rows.update(upserts)
            for key in changes.deletes:
                rows.pop(key, None)
            self._epochs.update(changes.epochs)
            self._position = position
            if retention is not None:
                self._limit = retention.limit(self._stream_time_ms)
                self._sweep(retention, looks(len(changes.upserts) + len(changes.deletes)))
        return position

    def _move_on(self, retention: Retention, changes: Changes) -> dict[bytes, bytes]:
        """Bring stream time up to date, list the rows if that begins a sweep, and return the upserts that are not expired.

        Only the writer changes rows, so none of this needs the lock.
        """
        now_ms = retention.stream_time_ms(self._stream_time_ms, chain(changes.upserts, changes.deletes))
        self._stream_time_ms = now_ms
        if not self._to_sweep and retention.sweep_is_due(self._sweep_began_ms, now_ms):
            self._sweep_began_ms = now_ms
            self._to_sweep = list(self._rows)
        limit = retention.limit(now_ms)
        return {key: value for key, value in changes.upserts.items() if retention.keeps(key, limit)}

    def _sweep(self, retention: Retention, count: int) -> None:
        """Drop what is expired of the next rows. Called with the lock held."""
        looked_at = self._to_sweep[-count:]
        del self._to_sweep[-count:]
        for key in looked_at:
            if retention.keeps(key, self._limit):
                continue
            if self._rows.pop(key, None) is not None and self._sorted is not None:
                self._unsorted.add(key)

    def get(self, key: bytes) -> tuple[bytes | None, Position]:
        with self._lock:
            value, position, limit = self._rows.get(key), self._position, self._limit
        return (value if self._keeps(key, limit) else None), position

    def get_many(self, keys: list[bytes]) -> tuple[list[bytes | None], Position]:
        with self._lock:
            found, position, limit = [self._rows.get(key) for key in keys], self._position, self._limit
        return [value if self._keeps(key, limit) else None for key, value in zip(keys, found)], position

    def scan(self, bounds: Bounds, limit: int | None) -> tuple[list[Pair], Position]:
        with self._lock:
            rows, keys = self._rows, self._in_order().within(bounds)
            if self._retention is not None:
                oldest = self._limit
                keys = (key for key in keys if self._keeps(key, oldest))
            return [(key, rows[key]) for key in islice(keys, limit)], self._position

    def count(self) -> tuple[int, Position]:
        """With a retention this looks at every key, but only the list of them is made while others wait."""
        with self._lock:
            position, limit = self._position, self._limit
            if self._retention is None:
                return len(self._rows), position
            keys = list(self._rows)
        return sum(self._keeps(key, limit) for key in keys), position

    def _keeps(self, key: bytes, limit: bytes) -> bool:
        return self._retention is None or self._retention.keeps(key, limit)

    def close(self) -> None:
        """Frees the rows; there is nothing else to give back."""
        with self._lock:
            self._rows = {}
            self._sorted = None
            self._to_sweep = []

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
