"""Deadlines of one coordinator, cheap to move: a heartbeat postpones its member's deadline without touching the queue.

The queue is a heap whose entries may be early. An entry that comes up before its timer's real deadline is put back at
that deadline, so a member that heartbeats every second costs one heap operation per session timeout and not per second.
Cancelling touches no queue either: it leaves an entry behind, and leftovers are swept out before they outnumber the rest.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headrace.coordinator.result import Result

SPARE_ENTRIES = 32
"""Leftovers that are not worth a sweep."""


class Timer:
    """One deadline, `None` while it is not set. When it passes, `action` gets a result to fill and the time."""

    __slots__ = ("action", "deadline_ms", "queued_ms")

    def __init__(self, action: Callable[[Result, int], None]) -> None:
        self.action = action
        self.deadline_ms: int | None = None
        self.queued_ms: int | None = None
        """Where the timer's live entry stands in the queue; entries elsewhere are leftovers."""

    def cancel(self) -> None:
        self.deadline_ms = None


class Timers:
    """A queue of timers, driven by whoever knows the time."""

    __slots__ = ("_heap", "_sequence", "_sweep_at")

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Timer]] = []
        self._sequence = 0
        self._sweep_at = SPARE_ENTRIES

    def schedule(self, timer: Timer, deadline_ms: int) -> None:
        """Set or move a deadline."""
        timer.deadline_ms = deadline_ms
        if timer.queued_ms is None or timer.queued_ms > deadline_ms:
            self._queue(timer, deadline_ms)

    def next_deadline_ms(self) -> int | None:
        """When to look again. May be early, never late."""
        heap = self._heap
        while heap and not _is_live(heap[0]):
            self._forget(heapq.heappop(heap))
        return heap[0][0] if heap else None

    def due(self, now_ms: int) -> Iterator[Timer]:
        """Timers whose deadline has passed, each unset before it is handed out."""
        heap = self._heap
        while heap and heap[0][0] <= now_ms:
            entry = heapq.heappop(heap)
            if not _is_live(entry):
                self._forget(entry)
                continue
            timer = entry[2]
            timer.queued_ms = None
            deadline = timer.deadline_ms
            assert deadline is not None
            if deadline > now_ms:
                self._queue(timer, deadline)
            else:
                timer.deadline_ms = None
                yield timer

    def shift(self, delta_ms: int) -> None:
        """The wall clock was set: keep every deadline as far away as it was."""
        live = [entry[2] for entry in self._heap if _is_live(entry)]
        for _, _, timer in self._heap:
            timer.queued_ms = None
        self._heap.clear()
        for timer in live:
            assert timer.deadline_ms is not None
            self.schedule(timer, timer.deadline_ms + delta_ms)

    def __len__(self) -> int:
        return len(self._heap)

    def _queue(self, timer: Timer, when_ms: int) -> None:
        if len(self._heap) >= self._sweep_at:
            self._sweep()
        timer.queued_ms = when_ms
        self._sequence += 1
        heapq.heappush(self._heap, (when_ms, self._sequence, timer))

    def _sweep(self) -> None:
        """Let go of leftovers. One behind a live entry would else keep its member for a whole rebalance timeout, which
        clients choose. In place, because `due` may be on its way through the queue."""
        heap = self._heap
        live = []
        for entry in heap:
            if _is_live(entry):
                live.append(entry)
            else:
                self._forget(entry)
        heap[:] = live
        heapq.heapify(heap)
        self._sweep_at = 2 * len(heap) + SPARE_ENTRIES

    @staticmethod
    def _forget(entry: tuple[int, int, Timer]) -> None:
        if entry[2].queued_ms == entry[0]:
            entry[2].queued_ms = None


def _is_live(entry: tuple[int, int, Timer]) -> bool:
    when_ms, _, timer = entry
    return timer.deadline_ms is not None and timer.queued_ms == when_ms
