"""The timer of a coordinator: it wakes for the earliest deadline, and one that is moved back costs a look, no more."""

from __future__ import annotations

import asyncio
import time

from headrace.broker.deadline_timer import DeadlineTimer


class Coordinator:
    """Deadlines in the order they are set; doing what is due takes the first one away."""

    def __init__(self) -> None:
        self.deadlines: list[int] = []
        self.done: list[int] = []
        self.idle = asyncio.Event()
        self.timer = DeadlineTimer(self.next_deadline_ms, self.on_deadline, now_ms)

    def next_deadline_ms(self) -> int | None:
        return min(self.deadlines, default=None)

    def on_deadline(self, at_ms: int) -> None:
        due = min(self.deadlines)
        assert due <= at_ms
        self.deadlines.remove(due)
        self.done.append(due)
        if not self.deadlines:
            self.idle.set()

    def set(self, deadline_ms: int) -> int:
        self.deadlines.append(deadline_ms)
        self.timer.arm()
        return deadline_ms


def now_ms() -> int:
    return time.monotonic_ns() // 1_000_000


def test_every_deadline_is_met_in_its_turn() -> None:
    async def main() -> None:
        coordinator = Coordinator()
        late = coordinator.set(now_ms() + 60)
        early = coordinator.set(late - 50)
        await asyncio.wait_for(coordinator.idle.wait(), 30)
        assert coordinator.done == [early, late]

    asyncio.run(main())


def test_a_deadline_that_moves_back_is_met_too() -> None:
    async def main() -> None:
        coordinator = Coordinator()
        first = coordinator.set(now_ms() + 10)
        coordinator.deadlines = [first + 40]
        await asyncio.wait_for(coordinator.idle.wait(), 30)
        assert coordinator.done == [first + 40]

    asyncio.run(main())


def test_a_tick_does_what_is_due_and_nothing_else() -> None:
    async def main() -> None:
        coordinator = Coordinator()
        coordinator.timer.tick()
        due, later = now_ms() - 1, now_ms() + 1_000_000
        coordinator.deadlines = [due, later]
        coordinator.timer.tick()
        coordinator.timer.tick()
        assert (coordinator.done, coordinator.deadlines) == ([due], [later])
        coordinator.timer.cancel()

    asyncio.run(main())
