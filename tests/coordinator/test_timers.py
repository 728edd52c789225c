"""Deadlines that move without work."""

from __future__ import annotations

from weakref import WeakSet

from hypothesis import given
from hypothesis import strategies as st

from headrace.coordinator.result import Result
from headrace.coordinator.timers import SPARE_ENTRIES, Timer, Timers


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


def test_cancelled_timers_behind_a_live_one_are_let_go() -> None:
    """A rebalance every second with a rebalance timeout of a day must not keep a day's worth of members."""
    timers, held = Timers(), WeakSet()
    live = [Timer(lambda result, now: None) for _ in range(10)]
    for timer in live:
        timers.schedule(timer, 1_000)
    for number in range(10_000):
        timer = Timer(lambda result, now: None)
        held.add(timer.action)
        timers.schedule(timer, 86_400_000 + number)
        if number % 2:
            timer.cancel()
        else:
            timers.schedule(timer, 2_000)  # leaves an entry at the old deadline
            timer.cancel()
        del timer
        assert len(timers) <= 2 * (len(live) + 1) + SPARE_ENTRIES
    assert len(held) <= len(live) + 2 + SPARE_ENTRIES
    assert timers.next_deadline_ms() == 1_000
    assert list(timers.due(1_000)) == live


def test_a_timer_whose_leftover_was_swept_out_can_be_set_again() -> None:
    timers, fired = Timers(), []
    timer = Timer(lambda result, now: fired.append(now))
    timers.schedule(timer, 500)
    timer.cancel()
    others = [Timer(lambda result, now: None) for _ in range(2 * SPARE_ENTRIES)]
    for other in others:
        timers.schedule(other, 100)
    timers.schedule(timer, 700)
    fire(timers, 700)
    assert fired == [700]


def test_timers_set_by_an_action_may_sweep_the_queue_that_is_being_worked_off() -> None:
    timers, fired = Timers(), []

    def busy(result: Result, now: int) -> None:
        fired.append(now)
        for _ in range(2 * SPARE_ENTRIES):
            timer = Timer(busy)
            timers.schedule(timer, now + 1)
            timer.cancel()

    for _ in range(5):
        timers.schedule(Timer(busy), 10)
    fire(timers, 10)
    assert fired == [10] * 5


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
