"""An engine that an app holds: it runs what it is given and leaves no trace in the cluster."""

from __future__ import annotations

from pathlib import Path

from headrace import client
from headrace.engine.service import LocalEngine
from headrace.engine.settings import EngineSettings
from headrace.plan.engine import PipelineState, Submission
from headrace.testing import LocalBroker, wait_until
from tests.engine.plans import copy_plan
from tests.engine.scripted import ScriptedRunner


def test_an_embedded_engine_runs_its_apps_plan_and_creates_no_topic(
    headrace_broker: LocalBroker, tmp_path: Path
) -> None:
    settings = EngineSettings(headrace_broker.bootstrap_servers, data_dir=str(tmp_path), embedded=True)
    engine = LocalEngine(settings, ScriptedRunner())
    engine.start()
    try:
        engine.submit(Submission(copy_plan()))
        wait_until(lambda: engine.status("copy").state is PipelineState.RUNNING, message="running")
        assert engine.problems() == []
    finally:
        engine.close()
    admin = client.admin(headrace_broker.bootstrap_servers)
    assert "_headrace_pipelines" not in admin.list_topics(timeout=10).topics
