"""How long to wait before a pipeline that failed is tried again."""

from __future__ import annotations

from dataclasses import dataclass

FIRST_MS = 1_000
LONGEST_MS = 60_000
# A pipeline that ran this long before it failed is trusted anew.
HEALTHY_MS = 300_000


@dataclass
class Backoff:
    """Doubles from one second to a minute. Time is given by the caller."""

    failures: int = 0
    _started_ms: int | None = None

    def started(self, now_ms: int) -> None:
        self._started_ms = now_ms

    def failed(self, now_ms: int) -> int:
        """Note a failure; the time at which to try again."""
        if self._started_ms is not None and now_ms - self._started_ms >= HEALTHY_MS:
            self.failures = 0
        self._started_ms = None
        wait = min(FIRST_MS << min(self.failures, 10), LONGEST_MS)
        self.failures += 1
        return now_ms + wait
