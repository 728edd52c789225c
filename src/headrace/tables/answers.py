"""What a look-up returns: rows, and the position of the table that they were read from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, NamedTuple, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")

# For each partition the offset up to which (exclusively) the table has applied its records.
Position = Mapping[int, int]


class Window(NamedTuple):
    """The window of a row. The end of a time window is known only to a table that was told the windows' size."""

    start_ms: int
    end_ms: int | None


class Row(NamedTuple, Generic[Key, Value]):
    """One row: the last record of its key. `timestamp_ms` is that record's, -1 when it had none."""

    key: Key
    value: Value
    timestamp_ms: int
    window: Window | None = None


class Lookup(NamedTuple, Generic[Key, Value]):
    """The answer to `get`: the row, or None when the key has none, in the state that `position` names."""

    row: Row[Key, Value] | None
    position: Position

    @property
    def found(self) -> bool:
        return self.row is not None

    @property
    def value(self) -> Value | None:
        return None if self.row is None else self.row.value


class Rows(NamedTuple, Generic[Key, Value]):
    """The answer to everything that may find several rows, in key order, all of one state.

    `more` says that the limit cut it short. `undecoded` holds the raw keys of rows that were found but that the table's decode
    functions refuse: one bad record does not spoil a scan, and does not go unseen either.
    """

    rows: list[Row[Key, Value]]
    position: Position
    more: bool = False
    undecoded: tuple[bytes, ...] = ()


class Count(NamedTuple):
    """The answer to `count`."""

    value: int
    position: Position
