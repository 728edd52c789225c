"""From runs to ratios and goals, and the meter behind CPU seconds per gigabyte."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bench.__main__ import steady
from bench.cases import CASES, Case
from bench.metrics import METRICS
from bench.plot import draw
from bench.process_meter import CpuMeter, children_cpu_seconds, peak_rss_mb, rss_mb, thread_cpu_seconds
from bench.raw_client import RawClient, wait_until_ready
from bench.report import OURS, THEIRS, Row, figure, rows
from headrace.wire.messages.api_versions import ApiVersionsRequest

CASE = Case("case", "a case", lambda target, scale: {}, {"produce": 2.5, "start": 0.2, "idempotence": 1.1})


def test_medians_and_ratio() -> None:
    runs = {OURS: [{"produce": 30.0}, {"produce": 20.0}, {"produce": 90.0}], THEIRS: [{"produce": 10.0}] * 3}
    (row,) = rows([CASE], {"case": runs})
    assert (row.ours, row.theirs, row.ratio, row.met, row.goal_text) == (30.0, 10.0, 3.0, True, "≥ 2.5")


@pytest.mark.parametrize(
    ("metric", "ours", "met"), [("produce", 2.0, False), ("start", 0.1, True), ("start", 0.3, False)]
)
def test_goals_know_which_way_is_better(metric: str, ours: float, met: bool) -> None:
    assert Row(CASE, metric, ours, 1.0).met is met


@pytest.mark.parametrize(("ours", "met"), [(1.05, True), (1.2, False)])
def test_a_goal_can_be_for_headrace_alone(ours: float, met: bool) -> None:
    row = Row(CASE, "idempotence", ours, 3.0)
    assert (row.met, row.goal_text) == (met, "Headrace ≤ 1.1")


@pytest.mark.parametrize(
    ("rates", "expected"), [([], False), ([5.0], False), ([50, 100], False), ([50, 100, 91], True), ([100, 89], False)]
)
def test_warm_means_that_two_runs_are_alike(rates: list[float], expected: bool) -> None:
    assert steady(rates) is expected


def test_figures_are_short() -> None:
    assert [figure(value) for value in (123456.7, 12.34, 1.234)] == ["123,457", "12.3", "1.23"]


def test_every_goal_is_of_a_known_metric() -> None:
    assert all(metric in METRICS for case in CASES for metric in case.goals)
    assert len({case.name for case in CASES}) == len(CASES)


def _burn() -> None:
    until = time.thread_time() + 0.1
    while time.thread_time() < until:
        pass


def test_cpu_of_children_while_they_run_and_after_they_ended() -> None:
    before = children_cpu_seconds(os.getpid())
    burn = "import time\nwhile time.process_time() < 0.2: pass\nprint(flush=True)\ninput()"
    with ThreadPoolExecutor(1) as elsewhere:
        command = [sys.executable, "-c", burn]
        child = elsewhere.submit(subprocess.Popen, command, stdin=subprocess.PIPE, stdout=subprocess.PIPE).result()
        assert child.stdout is not None
        child.stdout.readline()
        while_it_runs = children_cpu_seconds(os.getpid()) - before
    child.communicate(b"\n", 30)
    assert while_it_runs >= 0.2
    # Ended processes are counted in ticks.
    assert children_cpu_seconds(os.getpid()) - before >= 0.18


def test_cpu_of_one_thread() -> None:
    name, ended, let_go = "headrace-long-name-7", threading.Event(), threading.Event()

    def work() -> None:
        _name_this_thread(f"{name[:7]}..{name[-6:]}")
        _burn()
        ended.set()
        let_go.wait(30)

    thread = threading.Thread(target=work)
    thread.start()
    ended.wait(30)
    try:
        assert 0.09 < thread_cpu_seconds(os.getpid(), name) < 5
        with pytest.raises(LookupError):
            thread_cpu_seconds(os.getpid(), "no such thread")
    finally:
        let_go.set()
        thread.join()


def _name_this_thread(name: str) -> None:
    Path(f"/proc/self/task/{threading.get_native_id()}/comm").write_text(name)


def test_cpu_and_memory_of_this_process() -> None:
    with CpuMeter(os.getpid()) as meter:
        _burn()
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
