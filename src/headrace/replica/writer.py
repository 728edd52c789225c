"""Appends to one log directory: inline while the page cache takes them, in a thread once the disk pushes back.

A write into the page cache takes microseconds, so handing it to a thread would cost more than it saves. When the kernel
throttles writers (too many dirty pages, a slow or full disk) the same call takes milliseconds, and then it must not run
on the event loop. The writer notices the first slow write, moves to its thread, and comes back after a run of fast ones.

Owns: the thread, its queue and the mode. Must not touch a log's state: reservations are made and committed on the loop.
"""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections import deque
from collections.abc import Callable

from headrace.storage.log import Reservation

SLOW_WRITE_MS = 5
FAST_WRITE_SECONDS = 0.001
FAST_WRITES_TO_RETURN = 64

Done = Callable[[OSError | None], None]
"""Called on the event loop when a queued write ended, in the order of submission."""


class DirectoryWriter:
    """Decides where the next write to this directory runs."""

    def __init__(self, name: str, loop: asyncio.AbstractEventLoop, slow_write_ms: int = SLOW_WRITE_MS) -> None:
        self.name = name
        self.slow_seconds = slow_write_ms / 1000
        self.slow = False
        """While set, every append to this directory goes through `submit`."""
        self.slow_writes = 0
        self._loop = loop
        self._queue: queue.SimpleQueue[tuple[Reservation, Done] | None] = queue.SimpleQueue()
        self._ended: deque[tuple[Done, OSError | None, float]] = deque()
        self._woken = False
        """Whether `_finish` is on its way to the loop. Cleared before it looks, so that no ending is missed."""
        self._pending = 0
        self._fast_run = 0
        self._thread: threading.Thread | None = None

    def note_slow(self) -> None:
        """A write on the loop took too long: the next ones go to the thread."""
        self.slow = True
        self.slow_writes += 1
        self._fast_run = 0

    def submit(self, reservation: Reservation, done: Done) -> None:
        """Queue a write; `done` runs on the loop afterwards."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name=f"headrace-writer-{self.name}", daemon=True)
            self._thread.start()
        self._pending += 1
        self._queue.put((reservation, done))

    def close(self) -> None:
        """End the thread after what is queued. Call it when nobody submits any more."""
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join()
            self._thread = None

    def _run(self) -> None:
        while (item := self._queue.get()) is not None:
            reservation, done = item
            started = time.perf_counter()
            error: OSError | None = None
            try:
                reservation.write()
            except OSError as failure:
                error = failure
            self._ended.append((done, error, time.perf_counter() - started))
            # One wake-up for all writes that end before the loop comes round.
            if not self._woken:
                self._woken = True
                self._loop.call_soon_threadsafe(self._finish)

    def _finish(self) -> None:
        self._woken = False
        self._take_ended()
        if self._fast_run >= FAST_WRITES_TO_RETURN:
            self._return_to_loop()

    def _take_ended(self) -> None:
        """Tell those whose writes have ended, in order."""
        while self._ended:
            done, error, seconds = self._ended.popleft()
            self._pending -= 1
            if seconds < FAST_WRITE_SECONDS:
                self._fast_run += 1
            else:
                self._fast_run = 0
                self.slow_writes += seconds > self.slow_seconds
            done(error)

    def _return_to_loop(self) -> None:
        """The disk is fast again. Under steady load there is always a write on its way, and an append may not overtake it,
        so the loop waits for the few that are left: as long as one slow write may take, and no longer."""
        self._fast_run = 0
        deadline = time.perf_counter() + self.slow_seconds
        while self._pending:
            if self._ended:
                self._take_ended()
            elif time.perf_counter() > deadline:
                return
            else:
                time.sleep(0)  # lets the writer have the interpreter
        self.slow = False
