"""Kafka's windowed keys, as its windowed serdes write them to topics.

    time windows      key · start, 8 bytes
    session windows   key · end, 8 bytes · start, 8 bytes

Big-endian milliseconds. A key's own bytes may have any length, so they are told from the rest by counting from the end.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from headrace.tables.answers import Window

_MAX_MS = (1 << 63) - 1
_START = struct.Struct(">q")
_END_START = struct.Struct(">qq")


@dataclass(frozen=True, slots=True)
class TimeWindows:
    """Keys with a window start. `size_ms`, when given, tells the windows' end."""

    size_ms: int | None = None
    suffix_bytes = 8

    def window(self, suffix: bytes) -> Window:
        (start,) = _START.unpack(suffix)
        return Window(start, None if self.size_ms is None else start + self.size_ms)

    def span(self, from_ms: int, to_ms: int) -> tuple[bytes, bytes]:
        """The first and the last suffix of windows that start between the two, both included."""
        return _START.pack(_bounded(from_ms)), _START.pack(_bounded(to_ms))

    def within(self, window: Window, from_ms: int, to_ms: int) -> bool:
        return from_ms <= window.start_ms <= to_ms


@dataclass(frozen=True, slots=True)
class SessionWindows:
    """Keys with the time of a session's last and first record."""

    suffix_bytes = 16

    def window(self, suffix: bytes) -> Window:
        end, start = _END_START.unpack(suffix)
        return Window(start, end)

    def span(self, from_ms: int, to_ms: int) -> tuple[bytes, bytes]:
        """The first and the last suffix of sessions that may touch the time between the two: those that end late enough."""
        return _END_START.pack(_bounded(from_ms), 0), _END_START.pack(_MAX_MS, _MAX_MS)

    def within(self, window: Window, from_ms: int, to_ms: int) -> bool:
        return window.end_ms is not None and window.end_ms >= from_ms and window.start_ms <= to_ms


Windows = TimeWindows | SessionWindows


def time_windowed(key: bytes, start_ms: int) -> bytes:
    """The topic's key of `key` in the time window that starts at `start_ms`."""
    return key + _START.pack(start_ms)


def session_windowed(key: bytes, start_ms: int, end_ms: int) -> bytes:
    """The topic's key of `key` in the session from its first to its last record."""
    return key + _END_START.pack(end_ms, start_ms)


def _bounded(time_ms: int) -> int:
    return max(0, min(time_ms, _MAX_MS))
