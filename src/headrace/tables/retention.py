"""How long the rows of windows stay in a table, in the time of its windows. The rule is that of Kafka Streams' window and session stores.

Stream time is the newest time in any key that the changelog has shown, tombstones included: a window's start, a session's end. A row is expired
when the time in its key lies the retention or more before stream time. So a table that nobody writes to loses nothing, however long, and two
tables that read the same records agree whatever the batches. There is one stream time for the whole table, as a pipeline has one watermark.

The eight bytes of a time compare as the times do, so a store compares them with one limit, in Python or in SQL. What cannot be a time, in
a stranger's key, moves nothing and is kept, and so is a key that is too short: look-ups name those in `undecoded`.

An expired row is in no answer. It leaves the store later, in a sweep that looks at a few rows with every write, so that no write pays for a
whole window. Pure: stores keep the stream time and how far the sweep is, this says what they mean.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass

from headrace.tables.windows import Windows

TIME_BYTES = 8
# The largest time that a plan may name; eight letters of a stranger's key are far beyond it.
MAX_TIME_MS = 1 << 53
# A sweep begins when stream time has moved on by this part of the retention: expired rows stay for about that much longer.
SWEEPS_PER_RETENTION = 8
# How far it goes with each write. Four rows for each that may have come means that it ends, however many come meanwhile.
LOOKS_PER_CHANGE = 4
LEAST_LOOKS = 256
_TIME = struct.Struct(">Q")
_MAX_TIME = _TIME.pack(MAX_TIME_MS)


@dataclass(frozen=True, slots=True)
class Retention:
    """`suffix_bytes`: where the time stands in a key, from its end."""

    retention_ms: int
    suffix_bytes: int

    @property
    def name(self) -> str:
        """Stands for this retention in a store on disk, whose rows may be gone under it."""
        return f"/kept {self.retention_ms} ms"

    def stream_time_ms(self, so_far_ms: int, keys: Iterable[bytes]) -> int:
        """Stream time after these keys."""
        newest = b""
        for key in keys:
            start = len(key) - self.suffix_bytes
            if start >= 0:
                time = key[start : start + TIME_BYTES]
                if newest < time <= _MAX_TIME:
                    newest = time
        return max(so_far_ms, _TIME.unpack(newest)[0]) if newest else so_far_ms

    def limit(self, stream_time_ms: int) -> bytes:
        """The least time in the key of a row that is kept."""
        return _TIME.pack(max(0, stream_time_ms - self.retention_ms + 1))

    def keeps(self, key: bytes, limit: bytes) -> bool:
        start = len(key) - self.suffix_bytes
        return start < 0 or key[start : start + TIME_BYTES] >= limit

    def sweep_is_due(self, began_at_ms: int, stream_time_ms: int) -> bool:
        """Whether another sweep is worth it, the last one having begun at this stream time. Nothing expires within the first retention."""
        return stream_time_ms - max(began_at_ms, self.retention_ms - 1) >= max(
            1, self.retention_ms // SWEEPS_PER_RETENTION
        )


def looks(changes: int) -> int:
    """How many rows a sweep looks at with a write of so many changes."""
    return LEAST_LOOKS + LOOKS_PER_CHANGE * changes


def retention_of(windows: Windows | None, retention_ms: int | None) -> Retention | None:
    """What a caller asks for, checked."""
    if retention_ms is None:
        return None
    if windows is None:
        raise ValueError(
            "retention_ms is for windows, and the keys of this table have none: give windows, or leave it out"
        )
    if retention_ms < 1:
        raise ValueError(f"retention_ms is 1 or more, not {retention_ms}")
    return Retention(retention_ms, windows.suffix_bytes)
