"""What a front end may ask of the service that runs plans. `headrace.engine` fulfils it twice: over HTTP, and in the process that asks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from headrace.plan.plan import Plan


class Guarantee(StrEnum):
    """`processing.guarantee`, with Kafka Streams' and ksqlDB's words."""

    AT_LEAST_ONCE = "at_least_once"
    EXACTLY_ONCE = "exactly_once"


class DesiredState(StrEnum):
    """What the owner of a pipeline wants; kept with the pipeline, so it survives the engine."""

    RUNNING = "running"
    PAUSED = "paused"


class PipelineState(StrEnum):
    """What a pipeline does at the moment."""

    WAITING = "waiting"  # the engine's Spark is not up yet, or this engine is a standby
    STARTING = "starting"
    RUNNING = "running"
    PAUSED = "paused"
    FAILED = "failed"  # it will be tried again, see `PipelineStatus.retry_at_ms`
    STOPPING = "stopping"


@dataclass(frozen=True)
class Submission:
    """A plan and how to run it. `settings` are those of `headrace.engine.settings`, as text; what is missing has its default."""

    plan: Plan
    guarantee: Guarantee = Guarantee.AT_LEAST_ONCE
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class PipelineStatus:
    """A pipeline as the engine sees it now."""

    name: str
    desired: DesiredState
    state: PipelineState
    guarantee: Guarantee
    revision: int
    submitted_at_ms: int
    restarts: int = 0
    error: str | None = None
    retry_at_ms: int | None = None


class EngineError(Exception):
    """The engine refuses; the message says why and what to do."""


class UnknownPipeline(EngineError):
    """There is no pipeline of that name."""


class PlanDoesNotFit(EngineError):
    """The new plan cannot go on with the state of the old one. `reasons` are sentences."""

    def __init__(self, name: str, reasons: tuple[str, ...]) -> None:
        listed = "; ".join(reasons)
        super().__init__(
            f"{name!r} runs with state that the new plan cannot use: {listed}. "
            f"Either reset it (`headrace stream reset {name}`, which processes its input anew) or submit it under another name."
        )
        self.name = name
        self.reasons = reasons


class Engine(Protocol):
    """Everything the CLI, the console and the Streams API do with pipelines. All of it raises `EngineError`."""

    def submit(self, submission: Submission) -> PipelineStatus:
        """Start a pipeline, or go on with a new plan under the same name if its state allows it (`PlanDoesNotFit`)."""
        ...

    def pipelines(self) -> tuple[PipelineStatus, ...]: ...

    def status(self, name: str) -> PipelineStatus: ...

    def plan(self, name: str) -> Plan: ...

    def progress(self, name: str) -> Mapping[str, Any]:
        """Rates, latency, lag, watermark, state, late and bad records, per stage."""
        ...

    def pause(self, name: str) -> PipelineStatus: ...

    def resume(self, name: str) -> PipelineStatus: ...

    def restart(self, name: str) -> PipelineStatus: ...

    def stop(self, name: str) -> None:
        """End the pipeline and forget it. Its topics and its state stay; `reset` before it removes the state."""
        ...

    def reset(self, name: str) -> PipelineStatus:
        """Begin anew: state, internal topics and positions go, output topics stay. The pipeline must be paused."""
        ...

    def look_up(self, name: str, store: str, query: Mapping[str, Any]) -> Mapping[str, Any]:
        """Rows of a queryable table: `{"key": …}`, `{"from": …, "to": …}` or `{}` for all, with `limit`."""
        ...

    def close(self) -> None: ...
