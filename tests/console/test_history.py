"""Rates over the last moments, latency between two looks, answers that are shared."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from headrace.admin.errors import Problem
from headrace.console.asking import Asking
from headrace.console.history import KEPT_S, History
from headrace.console.pipelines import PipelineHistory, quantile


def test_a_rate_is_over_the_last_moments() -> None:
    history = History()
    assert history.rate("a") is None
    for second in range(0, 61, 5):
        history.note({"a": second * 10 if second < 30 else 300 + (second - 30) * 100, "b": 7}, at=float(second))
    assert history.rate("a") == pytest.approx(100)
    assert history.rate("b") == 0
    assert history.total_rate() == pytest.approx(100)
    assert history.rate("nobody") is None
    history.note({"a": 0}, at=60 + KEPT_S)
    assert len(history.of("a")) <= 2


def test_a_name_that_is_new_has_no_rate_yet_and_one_look_is_none() -> None:
    history = History()
    history.note({"a": 1}, at=1.0)
    assert history.rate("a") is None
    history.note({"a": 2}, at=1.1)
    assert history.rate("a") is None, "too close to tell"
    history.note({"a": 12}, at=101.0)
    assert history.rate("a") == pytest.approx(0.1, rel=0.1), "the only other look is long ago"


def report(rows: int, buckets: list[tuple[int, int]]) -> dict[str, object]:
    return {
        "rows_in": rows,
        "rows_out": rows,
        "partitions": {"in-topic-0": {"rows": rows}, "in-topic-1": {"rows": rows}},
        "latency_ms": {"buckets": buckets},
    }


def test_a_pipelines_rates_and_its_latency_of_late() -> None:
    history = PipelineHistory()
    history.note({}, at=0)
    history.note(report(100, [(5, 100)]), at=1)
    history.note(report(200, [(5, 100), (50, 100)]), at=2)
    assert history.topic_rates() == {"in-topic": pytest.approx(200)}
    assert history.latency == [(2, 50)]
    history.note(report(10, [(5, 10)]), at=3)
    assert len(history.latency) == 1, "started anew"


def test_quantiles() -> None:
    assert quantile([(1, 50), (10, 49), (100, 1)], 0.5) == 1
    assert quantile([(1, 50), (10, 49), (100, 1)], 0.99) == 10
    assert quantile([], 0.5) is None


def run(scenario: Coroutine[Any, Any, None]) -> None:
    """In a thread of its own: the browser of other tests keeps an event loop in this one."""
    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, scenario).result(60)


def test_a_question_is_asked_once_for_all_who_wait() -> None:
    async def scenario() -> None:
        asking, asked, go = Asking(), [], threading.Event()

        def question() -> int:
            asked.append(1)
            go.wait(10)
            return len(asked)

        waiting = [asyncio.create_task(asking.ask(("k",), 60, question)) for _ in range(5)]
        await asyncio.sleep(0)
        go.set()
        assert await asyncio.gather(*waiting) == [1] * 5
        assert await asking.ask(("k",), 60, question) == 1
        asking.forget("other")
        assert await asking.ask(("k",), 60, question) == 1
        asking.forget("k")
        assert await asking.ask(("k",), 60, question) == 2
        assert await asking.ask(("k",), 0, question) == 3
        asking.close()

    run(scenario())


def test_a_question_that_fails_fails_for_all_and_is_asked_again_soon() -> None:
    async def scenario() -> None:
        asking = Asking()

        def question() -> int:
            raise Problem("no")

        for _ in range(2):
            with pytest.raises(Problem):
                await asking.ask(("k",), 60, question)
        asking.close()

    run(scenario())
