"""Amounts over the last minutes, as they were seen, and how fast they change. Bounded; filled from threads, read from the event loop."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping
from threading import Lock

KEPT_S = 900.0
MOST_SAMPLES = 360
_RATE_OVER_S = 15.0
_CLOSEST_S = 0.5


class History:
    """Samples of many amounts at a time."""

    def __init__(self) -> None:
        self._samples: deque[tuple[float, dict[str, int]]] = deque(maxlen=MOST_SAMPLES)
        self._lock = Lock()

    def note(self, amounts: Mapping[str, int], at: float | None = None) -> None:
        now = time.monotonic() if at is None else at
        with self._lock:
            self._samples.append((now, dict(amounts)))
            while now - self._samples[0][0] > KEPT_S:
                self._samples.popleft()

    def rate(self, name: str) -> float | None:
        """Change a second, over about the last quarter of a minute; None when it was seen only once."""
        newest: tuple[float, int] | None = None
        oldest: tuple[float, int] | None = None
        with self._lock:
            for at, amounts in reversed(self._samples):
                if name not in amounts:
                    continue
                if newest is None:
                    newest = (at, amounts[name])
                    continue
                if oldest is not None and newest[0] - at > _RATE_OVER_S:
                    break
                oldest = (at, amounts[name])
        if newest is None or oldest is None or newest[0] - oldest[0] < _CLOSEST_S:
            return None
        return (newest[1] - oldest[1]) / (newest[0] - oldest[0])

    def of(self, name: str) -> list[tuple[float, int]]:
        """(time, amount), the oldest first."""
        with self._lock:
            return [(at, amounts[name]) for at, amounts in self._samples if name in amounts]

    def names(self) -> list[str]:
        """Of the newest sample."""
        with self._lock:
            return list(self._samples[-1][1]) if self._samples else []

    def total_rate(self) -> float | None:
        """Of everything together, over names seen in the last sample."""
        rates = [rate for name in self.names() if (rate := self.rate(name)) is not None]
        return sum(rates) if rates else None
