"""The engine's HTTP interface with real sockets and a real broker. Spark is left out; test_service.py has it."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.engine.api import MAX_BODY
from headrace.engine.http_client import RemoteEngine
from headrace.engine.server import EngineServer
from headrace.engine.service import LocalEngine
from headrace.engine.settings import EngineSettings
from headrace.plan.document import to_document
from headrace.plan.engine import DesiredState, EngineError, Guarantee, PipelineState, Submission, UnknownPipeline
from headrace.testing import LocalBroker, broker, wait_until
from tests.engine.plans import copy_plan
from tests.engine.scripted import ScriptedRunner


@pytest.fixture(scope="module")
def house() -> Iterator[LocalBroker]:
    with broker() as running:
        yield running


@pytest.fixture(scope="module")
def server(house: LocalBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineServer]:
    data: Path = tmp_path_factory.mktemp("engine")
    engine = LocalEngine(EngineSettings(house.bootstrap_servers, port=0, data_dir=str(data)), ScriptedRunner())
    server = EngineServer(engine)
    engine.start()
    server.start()
    try:
        wait_until(lambda: not engine.problems(), timeout_s=30, message="ready")
        yield server
    finally:
        server.stop()
        engine.close()


@pytest.fixture
def remote(server: EngineServer) -> Iterator[RemoteEngine]:
    remote = RemoteEngine(server.url)
    yield remote
    for status in remote.pipelines():
        remote.stop(status.name)


def send(
    server: EngineServer, method: str, path: str, body: bytes | None = None, **headers: str
) -> tuple[int, dict[str, Any]]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    try:
        connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        response = connection.getresponse()
        content = response.read()
        return response.status, json.loads(content) if content.startswith(b"{") else {"text": content.decode()}
    finally:
        connection.close()


def wait_for(remote: RemoteEngine, state: PipelineState, name: str = "copy") -> None:
    wait_until(lambda: remote.status(name).state is state, message=f"{name} {state}")


def test_a_pipeline_from_submission_to_its_end(remote: RemoteEngine) -> None:
    submitted = remote.submit(Submission(copy_plan(), Guarantee.EXACTLY_ONCE, {"trigger.ms": "200"}))
    assert (submitted.name, submitted.revision, submitted.guarantee) == ("copy", 1, Guarantee.EXACTLY_ONCE)
    wait_for(remote, PipelineState.RUNNING)
    assert remote.plan("copy") == copy_plan()
    assert remote.progress("copy")["rows_in"] == 1
    assert remote.pause("copy").desired is DesiredState.PAUSED
    wait_for(remote, PipelineState.PAUSED)
    remote.reset("copy")
    remote.resume("copy")
    wait_for(remote, PipelineState.RUNNING)
    remote.restart("copy")
    wait_for(remote, PipelineState.RUNNING)
    assert [each.name for each in remote.pipelines()] == ["copy"]
    remote.stop("copy")
    assert remote.pipelines() == ()


def test_names_that_are_not_there_are_404(server: EngineServer, remote: RemoteEngine) -> None:
    with pytest.raises(UnknownPipeline, match="no pipeline 'nothing'"):
        remote.status("nothing")
    assert send(server, "POST", "/pipelines/nothing/dance")[0] == 404


def test_a_plan_with_a_mistake_is_refused_and_not_remembered(remote: RemoteEngine) -> None:
    from headrace.plan.expressions import Column
    from headrace.plan.plan import Plan
    from headrace.plan.steps import Filter

    plan = copy_plan()
    broken = Plan(plan.name, (*plan.steps, Filter("sieve", "source", Column("valeu"))))
    with pytest.raises(EngineError, match=r"'sieve'.*valeu.*value"):
        remote.submit(Submission(broken))
    assert remote.pipelines() == ()


def test_settings_are_checked(remote: RemoteEngine) -> None:
    with pytest.raises(EngineError, match=r"no pipeline setting .triger\.ms."):
        remote.submit(Submission(copy_plan(), settings={"triger.ms": "5"}))
    with pytest.raises(EngineError, match="a number from 0"):
        remote.submit(Submission(copy_plan(), settings={"trigger.ms": "soon"}))


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"{", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[]", "send {"),
        (b"{}", "send {"),
        (b'{"plan": {}, "guarantee": "perhaps"}', "guarantee is one of"),
        (b'{"plan": {}, "color": 1}', "unknown: color"),
        (b'{"plan": {"version": 99}}', "version"),
        (b'{"plan": {}, "settings": {"a": 1}}', "settings must be"),
    ],
)
def test_bad_bodies_get_400_and_the_reason(server: EngineServer, body: bytes, said: str) -> None:
    status, answer = send(server, "POST", "/pipelines", body, Content_Type="application/json")
    assert status == 400
    assert said in answer["error"]


def test_a_body_without_end_is_cut_off(server: EngineServer) -> None:
    status, answer = send(server, "POST", "/pipelines", b" " * (MAX_BODY + 1), Content_Type="application/json")
    assert status == 400
    assert "larger than" in answer["error"]


def test_a_page_of_another_site_can_neither_submit_nor_read(server: EngineServer) -> None:
    body = json.dumps({"plan": to_document(copy_plan())}).encode()
    form = send(server, "POST", "/pipelines", body, Content_Type="text/plain")
    assert form[0] == 400
    foreign = send(server, "POST", "/pipelines", body, Content_Type="application/json", Origin="http://evil.example")
    assert foreign[0] == 403
    rebound = send(server, "GET", "/pipelines", Host="evil.example")
    assert rebound[0] == 400
    own = send(server, "GET", "/pipelines", Origin=server.url)
    assert own[0] == 200


def test_metrics_and_health(server: EngineServer, remote: RemoteEngine) -> None:
    remote.submit(Submission(copy_plan()))
    wait_for(remote, PipelineState.RUNNING)
    assert send(server, "GET", "/healthz") == (200, {"status": "ok", "problems": []})
    text = send(server, "GET", "/metrics")[1]["text"]
    assert 'headrace_pipeline_state{pipeline="copy",state="running"} 1.0' in text
    assert 'headrace_pipeline_rows_in{pipeline="copy"} 1.0' in text
    assert 'headrace_pipeline_dropped{pipeline="copy"} 2.0' in text
    assert 'headrace_pipeline_partition_late{partition="in-1",pipeline="copy",step="count"} 3.0' in text


def test_the_address_of_no_engine_gives_one_sentence(house: LocalBroker) -> None:
    with pytest.raises(EngineError, match=r"no engine answers at http://127.0.0.1:1 .*headrace engine"):
        RemoteEngine("http://127.0.0.1:1").pipelines()
    with pytest.raises(EngineError, match="is no address"):
        RemoteEngine("ftp://somewhere")


def test_the_graph_names_topics_steps_queries_and_tables(server: EngineServer, remote: RemoteEngine) -> None:
    remote.submit(Submission(copy_plan()))
    status, graph = send(server, "GET", "/pipelines/copy/graph")
    assert status == 200
    assert [(node["id"], node["kind"]) for node in graph["nodes"]] == [
        ("topic in", "topic"),
        ("topic out", "topic"),
        ("source", "end"),
        ("sink", "end"),
    ]
    assert [(edge["start"], edge["end"], edge["topic"]) for edge in graph["edges"]] == [
        ("topic in", "source", "in"),
        ("source", "sink", ""),
        ("sink", "topic out", "out"),
    ]
    assert [query["mode"] for query in graph["queries"]] == ["real_time"]
    assert graph["tables"] == []
    assert send(server, "GET", "/pipelines/nobody/graph")[0] == 404
