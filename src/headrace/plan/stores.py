"""The queryable tables of a plan: which step keeps each, and how its rows lie in the changelog topic.

The changelog is meant for others too: a key of one simple column has the form of Kafka's own serializers, anything else is JSON, and so are values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headrace.plan import steps as s
from headrace.plan import windows as w
from headrace.plan.plan import Plan, PlanError
from headrace.plan.relations import Relation
from headrace.plan.serdes import KeyWindow, Serde
from headrace.plan.stages import changelog_topic
from headrace.plan.types import BIGINT, BYTES, DOUBLE, INTEGER, STRING, Struct

SIMPLE_KEYS = (STRING, INTEGER, BIGINT, DOUBLE, BYTES)


@dataclass(frozen=True)
class StoreTopic:
    """A store's changelog. `step` is the id of the table that is kept; `retention_ms`: how long its windows are, None for ever."""

    store: str
    step: str
    topic: str
    key: Serde
    value: Serde
    retention_ms: int | None = None


def stores(plan: Plan, relations: Mapping[str, Relation]) -> dict[str, StoreTopic]:
    """Every named store of the plan; two of one name are an error."""
    found: dict[str, StoreTopic] = {}
    for step in plan.steps:
        name = getattr(step, "store", None)
        if name is None:
            continue
        if name in found:
            raise PlanError(
                step.id, f"the store {name!r} is that of step {found[name].step!r} already; choose another name"
            )
        relation = relations[step.id]
        found[name] = StoreTopic(
            store=name,
            step=step.id,
            topic=changelog_topic(plan.name, name),
            key=key_serde(relation.key, relation.window, relation.window_size_ms),
            value=Serde("json", relation.value),
            retention_ms=None if relation.window is None else _retention_ms(plan, step),
        )
    return found


def _retention_ms(plan: Plan, step: s.Step) -> int | None:
    """How long the windows of a table are kept: as those of the aggregate that made them, however the rows were changed since."""
    match step:
        case s.Aggregate(window=window):
            return None if window is None else w.retention_ms(window)
        case s.Filter() | s.Select() | s.Suppress():
            return _retention_ms(plan, plan.step(step.input))
        case s.TableTableJoin():
            left, right = (_retention_ms(plan, plan.step(side)) for side in (step.left, step.right))
            return None if left is None or right is None else max(left, right)
    return None  # windows that came from a topic: nobody said how long they change


def key_serde(key: Struct, window: KeyWindow | None, window_size_ms: int | None) -> Serde:
    """How a table's keys lie in topics of our own."""
    if len(key.fields) == 1 and key.fields[0].type in SIMPLE_KEYS:
        return Serde("kafka", key, wrapped=False, window=window, window_size_ms=window_size_ms)
    return Serde("json", key, window=window, window_size_ms=window_size_ms)
