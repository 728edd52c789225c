"""Look-ups in the tables of a running app: from a store in this process that follows the table's changelog, in microseconds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from headrace.plan.stores import StoreTopic
from headrace.streams.errors import StreamsError
from headrace.streams.schema import Shape
from headrace.streams.values import from_row, to_row

if TYPE_CHECKING:
    pass

OPEN_TIMEOUT_S = 30.0
_LAST_MS = (1 << 63) - 1


class TableRow(NamedTuple):
    """A row of a table. `window`: the bounds in milliseconds, of windowed tables."""

    key: Any
    value: Any
    timestamp_ms: int
    window: tuple[int, int | None] | None = None


class Lookups:
    """One table of the app, opened when it is first asked; `close` gives everything back."""

    def __init__(
        self, bootstrap_servers: str, client_settings: Mapping[str, str], topic: StoreTopic, key: Shape, value: Shape
    ) -> None:
        from headrace.stored_tables import open_store

        self._topic = topic
        self._key = key
        self._value = value
        self._table = open_store(bootstrap_servers, topic, client_settings)
        try:
            self._table.wait_until_current(OPEN_TIMEOUT_S)
        except BaseException:
            self._table.close()
            raise

    def get(self, key: Any) -> Any:
        if self._topic.key.window is not None:
            raise StreamsError(
                f"the table {self._topic.store!r} is windowed, so a key has several rows; use windows(key)"
            )
        return from_row(self._table.get(self._key_columns(key)).value, self._value)

    def windows(self, key: Any, from_ms: int = 0, to_ms: int = _LAST_MS) -> list[TableRow]:
        return [self._row(row) for row in self._table.fetch(self._key_columns(key), from_ms, to_ms).rows]

    def all(self) -> Iterator[TableRow]:
        return (self._row(row) for row in self._table.all().rows)

    def range(self, start: Any, end: Any) -> Iterator[TableRow]:
        low, high = (None if bound is None else self._key_columns(bound) for bound in (start, end))
        return (self._row(row) for row in self._table.range(low, high).rows)

    def wait_until_current(self, timeout_s: float) -> None:
        """Wait until everything is applied that the changelog holds now."""
        self._table.wait_until_current(timeout_s)

    def close(self) -> None:
        self._table.close()

    def _key_columns(self, key: Any) -> dict[str, Any]:
        return to_row(key, self._key) or {}

    def _row(self, row: Any) -> TableRow:
        key = from_row(row.key, self._key)
        window = None if row.window is None else (row.window.start_ms, row.window.end_ms)
        return TableRow(key, from_row(row.value, self._value), row.timestamp_ms, window)
