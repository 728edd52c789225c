"""The timer of one coordinator: the event loop wakes it when its next deadline has come."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class DeadlineTimer:
    """Calls `on_deadline` with the time once `next_deadline_ms` is reached; None is no deadline."""

    def __init__(
        self,
        next_deadline_ms: Callable[[], int | None],
        on_deadline: Callable[[int], None],
        now_ms: Callable[[], int],
    ) -> None:
        self._next_deadline_ms = next_deadline_ms
        self._on_deadline = on_deadline
        self._now_ms = now_ms
        self._handle: asyncio.TimerHandle | None = None
        self._armed_ms = 0

    def tick(self) -> None:
        """Do what is due by the clock."""
        now_ms = self._now_ms()
        deadline_ms = self._next_deadline_ms()
        if deadline_ms is not None and deadline_ms <= now_ms:
            self._on_deadline(now_ms)
            self.arm()

    def arm(self) -> None:
        """Make sure that the loop wakes us in time. Waking too early costs little, so later deadlines move nothing."""
        deadline_ms = self._next_deadline_ms()
        if deadline_ms is None or (self._handle is not None and self._armed_ms <= deadline_ms):
            return
        self.cancel()
        self._armed_ms = deadline_ms
        delay_ms = max(deadline_ms - self._now_ms(), 0)
        self._handle = asyncio.get_running_loop().call_later(delay_ms / 1000, self._wake)

    def cancel(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _wake(self) -> None:
        self._handle = None
        self.tick()
        self.arm()
