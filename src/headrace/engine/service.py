"""The engine put together: the log of wanted pipelines, the supervisor, the tables. Fulfils `headrace.plan.engine.Engine` in this process."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from headrace.engine.pipeline_log import PipelineLog
from headrace.engine.record import PipelineRecord
from headrace.engine.runner import Runner, SparkRunner
from headrace.engine.settings import EngineSettings, pipeline_numbers
from headrace.engine.supervisor import Supervisor
from headrace.engine.table_views import TableViews
from headrace.formats import FORMATS
from headrace.functions import CATALOGUE
from headrace.plan.engine import EngineError, PipelineStatus, Submission
from headrace.plan.plan import Plan
from headrace.plan.relations import relations
from headrace.plan.upgrade import compatibility

log = logging.getLogger(__name__)


class LocalEngine:
    """An engine in this process. `start` returns at once; pipelines run as soon as Spark is up and the log is ours."""

    def __init__(self, settings: EngineSettings, runner: Runner | None = None) -> None:
        self.settings = settings
        self._supervisor = Supervisor(runner or SparkRunner(settings), self._remember, _fits)
        self._log = None if settings.embedded else self._pipeline_log()
        self._tables = TableViews(settings)
        self._standby: str | None = "waiting to be given the pipelines of this cluster"
        self.complaints: tuple[str, ...] = ()

    def start(self) -> None:
        if self._log is not None:
            self._log.start()
        else:
            self._owned({}, [])
        self._supervisor.start()

    def close(self) -> None:
        """Stop all queries; what is wanted goes on with the next engine."""
        if self._log is not None:
            self._log.close()
        self._supervisor.close()
        self._tables.close()

    def problems(self) -> list[str]:
        """Why pipelines do not run at the moment, as sentences; empty when they do."""
        return [text for text in (self._supervisor.problem, self._standby, *self.complaints) if text]

    def submit(self, submission: Submission) -> PipelineStatus:
        check(submission.plan)
        pipeline_numbers(submission.settings)
        status = self._supervisor.submit(submission)
        self._tables.forget(submission.plan.name)  # a changed plan may keep its tables otherwise
        return status

    def pipelines(self) -> tuple[PipelineStatus, ...]:
        return self._supervisor.pipelines()

    def status(self, name: str) -> PipelineStatus:
        return self._supervisor.status(name)

    def plan(self, name: str) -> Plan:
        return self._supervisor.record(name).plan

    def record(self, name: str) -> PipelineRecord:
        return self._supervisor.record(name)

    def progress(self, name: str) -> Mapping[str, Any]:
        return self._supervisor.progress(name)

    def pause(self, name: str) -> PipelineStatus:
        return self._supervisor.pause(name)

    def resume(self, name: str) -> PipelineStatus:
        return self._supervisor.resume(name)

    def restart(self, name: str) -> PipelineStatus:
        return self._supervisor.restart(name)

    def stop(self, name: str) -> None:
        self._supervisor.stop(name)
        self._tables.forget(name)

    def reset(self, name: str) -> PipelineStatus:
        self._tables.forget(name)
        return self._supervisor.reset(name)

    def look_up(self, name: str, store: str, query: Mapping[str, Any]) -> Mapping[str, Any]:
        return self._tables.look_up(self._supervisor.record(name), store, query)

    def _remember(self, name: str, record: PipelineRecord | None) -> None:
        if self._log is not None:
            self._log.append(name, record)

    def _pipeline_log(self) -> PipelineLog:
        settings = self.settings
        return PipelineLog(
            settings.bootstrap_servers, settings.engine_id(), self._owned, self._lost, kafka=settings.kafka
        )

    def _owned(self, records: dict[str, PipelineRecord], complaints: list[str]) -> None:
        self._standby, self.complaints = None, tuple(complaints)
        for complaint in complaints:
            log.error("%s", complaint)
        self._supervisor.own(records)

    def _lost(self, reason: str) -> None:
        self._standby = reason
        self._supervisor.disown(reason)


def check(plan: Plan) -> None:
    """Refuse a plan that cannot run, before anything is remembered."""
    from headrace.plan.plan import PlanError

    try:
        relations(plan, CATALOGUE, FORMATS)
    except PlanError as error:
        raise EngineError(str(error)) from error


def _fits(old: PipelineRecord, new: PipelineRecord) -> tuple[str, ...]:
    reasons = tuple(compatibility(old.plan, new.plan, CATALOGUE))
    if old.guarantee is not new.guarantee:
        reasons += (f"the guarantee changes from {old.guarantee} to {new.guarantee}",)
    if old.settings.get("shuffle.partitions") != new.settings.get("shuffle.partitions"):
        reasons += ("shuffle.partitions changes, and state is divided by it",)
    return reasons
