"""Periodic work on the broker's clock: retention, checkpoints, flushing, idle connections.

The event loop looks every second what is due by the clock, which a test may set; `tick` can also be called at once after
the clock was moved. A task that is still running is not started again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from headrace.clock import Clock

log = logging.getLogger("headrace.broker.timers")

LOOK_EVERY_SECONDS = 1.0


@dataclass(slots=True)
class Periodic:
    name: str
    interval_ms: Callable[[], int]
    work: Callable[[], Awaitable[object]]
    due_ms: int
    running: asyncio.Task[None] | None = None


class Timers:
    """Runs periodic tasks until stopped."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._tasks: list[Periodic] = []
        self._handle: asyncio.TimerHandle | None = None

    def every(self, name: str, interval_ms: Callable[[], int], work: Callable[[], Awaitable[object]]) -> None:
        """Run `work` each time the interval has passed; the interval is asked for anew, as it may be a setting."""
        self._tasks.append(Periodic(name, interval_ms, work, self._clock.now_ms() + interval_ms()))

    def start(self) -> None:
        self._handle = asyncio.get_running_loop().call_later(LOOK_EVERY_SECONDS, self._look)

    def tick(self) -> None:
        """Start what is due by the clock."""
        now_ms = self._clock.now_ms()
        for task in self._tasks:
            if now_ms >= task.due_ms and (task.running is None or task.running.done()):
                task.due_ms = now_ms + task.interval_ms()
                task.running = asyncio.ensure_future(self._run(task))

    async def stop(self) -> None:
        """Start nothing more and let what runs come to its end."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
        running = [task.running for task in self._tasks if task.running is not None and not task.running.done()]
        if running:
            await asyncio.wait(running)

    def _look(self) -> None:
        self.tick()
        self.start()

    async def _run(self, task: Periodic) -> None:
        try:
            await task.work()
        except Exception:
            log.exception("%s failed; it is tried again in %d ms", task.name, task.interval_ms())
