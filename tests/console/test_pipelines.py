"""Pipelines in a real browser, on a real engine: the graph and what flows on it, mode and reasons, a table looked up, bad records, pause, resume, stop."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from headrace.console.graph import svg
from headrace.console.pipeline.tables import lookup
from headrace.plan.engine import PipelineState, Submission
from headrace.streams import App
from headrace.testing import wait_until
from headrace.testing.clients import Clients
from headrace.testing.console import RunningConsole, console_process
from tests.console.conftest import Open
from tests.engine.process import EngineProcess

pytestmark = pytest.mark.xdist_group("spark")


@dataclass
class Visit:
    page: str
    n: int


def app(name: str) -> App:
    made = App(name)
    visits = made.stream("pipeline-visits", key=str, value=Visit)
    visits.filter(lambda v: v.n > 0).group_by(lambda v: v.page).count(store="per-page").to_stream().to(
        "pipeline-counts"
    )
    return made


@pytest.fixture(scope="module")
def engine(kafka: Clients, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineProcess]:
    pytest.importorskip("pyspark")
    kafka.create_topic("pipeline-visits", 2)
    process = EngineProcess(kafka.bootstrap_servers, tmp_path_factory.mktemp("engine") / "data")
    try:
        process.wait_until_ready()
        yield process
    finally:
        process.stop()


@pytest.fixture(scope="module")
def with_engine(kafka: Clients, engine: EngineProcess) -> Iterator[RunningConsole]:
    url = engine.remote.url
    with console_process(kafka.bootstrap_servers, "--engine", url, "--registry", "http://127.0.0.1:1") as running:
        yield running


@pytest.mark.timeout(300)
def test_a_pipeline_is_followed(
    open_page: Open, kafka: Clients, engine: EngineProcess, with_engine: RunningConsole
) -> None:
    remote = engine.remote
    remote.submit(Submission(app("visits-per-page").plan()))
    wait_until(lambda: remote.status("visits-per-page").state is PipelineState.RUNNING, timeout_s=120)
    page = open_page("/pipelines", at=with_engine.url)
    page.get_by_role("link", name="visits-per-page").click()
    page.wait_for_selector("h1:has-text('visits-per-page')")
    graph = page.get_by_role("region", name="Graph")
    graph.locator("text.title", has_text="pipeline-visits").wait_for()
    graph.locator("text.title", has_text="pipeline-counts").wait_for(state="attached")
    page.get_by_text("real time, record by record").wait_for()
    visits = [(f"u{index}", json.dumps({"page": f"/p{index % 3}", "n": index})) for index in range(300)]
    kafka.produce("pipeline-visits", [*visits, ("x", "not json")])
    page.locator(".hr-figure:has-text('Records in/s') >> text=301 in all").wait_for(timeout=60_000)
    page.locator(".hr-figure:has-text('Bad') dd:has-text('1')").first.wait_for()
    page.locator("table:has-text('Bad records') td:has-text('pipeline-visits, partition')").wait_for(timeout=60_000)
    page.get_by_label("Key").fill("/p1")
    page.get_by_role("button", name="Look up").click()
    page.locator("table:has-text('Rows of the table') td:has-text('/p1')").wait_for(timeout=60_000)
    page.locator("table:has-text('Rows of the table') td:text-is('100')").wait_for()


@pytest.mark.timeout(300)
def test_pause_resume_and_stop(open_page: Open, engine: EngineProcess, with_engine: RunningConsole) -> None:
    remote = engine.remote
    if not any(one.name == "visits-per-page" for one in remote.pipelines()):
        remote.submit(Submission(app("visits-per-page").plan()))
    page = open_page("/pipelines/visits-per-page", at=with_engine.url)
    state = page.locator(".hr-figure:has(dt:text-is('State'))").first
    page.get_by_role("button", name="Pause").click()
    state.locator("text=paused").wait_for(timeout=60_000)
    page.get_by_role("button", name="Resume").click()
    state.locator("text=running").wait_for(timeout=90_000)
    page.get_by_role("button", name="Stop").click()
    page.get_by_role("dialog").get_by_role("button", name="Stop pipeline").click()
    page.wait_for_url("**/pipelines", timeout=90_000)
    page.get_by_text("No pipeline is here").wait_for()


def test_without_an_engine_the_page_says_what_to_do(open_page: Open) -> None:
    page = open_page("/pipelines")
    page.get_by_text("Nobody answers at http://127.0.0.1:1").first.wait_for()


def test_a_graph_is_drawn_with_text_that_stays_text() -> None:
    evil = '<script>alert(1)</script>"'
    graph = {
        "nodes": [
            {"id": f"topic {evil}", "title": evil, "kind": "topic", "does": "", "columns": "", "query": ""},
            {"id": "s", "title": "s", "kind": 'end" onload="x', "does": evil, "columns": evil, "query": "q"},
        ],
        "edges": [{"start": f"topic {evil}", "end": "s", "label": evil, "topic": evil}],
        "queries": [],
        "tables": [],
    }
    picture = svg(graph, {evil: 12.0})
    assert "<script" not in picture and "onload" not in picture
    assert "12/s" in picture and "edge alive" in picture


def test_keys_of_tables() -> None:
    from headrace.admin.errors import Problem

    one, two = {"name": "t", "key": ["a"]}, {"name": "t", "key": ["a", "b"]}
    assert lookup(one, "x")["key"] == "x"
    assert "key" not in lookup(two, "")
    assert lookup(two, '{"a": 1, "b": 2}')["key"] == {"a": 1, "b": 2}
    with pytest.raises(Problem, match="several columns"):
        lookup(two, "x")
