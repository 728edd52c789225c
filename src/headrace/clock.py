"""Time, as the rest of Headrace sees it.

Owns nothing but two readings: wall-clock milliseconds for what ends up in files and answers, and monotonic seconds for
what is measured. Nobody below the broker calls `time` directly, so a test can hold time still and move it by hand.
"""

from __future__ import annotations

import time


class Clock:
    """The system's clock."""

    __slots__ = ()

    def now_ms(self) -> int:
        """Milliseconds since 1970, as Kafka writes them into batches and checkpoints."""
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        """Seconds that never run backwards, for measuring durations."""
        return time.monotonic()


class ManualClock(Clock):
    """A clock that stands still until it is told otherwise."""

    __slots__ = ("_monotonic_ms", "_now_ms")

    def __init__(self, start_ms: int = 1_700_000_000_000) -> None:
        self._now_ms = start_ms
        self._monotonic_ms = 0

    def now_ms(self) -> int:
        return self._now_ms

    def monotonic(self) -> float:
        return self._monotonic_ms / 1000

    def advance(self, ms: int) -> None:
        """Let `ms` milliseconds pass, on both readings."""
        if ms < 0:
            raise ValueError("time only advances; use set() to move the wall clock back")
        self._now_ms += ms
        self._monotonic_ms += ms

    def set(self, now_ms: int) -> None:
        """Move the wall clock, forwards or backwards; the monotonic reading never goes back."""
        self._monotonic_ms += max(0, now_ms - self._now_ms)
        self._now_ms = now_ms
