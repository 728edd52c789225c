"""The supervisor with a runner that does what the test tells it; the real one is tested in test_service.py."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headrace.engine.record import PipelineRecord
from headrace.engine.supervisor import LOOK_MS, Supervisor
from headrace.plan.engine import (
    DesiredState,
    EngineError,
    Guarantee,
    PipelineState,
    PlanDoesNotFit,
    Submission,
    UnknownPipeline,
)
from headrace.testing import wait_until
from tests.engine.plans import copy_plan
from tests.engine.scripted import ScriptedRunner


class House:
    """A supervisor, its runner, its clock and what it remembered."""

    def __init__(self) -> None:
        self.runner = ScriptedRunner()
        self.now = 1_000_000
        self.remembered: list[tuple[str, PipelineRecord | None]] = []
        self.reasons: tuple[str, ...] = ()
        self.write_error: Exception | None = None
        self.supervisor = Supervisor(self.runner, self._remember, lambda _old, _new: self.reasons, lambda: self.now)

    def _remember(self, name: str, record: PipelineRecord | None) -> None:
        if self.write_error:
            raise self.write_error
        self.remembered.append((name, record))

    def wait_for(self, state: PipelineState, name: str = "copy") -> None:
        wait_until(lambda: self.supervisor.status(name).state is state, message=f"{name} {state}")


@pytest.fixture
def house() -> Iterator[House]:
    house = House()
    house.supervisor.start()
    yield house
    for running in house.runner.runs:
        running.may_stop.set()
    house.runner.may_run.set()
    house.supervisor.close()


@pytest.fixture
def running(house: House) -> House:
    house.supervisor.own({})
    house.supervisor.submit(Submission(copy_plan()))
    house.wait_for(PipelineState.RUNNING)
    return house


def record(desired: DesiredState = DesiredState.RUNNING) -> PipelineRecord:
    return PipelineRecord(copy_plan(), Guarantee.AT_LEAST_ONCE, desired, 5)


def test_a_submitted_pipeline_is_remembered_then_runs(running: House) -> None:
    assert [name for name, _ in running.remembered] == ["copy"]
    assert running.supervisor.progress("copy")["rows_in"] == 1


def test_nothing_runs_that_could_not_be_remembered(house: House) -> None:
    house.supervisor.own({})
    house.write_error = EngineError("the topic is gone")
    with pytest.raises(EngineError, match="the topic is gone"):
        house.supervisor.submit(Submission(copy_plan()))
    assert house.supervisor.pipelines() == ()


def test_a_standby_refuses_changes(house: House) -> None:
    with pytest.raises(EngineError, match="another one does"):
        house.supervisor.submit(Submission(copy_plan()))


def test_what_is_wanted_runs_again_after_a_restart_of_the_engine(house: House) -> None:
    house.supervisor.own({"copy": record()})
    house.wait_for(PipelineState.RUNNING)


def test_what_was_paused_stays_paused(house: House) -> None:
    house.supervisor.own({"copy": record(DesiredState.PAUSED)})
    wait_until(lambda: house.runner.opened == 1)
    assert house.supervisor.status("copy").state is PipelineState.PAUSED
    assert house.runner.runs == []


def test_pause_stops_the_queries_and_resume_starts_them(running: House) -> None:
    running.supervisor.pause("copy")
    running.wait_for(PipelineState.PAUSED)
    assert running.runner.runs[0].stopped.is_set()
    running.supervisor.resume("copy")
    running.wait_for(PipelineState.RUNNING)
    assert [each and each.desired for _, each in running.remembered] == ["running", "paused", "running"]


def test_a_failure_is_shown_and_tried_again_later(running: House) -> None:
    running.runner.runs[0].error = ValueError("no such topic")
    running.wait_for(PipelineState.FAILED)
    status = running.supervisor.status("copy")
    assert status.error == "no such topic"
    assert status.retry_at_ms == running.now + 1000
    running.now += 1000
    running.wait_for(PipelineState.RUNNING)
    assert running.supervisor.status("copy").restarts == 1
    assert running.supervisor.status("copy").error is None


def test_a_warning_of_a_pipeline_is_told_in_the_log_once(running: House, caplog: pytest.LogCaptureFixture) -> None:
    running.runner.runs[0].told["late count in-1"] = "late: 3 records of in-1"
    running.now += LOOK_MS
    wait_until(lambda: "copy: late: 3 records of in-1" in caplog.text)
    running.runner.runs[0].told = {"late count in-1": "late: 4 records of in-1", "late count in-0": "late: 1 of in-0"}
    running.now += LOOK_MS
    wait_until(lambda: "late: 1 of in-0" in caplog.text)
    assert "late: 4 records" not in caplog.text


def test_a_start_that_fails_is_tried_again(house: House) -> None:
    house.runner.refusals.append(ValueError("not yet"))
    house.supervisor.own({"copy": record()})
    house.wait_for(PipelineState.FAILED)
    house.now += 1000
    house.wait_for(PipelineState.RUNNING)


def test_a_restart_does_not_wait_for_the_backoff(running: House) -> None:
    running.runner.runs[0].error = ValueError("broken")
    running.wait_for(PipelineState.FAILED)
    running.supervisor.restart("copy")
    running.wait_for(PipelineState.RUNNING)


def test_a_start_that_nobody_wants_any_more_is_undone(house: House) -> None:
    house.supervisor.own({})
    house.runner.may_run.clear()
    house.supervisor.submit(Submission(copy_plan()))
    house.wait_for(PipelineState.STARTING)
    house.supervisor.stop("copy")
    house.runner.may_run.set()
    wait_until(lambda: house.runner.runs and house.runner.runs[0].stopped.is_set(), message="stopped")
    assert house.supervisor.pipelines() == ()


def test_a_pipeline_is_forgotten_once_stopped(running: House) -> None:
    running.supervisor.stop("copy")
    assert running.remembered[-1] == ("copy", None)
    with pytest.raises(UnknownPipeline, match="there are: none"):
        running.supervisor.status("copy")


def test_the_next_of_the_same_name_waits_for_the_end_of_the_one_before(running: House) -> None:
    first = running.runner.runs[0]
    first.may_stop.clear()
    running.supervisor.stop("copy")
    running.supervisor.submit(Submission(copy_plan()))
    assert running.supervisor.status("copy").state is PipelineState.WAITING
    assert len(running.runner.runs) == 1
    first.may_stop.set()
    running.wait_for(PipelineState.RUNNING)
    assert first.stopped.is_set()


def test_an_upgrade_goes_on_with_the_next_revision(running: House) -> None:
    running.supervisor.submit(Submission(copy_plan(sink="elsewhere")))
    wait_until(lambda: len(running.runner.runs) == 2)
    running.wait_for(PipelineState.RUNNING)
    assert running.supervisor.status("copy").revision == 2
    assert running.runner.runs[0].stopped.is_set()


def test_a_plan_that_does_not_fit_is_refused_with_the_way_out(running: House) -> None:
    running.reasons = ("the key of 'count' changes",)
    with pytest.raises(PlanDoesNotFit, match=r"the key of 'count' changes.*headrace stream reset copy"):
        running.supervisor.submit(Submission(copy_plan()))
    assert running.supervisor.status("copy").revision == 1
    assert not running.runner.runs[0].stopped.is_set()


def test_a_reset_needs_a_pause_and_begins_a_new_epoch(running: House) -> None:
    with pytest.raises(EngineError, match="must be paused"):
        running.supervisor.reset("copy")
    running.supervisor.pause("copy")
    running.wait_for(PipelineState.PAUSED)
    running.supervisor.reset("copy")
    assert [each.epoch for each in running.runner.forgotten] == [0]
    running.supervisor.resume("copy")
    running.wait_for(PipelineState.RUNNING)
    assert running.runner.runs[-1].record.epoch == 1


def test_spark_that_is_gone_is_started_again_with_all_pipelines(running: House) -> None:
    running.runner.is_alive = False
    running.runner.runs[0].error = ConnectionError("no JVM")
    wait_until(lambda: running.runner.opened == 2, message="opened again")
    running.wait_for(PipelineState.RUNNING)
    assert len(running.runner.runs) == 2


def test_spark_that_does_not_start_is_tried_again(house: House) -> None:
    house.supervisor.close()
    house = House()
    house.runner.open_failures.append(OSError("no Java"))
    house.supervisor.start()
    try:
        wait_until(lambda: house.supervisor.problem == "Spark did not start: no Java")
        house.now += 1000
        wait_until(lambda: house.supervisor.problem is None)
    finally:
        house.supervisor.close()


def test_pipelines_stop_here_when_another_engine_takes_over(running: House) -> None:
    running.supervisor.disown("another engine")
    running.wait_for(PipelineState.WAITING)
    assert running.runner.runs[0].stopped.is_set()
    running.supervisor.own({"copy": record()})
    running.wait_for(PipelineState.RUNNING)


def test_closing_stops_the_queries_and_forgets_nothing(running: House) -> None:
    running.supervisor.close()
    assert running.runner.runs[0].stopped.is_set()
    assert [each for _, each in running.remembered if each is None] == []
