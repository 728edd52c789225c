"""What each step yields (its kind, key and value columns, window), and every check that a plan must pass before it runs.

One rule per kind of step. A `PlanError` names the step and says what to do. Pure: functions and formats come in through the protocols of `catalogue.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from headrace.plan import steps as s
from headrace.plan.aggregate_rules import aggregate, group_by
from headrace.plan.catalogue import Formats, Functions
from headrace.plan.end_rules import process, sink, source
from headrace.plan.join_rules import (
    foreign_key_join,
    global_table_join,
    stream_stream_join,
    stream_table_join,
    table_table_join,
)
from headrace.plan.plan import Plan, PlanError
from headrace.plan.relation import Context, Relation, RelationKind
from headrace.plan.row_rules import (
    branch,
    deduplicate,
    filter_,
    flat_map,
    merge,
    repartition,
    select,
    select_key,
    suppress,
    to_stream,
    to_table,
)
from headrace.plan.scope import Scope, expression_type

__all__ = ["Relation", "RelationKind", "Scope", "expression_type", "relations"]

_RULES: Mapping[type[s.Step], Callable[[Any, Context], Relation]] = {
    s.StreamSource: source,
    s.TableSource: source,
    s.GlobalTableSource: source,
    s.Select: select,
    s.Filter: filter_,
    s.SelectKey: select_key,
    s.FlatMap: flat_map,
    s.Merge: merge,
    s.Branch: branch,
    s.ToStream: to_stream,
    s.ToTable: to_table,
    s.Repartition: repartition,
    s.GroupBy: group_by,
    s.Aggregate: aggregate,
    s.Suppress: suppress,
    s.Deduplicate: deduplicate,
    s.StreamStreamJoin: stream_stream_join,
    s.StreamTableJoin: stream_table_join,
    s.GlobalTableJoin: global_table_join,
    s.TableTableJoin: table_table_join,
    s.ForeignKeyJoin: foreign_key_join,
    s.Process: process,
    s.Sink: sink,
}


def relations(plan: Plan, functions: Functions, formats: Formats | None = None) -> dict[str, Relation]:
    """What every step yields, by its id; branches under `<id>.<name>`. `PlanError` when the plan cannot run.

    With `formats` the serdes of sources and sinks are checked too.
    """
    found: dict[str, Relation] = {}
    for step in plan.steps:
        rule = _RULES.get(type(step))
        if rule is None:
            raise PlanError(step.id, f"{type(step).__name__} is no kind of step that this Headrace knows")
        _check_inputs(plan, step)
        relation = rule(step, Context(step.id, functions, formats, found))
        found[step.id] = relation
        if isinstance(step, s.Branch):
            found.update({f"{step.id}.{case.name}": relation for case in step.branches})
    return found


def _check_inputs(plan: Plan, step: s.Step) -> None:
    for name in s.inputs(step):
        origin = plan.step(name)
        if isinstance(origin, s.Branch) and name == origin.id:
            cases = ", ".join(f"{origin.id}.{case.name}" for case in origin.branches)
            raise PlanError(
                step.id, f"reads from the branching {name!r} as a whole; read from one of its branches: {cases}"
            )
        if isinstance(origin, s.Sink):
            raise PlanError(step.id, f"reads from the sink {name!r}; read from that sink's input {origin.input!r}")
