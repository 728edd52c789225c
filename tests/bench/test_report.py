"""From runs to ratios and goals, and the meter behind CPU seconds per gigabyte."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from bench.cases import CASES, METRICS, Case
from bench.plot import draw
from bench.process_meter import CpuMeter, peak_rss_mb, rss_mb
from bench.raw_client import RawClient, wait_until_ready
from bench.report import OURS, THEIRS, Row, figure, rows
from headrace.wire.messages.api_versions import ApiVersionsRequest

CASE = Case("case", "a case", lambda target, scale: {}, {"produce": 2.5, "start": 0.2})


def test_medians_and_ratio() -> None:
    runs = {OURS: [{"produce": 30.0}, {"produce": 20.0}, {"produce": 90.0}], THEIRS: [{"produce": 10.0}] * 3}
    (row,) = rows([CASE], {"case": runs})
    assert (row.ours, row.theirs, row.ratio, row.met, row.goal_text) == (30.0, 10.0, 3.0, True, "≥ 2.5")


@pytest.mark.parametrize(
    ("metric", "ours", "met"), [("produce", 2.0, False), ("start", 0.1, True), ("start", 0.3, False)]
)
def test_goals_know_which_way_is_better(metric: str, ours: float, met: bool) -> None:
    assert Row(CASE, metric, ours, 1.0).met is met


def test_figures_are_short() -> None:
    assert [figure(value) for value in (123456.7, 12.34, 1.234)] == ["123,457", "12.3", "1.23"]


def test_every_goal_is_of_a_known_metric() -> None:
    assert all(metric in METRICS for case in CASES for metric in case.goals)
    assert len({case.name for case in CASES}) == len(CASES)


def test_cpu_and_memory_of_this_process() -> None:
    with CpuMeter(os.getpid()) as meter:
        until = time.process_time() + 0.1
        while time.process_time() < until:
            pass
    assert 0.05 < meter.seconds < 5
    assert 1 < rss_mb(os.getpid()) <= peak_rss_mb(os.getpid()) + 1


def test_the_picture_is_drawn(tmp_path: Path) -> None:
    draw([Row(CASE, "produce", 3.0, 1.0), Row(CASE, "start", 0.3, 1.0)], tmp_path / "images" / "bench.png")
    assert (tmp_path / "images" / "bench.png").stat().st_size > 5000


def test_the_raw_client_sees_a_ready_broker(headrace_shared_broker) -> None:  # type: ignore[no-untyped-def]
    port = int(headrace_shared_broker.bootstrap_servers.rpartition(":")[2])
    wait_until_ready(port, timeout=10)
    with RawClient(port) as client:
        assert client.ask(ApiVersionsRequest(), 2).error_code == 0  # type: ignore[attr-defined]
