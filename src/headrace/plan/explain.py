"""How a plan runs, for people: as text, as Mermaid, as a picture. Shows the stages, their modes and why a mode is the slower one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from headrace.plan import steps as s
from headrace.plan.catalogue import Functions
from headrace.plan.engine import Guarantee
from headrace.plan.expressions import PythonCall
from headrace.plan.picture import Box, Edge, draw
from headrace.plan.plan import Plan
from headrace.plan.relations import Relation, relations
from headrace.plan.stage_modes import Mode, expressions_of
from headrace.plan.stages import CutSettings, Stage, stages
from headrace.plan.step_text import STATEFUL, step_text

_MODES = {Mode.REAL_TIME: "real time, record by record", Mode.MICRO_BATCH: "micro-batches"}
PYTHON_PRICE = (
    "runs in Python: every record leaves the JVM and comes back, which costs several times what an expression does"
)


def text(plan: Plan, guarantee: Guarantee, functions: Functions) -> str:
    """Every stage with what it reads, its steps with their types, and what it writes."""
    known = relations(plan, functions)
    cut = stages(plan, known, CutSettings(guarantee))
    lines = [f"Pipeline {plan.name}, {guarantee}, {len(cut)} {'query' if len(cut) == 1 else 'queries'}"]
    for stage in cut:
        lines += ["", *_stage_lines(plan, stage, known)]
    return "\n".join(lines) + "\n"


def _stage_lines(plan: Plan, stage: Stage, known: Mapping[str, Relation]) -> Iterator[str]:
    yield f"Query {stage.id}: {_MODES[stage.mode]}"
    for reason in stage.reasons:
        yield f"  because {reason}"
    for channel in stage.channels:
        yield f"  read    internal topic {channel.topic}, with the rows of {channel.flow}"
    for name in stage.steps:
        step = plan.step(name)
        yield f"  {name}{_from(step)}: {step_text(step)}"
        yield f"      = {known[name]}"
        if any(isinstance(one, PythonCall) for one in expressions_of(step)) or isinstance(step, s.Process):
            yield f"      ! {PYTHON_PRICE}"
    for output in stage.outputs:
        place = "what its expression names" if not output.topic else output.topic
        yield f"  write   {output.kind} {place}, with the rows of {output.flow}"


def _from(step: s.Step) -> str:
    names = s.inputs(step)
    return f" from {', '.join(names)}" if names and not isinstance(step, s.JOINS) else ""


def mermaid(plan: Plan, guarantee: Guarantee, functions: Functions) -> str:
    """A Mermaid flowchart: a box per query, a node per step and topic."""
    boxes, edges = _graph(plan, guarantee, functions)
    names = {box.id: f"n{position}" for position, box in enumerate(boxes)}
    lines = ["flowchart LR"]
    groups: dict[str, list[Box]] = {}
    for box in boxes:
        groups.setdefault(box.group, []).append(box)
    for position, (group, inside) in enumerate(groups.items()):
        if group:
            lines.append(f'  subgraph q{position}["{_label(group)}"]')
        lines += [f"  {'  ' if group else ''}{names[box.id]}{_shape(box)}" for box in inside]
        if group:
            lines.append("  end")
    for edge in edges:
        arrow = f'-- "{_label(edge.label)}" -->' if edge.label else "-->"
        lines.append(f"  {names[edge.start]} {arrow} {names[edge.end]}")
    return "\n".join(lines) + "\n"


def _shape(box: Box) -> str:
    label = _label("\n".join([box.title, *box.lines[:1]]))
    return {"topic": f'[("{label}")]', "stateful": f'{{{{"{label}"}}}}'}.get(box.kind, f'["{label}"]')


def _label(text: str) -> str:
    """A text as a label in quotes: Mermaid knows entities, and everything that it could take for syntax is one."""
    escaped = re.sub(r"[^\w \n.,:/()-]", lambda found: f"#{ord(found[0])};", _cut(text, 120))
    return escaped.replace("\n", "<br/>")


def svg(plan: Plan, guarantee: Guarantee, functions: Functions) -> str:
    """A picture of the plan that stands alone, for light and dark pages."""
    boxes, edges = _graph(plan, guarantee, functions)
    return draw(f"{plan.name}, {guarantee}", boxes, edges)


def _graph(plan: Plan, guarantee: Guarantee, functions: Functions) -> tuple[list[Box], list[Edge]]:
    known = relations(plan, functions)
    cut = stages(plan, known, CutSettings(guarantee))
    groups: dict[str, str] = {}
    for stage in cut:
        for name in (*stage.steps, *(output.step for output in stage.outputs)):
            groups.setdefault(name, f"query {stage.id}, {_MODES[stage.mode]}")
    # Where two queries hand rows to one another through a topic, the edge says so.
    channels = {(one.flow, one.step): one.topic for stage in cut for one in stage.channels}
    topics: dict[str, Box] = {}
    boxes: list[Box] = []
    edges: list[Edge] = []
    for step in plan.steps:
        boxes.append(_box(step, known, groups.get(step.id, "")))
        if isinstance(step, s.SOURCES):
            edges.append(Edge(_topic(step.topic, topics), step.id))
        for name in s.inputs(step):
            branch = name.removeprefix(plan.step(name).id).lstrip(".")
            edges.append(Edge(plan.step(name).id, step.id, channels.get((name, step.id)) or branch))
        if isinstance(step, s.Sink):
            topic = "?" if step.topic_expression is not None else step.topic
            edges.append(Edge(step.id, _topic(topic, topics)))
    return [*topics.values(), *boxes], edges


def _topic(topic: str, topics: dict[str, Box]) -> str:
    name = f"topic {topic}"
    topics.setdefault(name, Box(name, topic, (), "topic", ""))
    return name


def _box(step: s.Step, known: Mapping[str, Relation], group: str) -> Box:
    relation = known[step.id]
    kind = "stateful" if isinstance(step, STATEFUL) else ("end" if isinstance(step, (*s.SOURCES, s.Sink)) else "step")
    return Box(
        step.id,
        step.id,
        (_cut(step_text(step), 46), _cut(str(relation), 46)),
        kind,
        group,
        f"{step_text(step)}\n{relation}",
    )


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"
