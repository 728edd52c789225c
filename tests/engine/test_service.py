"""The engine as a process of its own, with Spark: killed with -9 in the middle, it goes on where it was."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from headrace.engine.http_client import RemoteEngine
from headrace.plan.engine import PipelineState, PlanDoesNotFit, Submission
from headrace.streams import App
from headrace.testing import LocalBroker, wait_until
from tests.engine.process import EngineProcess

START_S = 120.0


@dataclass
class Visit:
    page: str
    n: int


def visits(name: str = "visits", by_page: bool = True) -> App:
    app = App(name)
    stream = app.stream("visits", key=str, value=Visit)
    grouped = stream.group_by(lambda v: v.page) if by_page else stream.group_by_key()
    grouped.count(store="counts").to_stream().to("counts")
    return app


@pytest.fixture
def engine(headrace_broker: LocalBroker, tmp_path: Path) -> Iterator[list[EngineProcess]]:
    """The engines that a test started; the last one is stopped."""
    for topic in ("visits", "counts"):
        headrace_broker.create_topic(topic, 1)
    started = [EngineProcess(headrace_broker.bootstrap_servers, tmp_path / "engine")]
    try:
        yield started
    finally:
        started[-1].stop()


def produce(broker: LocalBroker, *pages: str) -> None:
    producer = broker.producer()
    for number, page in enumerate(pages):
        producer.produce("visits", json.dumps({"page": page, "n": number}).encode(), b"someone")
    assert producer.flush(20) == 0


def rows(remote: RemoteEngine, name: str = "visits") -> dict[str, Any]:
    found = remote.look_up(name, "counts", {"wait": True})["rows"]
    return {next(iter(row["key"].values())): next(iter(row["value"].values())) for row in found}


@pytest.mark.timeout(400)
def test_pipelines_and_their_state_survive_kill_9(
    headrace_broker: LocalBroker, engine: list[EngineProcess], tmp_path: Path
) -> None:
    remote = engine[0].wait_until_ready()
    remote.submit(Submission(visits().plan(), settings={"real.time.batch.ms": "5000"}))
    wait_until(
        lambda: remote.status("visits").state is PipelineState.RUNNING,
        timeout_s=START_S,
        message="running",
        interval_s=0.1,
    )
    produce(headrace_broker, "home", "home", "news")
    wait_until(lambda: rows(remote) == {"home": 2, "news": 1}, timeout_s=START_S, message="counted", interval_s=0.2)
    wait_until(
        lambda: remote.progress("visits")["lag"] == 0, timeout_s=START_S, message="positions kept", interval_s=0.2
    )

    engine[0].kill()
    produce(headrace_broker, "home", "shop")
    engine.append(EngineProcess(headrace_broker.bootstrap_servers, tmp_path / "engine"))
    remote = engine[1].wait_until_ready()
    expected = {"home": 3, "news": 1, "shop": 1}
    wait_until(lambda: rows(remote) == expected, timeout_s=START_S, message="counted on", interval_s=0.2)
    assert remote.status("visits").revision == 1

    with pytest.raises(PlanDoesNotFit, match="headrace stream reset visits"):
        remote.submit(Submission(visits(by_page=False).plan()))
    remote.pause("visits")
    wait_until(lambda: remote.status("visits").state is PipelineState.PAUSED, timeout_s=START_S, message="paused")
    remote.stop("visits")
    assert remote.pipelines() == ()
