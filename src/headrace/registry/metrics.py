"""The registry's figures in Prometheus' text form: one line each in `METRICS`, from which the reference page is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Gauge, ProcessCollector, generate_latest

if TYPE_CHECKING:
    from headrace.registry.service import Registry

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

# name → (meaning, where it comes from)
METRICS: Mapping[str, tuple[str, Callable[[Registry], float]]] = {
    "headrace_registry_leader": ("1 on the instance that leads", lambda registry: registry.leading),
    "headrace_registry_subjects": ("Subjects, also soft deleted ones", lambda registry: registry.state.counts()[0]),
    "headrace_registry_versions": ("Versions, also soft deleted ones", lambda registry: registry.state.counts()[1]),
    "headrace_registry_contexts": ("Contexts", lambda registry: len(registry.state.contexts())),
    "headrace_registry_skipped_records": (
        "Records of the topic that are not of the registry's form and left alone",
        lambda registry: registry.skipped,
    ),
    "headrace_registry_conflicts": (
        "Schemas in the topic that are left alone because their id stands for another",
        lambda registry: len(registry.state.complaints),
    ),
}


def render(registry: Registry) -> str:
    """All figures now."""
    collector = CollectorRegistry()
    ProcessCollector(registry=collector)
    for name, (meaning, value) in METRICS.items():
        Gauge(name, meaning, registry=collector).set(value(registry))
    return generate_latest(collector).decode()
