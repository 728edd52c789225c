"""A pipeline's graph as plain data, for whoever draws it: topics and steps with the edges between them, the queries they run in, and its tables."""

from __future__ import annotations

from typing import Any

from headrace.engine.record import PipelineRecord
from headrace.functions import CATALOGUE
from headrace.plan import steps as s
from headrace.plan.relations import Relation, relations
from headrace.plan.stages import CutSettings, Stage, stages
from headrace.plan.step_text import STATEFUL, step_text
from headrace.plan.stores import stores


def graph(record: PipelineRecord) -> dict[str, Any]:
    """`nodes` come after those that they are reached from. `topic` of an edge is the topic that its records are in, where they are in one."""
    plan = record.plan
    known = relations(plan, CATALOGUE)
    cut = stages(plan, known, CutSettings(record.guarantee))
    channels = {(one.flow, one.step): one.topic for stage in cut for one in stage.channels}
    queries = {name: stage.id for stage in reversed(cut) for name in _steps(stage)}
    topics: dict[str, dict[str, Any]] = {}
    nodes, edges = [], []
    for step in plan.steps:
        nodes.append(_node(step, known[step.id], queries.get(step.id, "")))
        if isinstance(step, s.SOURCES):
            edges.append(_edge(_topic(step.topic, topics), step.id, topic=step.topic))
        for name in s.inputs(step):
            start = plan.step(name).id
            edges.append(_edge(start, step.id, name.removeprefix(start).lstrip("."), channels.get((name, step.id), "")))
        if isinstance(step, s.Sink):
            topic = "?" if step.topic_expression is not None else step.topic
            edges.append(_edge(step.id, _topic(topic, topics), topic=topic))
    return {
        "nodes": [*topics.values(), *nodes],
        "edges": edges,
        "queries": [{"id": stage.id, "mode": stage.mode.value, "reasons": list(stage.reasons)} for stage in cut],
        "tables": [
            {"name": each.store, "step": each.step, "topic": each.topic, "key": list(each.key.columns.names)}
            | {"windowed": each.key.window is not None}
            for each in stores(plan, known).values()
        ],
    }


def _steps(stage: Stage) -> tuple[str, ...]:
    return (*stage.steps, *(output.step for output in stage.outputs))


def _topic(name: str, topics: dict[str, dict[str, Any]]) -> str:
    node = {"id": f"topic {name}", "title": name, "kind": "topic", "does": "", "columns": "", "query": ""}
    return str(topics.setdefault(name, node)["id"])


def _node(step: s.Step, relation: Relation, query: str) -> dict[str, Any]:
    kind = "stateful" if isinstance(step, STATEFUL) else ("end" if isinstance(step, (*s.SOURCES, s.Sink)) else "step")
    return {
        "id": step.id,
        "title": step.id,
        "kind": kind,
        "does": step_text(step),
        "columns": str(relation),
        "query": query,
    }


def _edge(start: str, end: str, label: str = "", topic: str = "") -> dict[str, str]:
    return {"start": start, "end": end, "label": label, "topic": topic}
