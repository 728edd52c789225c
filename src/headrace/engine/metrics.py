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
    "headrace_pipeline_lag": ("Records that wait in the pipeline's source topics", "lag"),
    "headrace_pipeline_latency_p50_ms": ("Time from a record's timestamp to its output, median", "latency_ms.p50"),
    "headrace_pipeline_latency_p99_ms": (
        "Time from a record's timestamp to its output, 99th percentile",
        "latency_p99_ms",
    ),
    "headrace_pipeline_state_rows": ("Rows of state", "state_rows"),
    "headrace_pipeline_state_bytes": ("Memory of the state stores", "state_bytes"),
}


def render(engine: LocalEngine) -> str:
    """All figures now."""
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    state = Gauge(
        "headrace_pipeline_state", "1 for the state that a pipeline is in", ["pipeline", "state"], registry=registry
    )
    restarts = Gauge("headrace_pipeline_restarts", "Starts after a failure", ["pipeline"], registry=registry)
    gauges = {name: Gauge(name, text, ["pipeline"], registry=registry) for name, (text, _) in METRICS.items()}
    for status in engine.pipelines():
        for each in PipelineState:
            state.labels(status.name, each.value).set(each is status.state)
        restarts.labels(status.name).set(status.restarts)
        _figures(gauges, status.name, engine.progress(status.name))
    return generate_latest(registry).decode()


def _figures(gauges: Mapping[str, Gauge], pipeline: str, progress: Mapping[str, Any]) -> None:
    for name, (_, place) in METRICS.items():
        value: Any = progress
        for part in place.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        if isinstance(value, int | float):
            gauges[name].labels(pipeline).set(value)
