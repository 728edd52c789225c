"""In which of Spark's modes a stage can run, and in words why not in the faster one. Pure."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from enum import StrEnum

from headrace.plan import steps as s
from headrace.plan.engine import Guarantee
from headrace.plan.expressions import Expression, PythonCall


class Mode(StrEnum):
    """How Spark runs a query: record by record, or in small batches."""

    REAL_TIME = "real_time"
    MICRO_BATCH = "micro_batch"


def expressions_of(node: object) -> Iterator[Expression]:
    """Every expression in a step, however deep."""
    if isinstance(node, Expression):
        yield node
    if isinstance(node, tuple):
        for item in node:
            yield from expressions_of(item)
    elif dataclasses.is_dataclass(node) and not isinstance(node, type):
        for field in dataclasses.fields(node):
            yield from expressions_of(getattr(node, field.name))


def real_time_obstacles(steps: Iterable[s.Step], guarantee: Guarantee, real_time: bool, final: bool) -> tuple[str, ...]:
    """Why these steps cannot run in real-time mode; empty when they can."""
    reasons: list[str] = [] if real_time else ["real-time mode is switched off in the settings"]
    if guarantee is Guarantee.EXACTLY_ONCE:
        reasons.append("exactly_once commits a transaction with every micro-batch")
    for step in steps:
        reasons += [f"step {step.id!r}: {why}" for why in _obstacles(step, final)]
    return tuple(dict.fromkeys(reasons))


def _obstacles(step: s.Step, final: bool) -> Iterator[str]:
    for expression in expressions_of(step):
        if isinstance(expression, PythonCall):
            yield f"the Python function {expression.reference} runs in Python workers, which take micro-batches only"
    if isinstance(step, s.Process):
        yield f"the Python processor {step.processor} runs in Python workers, which take micro-batches only"
    if isinstance(step, s.Aggregate) and final:
        yield "final results leave when a batch has moved the watermark past their window"
    if isinstance(step, s.Suppress) and not final:
        yield "it holds results back until a batch has moved the watermark past them"
    if isinstance(step, s.StreamStreamJoin) and step.kind is not s.JoinKind.INNER:
        yield "rows without a partner leave when a batch has moved the watermark past their window"
