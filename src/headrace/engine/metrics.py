"""The engine's figures in Prometheus' text form: one line each in `METRICS`, from which the reference page is made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry, Gauge, ProcessCollector, generate_latest

from headrace.plan.engine import PipelineState

if TYPE_CHECKING:
    from headrace.engine.service import LocalEngine

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

# name → (meaning, the place in a pipeline's progress)
METRICS: Mapping[str, tuple[str, str]] = {
    "headrace_pipeline_rows_in": ("Records read since the pipeline started", "rows_in"),
    "headrace_pipeline_rows_out": ("Records written since the pipeline started", "rows_out"),
    "headrace_pipeline_bad": ("Records that could not be decoded", "bad"),
    "headrace_pipeline_late": ("Records that came after their window was closed", "late"),
    "headrace_pipeline_dropped": (
        "Records that a step cannot use: without a key or a value where it needs one",
        "dropped",
    ),
    "headrace_pipeline_lag": ("Records that wait in the pipeline's source topics", "lag"),
    "headrace_pipeline_latency_p50_ms": ("Time from a record's timestamp to its output, median", "latency_ms.p50"),
    "headrace_pipeline_latency_p99_ms": (
        "Time from a record's timestamp to its output, 99th percentile",
        "latency_ms.p99",
    ),
    "headrace_pipeline_state_rows": ("Rows of state", "state_rows"),
    "headrace_pipeline_state_bytes": ("Memory of the state stores", "state_bytes"),
}

STATE, STATE_DOC = "headrace_pipeline_state", "1 for the state that a pipeline is in"
RESTARTS, RESTARTS_DOC = "headrace_pipeline_restarts", "Starts after a failure"
LATE = "headrace_pipeline_partition_late"
LATE_DOC = "Records of a source partition that came too late for a step"


def render(engine: LocalEngine) -> str:
    """All figures now."""
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    state = Gauge(STATE, STATE_DOC, ["pipeline", "state"], registry=registry)
    restarts = Gauge(RESTARTS, RESTARTS_DOC, ["pipeline"], registry=registry)
    gauges = {name: Gauge(name, text, ["pipeline"], registry=registry) for name, (text, _) in METRICS.items()}
    late = Gauge(LATE, LATE_DOC, ["pipeline", "step", "partition"], registry=registry)
    for status in engine.pipelines():
        for each in PipelineState:
            state.labels(status.name, each.value).set(each is status.state)
        restarts.labels(status.name).set(status.restarts)
        progress = engine.progress(status.name)
        _figures(gauges, status.name, progress)
        for one in progress.get("late_partitions", ()):
            late.labels(status.name, one["step"], one["partition"]).set(one["records"])
    return generate_latest(registry).decode()


def _figures(gauges: Mapping[str, Gauge], pipeline: str, progress: Mapping[str, Any]) -> None:
    for name, (_, place) in METRICS.items():
        value: Any = progress
        for part in place.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        if isinstance(value, int | float):
            gauges[name].labels(pipeline).set(value)
