"""Operators with state: for each kind, the lowering that turns the lanes at its ports into the lanes that come out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce

from headrace.functions.sql_text import SqlTextError
from headrace.plan import steps as s
from headrace.plan.plan import PlanError
from headrace.plan.relations import RelationKind
from headrace.plan.stages import Operator, OperatorKind
from headrace.spark.lower import built_in, foreign_keys
from headrace.spark.lower.flow import Lane
from headrace.spark.lower.folds import lowered_fold
from headrace.spark.lower.joins import lowered_join
from headrace.spark.lower.ports import by_trunk, port_lanes
from headrace.spark.lower.process import lowered_process
from headrace.spark.lower.routes import routed
from headrace.spark.lower.stage import StageRows
from headrace.spark.lower.tables import lowered_table
from headrace.spark.lower.texts import Texts
from headrace.spark.lower.thinning import lowered_deduplicate, lowered_suppress

Lowering = Callable[[StageRows, Operator], dict[str, list[Lane]]]


def lowered_operator(stage: StageRows, operator: Operator) -> dict[str, list[Lane]]:
    """The flows that come out of an operator."""
    rule = _RULES.get(operator.kind)
    if rule is None:
        raise PlanError(operator.step, f"this Headrace cannot run the operator {operator.kind.value!r}")
    try:
        return rule(stage, operator)
    except SqlTextError as error:
        raise PlanError(operator.step, str(error)) from error


def _aggregate(stage: StageRows, operator: Operator) -> dict[str, list[Lane]]:
    step = stage.plan.step(operator.step)
    assert isinstance(step, s.Aggregate)
    relation = stage.relations[step.input]
    table = relation.kind is RelationKind.GROUPED_TABLE
    if built_in.is_built_in(step, relation, table, operator.old):
        return _built_in(stage, operator, step)
    return lowered_fold(stage, operator, step)


def _built_in(stage: StageRows, operator: Operator, step: s.Aggregate) -> dict[str, list[Lane]]:
    relation = stage.relations[step.input]
    aggregate = built_in.built_in(step, relation)
    texts = Texts.over(relation, stage.python)
    parts = []
    for trunk, lanes in by_trunk(port_lanes(stage, operator.ports[0])).items():
        columns = routed(trunk, [built_in.input_columns(aggregate, lane, texts) for lane in lanes])
        parts.append(stage.table(trunk, [f"{sql} AS {name}" for name, sql in columns.items()]))
    rows = built_in.late_counted(aggregate, reduce(lambda left, right: left.unionByName(right), parts), stage.plan.name)
    lane = built_in.output_lane(aggregate)
    stage.bases[lane.trunk] = built_in.aggregated(aggregate, rows)
    if operator.final:
        stage.output_mode = "append"
    return {step.id: [lane]}


_RULES: Mapping[OperatorKind, Lowering] = {
    OperatorKind.AGGREGATE: _aggregate,
    OperatorKind.TABLE: lowered_table,
    OperatorKind.STREAM_STREAM_JOIN: lowered_join,
    OperatorKind.STREAM_TABLE_JOIN: lowered_join,
    OperatorKind.TABLE_TABLE_JOIN: lowered_join,
    OperatorKind.FOREIGN_KEY_LEFT: foreign_keys.lowered_left,
    OperatorKind.FOREIGN_KEY_RIGHT: foreign_keys.lowered_right,
    OperatorKind.PROCESS: lowered_process,
    OperatorKind.SUPPRESS: lowered_suppress,
    OperatorKind.DEDUPLICATE: lowered_deduplicate,
}
