"""`headrace stream` against an engine over HTTP; Spark is left out, tests/engine has it."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from headrace.cli.main import main
from headrace.engine.server import EngineServer
from headrace.engine.service import LocalEngine
from headrace.engine.settings import EngineSettings
from headrace.plan.engine import PipelineState, Submission
from headrace.testing import broker, wait_until
from tests.engine.plans import copy_plan
from tests.engine.scripted import ScriptedRunner


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalEngine]:
    with broker() as running:
        settings = EngineSettings(
            running.bootstrap_servers, port=0, data_dir=str(tmp_path_factory.mktemp("engine")), embedded=True
        )
        engine = LocalEngine(settings, ScriptedRunner())
        server = EngineServer(engine)
        engine.start()
        server.start()
        try:
            wait_until(lambda: not engine.problems(), message="ready")
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("HEADRACE_ENGINE", server.url)
                yield engine
        finally:
            server.stop()
            engine.close()


@pytest.fixture
def copy(engine: LocalEngine) -> Iterator[LocalEngine]:
    engine.submit(Submission(copy_plan()))
    wait_until(lambda: engine.status("copy").state is PipelineState.RUNNING, message="running")
    yield engine
    if any(status.name == "copy" for status in engine.pipelines()):
        engine.stop("copy")


def test_list_shows_name_state_and_guarantee(copy: LocalEngine, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stream", "list"]) == 0
    assert "copy running at_least_once" in " ".join(capsys.readouterr().out.split())
    assert main(["stream", "list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["state"] == "running"


def test_list_says_how_to_begin(engine: LocalEngine, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stream", "list"]) == 0
    assert "headrace run app.py" in capsys.readouterr().out


def test_show_explains_itself(copy: LocalEngine, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stream", "show", "copy"]) == 0
    shown = capsys.readouterr().out
    assert "running, at_least_once, revision 1" in shown
    assert "late: 3 records of in-1" in shown
    assert main(["stream", "explain", "copy", "--form", "mermaid"]) == 0
    assert "flowchart" in capsys.readouterr().out


def test_pause_reset_resume_stop(copy: LocalEngine, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stream", "reset", "copy", "--yes"]) == 1
    assert "must be paused" in capsys.readouterr().err
    assert main(["stream", "pause", "copy"]) == 0
    wait_until(lambda: copy.status("copy").state is PipelineState.PAUSED, message="paused")
    assert main(["stream", "reset", "copy", "--yes"]) == 0
    assert main(["stream", "resume", "copy"]) == 0
    assert main(["stream", "stop", "copy", "--yes"]) == 0
    assert copy.pipelines() == ()


def test_a_name_that_is_not_there_is_one_line(engine: LocalEngine, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stream", "show", "nothing"]) == 1
    assert "there is no pipeline 'nothing'" in capsys.readouterr().err


def test_no_engine_says_how_to_start_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stream", "list", "--engine", "http://127.0.0.1:1"]) == 1
    assert "headrace engine" in capsys.readouterr().err


def test_a_file_that_makes_no_app_is_told(tmp_path: object, capsys: pytest.CaptureFixture[str]) -> None:
    path = f"{tmp_path}/nothing.py"
    with open(path, "w") as file:
        file.write("x = 1\n")
    assert main(["run", path, "--explain"]) == 1
    assert "makes no App at its top level" in capsys.readouterr().err
    assert main(["run", f"{tmp_path}/missing.py"]) == 1
    assert "There is no file" in capsys.readouterr().err
