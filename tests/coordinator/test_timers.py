"""Deadlines that move without work."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headrace.coordinator.result import Result
from headrace.coordinator.timers import Timer, Timers


def fire(timers: Timers, now_ms: int) -> None:
    for timer in timers.due(now_ms):
        timer.action(Result(), now_ms)


def test_postponing_touches_no_queue() -> None:
    timers, fired = Timers(), []
    timer = Timer(lambda result, now: fired.append(now))
    for now in range(1_000):
        timers.schedule(timer, now + 10_000)
    assert len(timers) == 1 and timers.next_deadline_ms() == 10_000
    fire(timers, 10_000)
    assert not fired and timers.next_deadline_ms() == 10_999
    fire(timers, 10_999)
    assert fired == [10_999] and timers.next_deadline_ms() is None


def test_cancelled_timers_do_not_fire_and_do_not_wake() -> None:
    timers, fired = Timers(), []
    timer = Timer(lambda result, now: fired.append(now))
    timers.schedule(timer, 5)
    timer.cancel()
    assert timers.next_deadline_ms() is None
    timers.schedule(timer, 9)
    fire(timers, 9)
    assert fired == [9]


@given(st.lists(st.tuples(st.integers(0, 4), st.one_of(st.none(), st.integers(0, 50)), st.integers(0, 10))))
def test_against_a_plain_table(steps: list[tuple[int, int | None, int]]) -> None:
    """Each step sets or cancels one of five timers, then lets time pass."""
    timers = Timers()
    fired: list[tuple[int, int]] = []
    all_timers = [Timer(lambda result, now, i=i: fired.append((i, now))) for i in range(5)]
    table: dict[int, int] = {}
    expected: list[tuple[int, int]] = []
    now = 0
    for index, delay, passed in steps:
        if delay is None:
            all_timers[index].cancel()
            table.pop(index, None)
        else:
            timers.schedule(all_timers[index], now + delay)
            table[index] = now + delay
        now += passed
        deadline = timers.next_deadline_ms()
        assert deadline is None if not table else deadline is not None and deadline <= min(table.values())
        fire(timers, now)
        due = sorted(each for each, when in table.items() if when <= now)
        expected += [(each, now) for each in due]
        for each in due:
            del table[each]
        assert sorted(fired) == sorted(expected)
