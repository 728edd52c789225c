"""Tables of which the value before each change is wanted."""

from __future__ import annotations

from headrace.plan.stages import Operator
from headrace.spark.lower.flow import Lane
from headrace.spark.lower.ports import Side, key_struct, keyed_flow, output_lane, port_lanes
from headrace.spark.lower.stage import StageRows
from headrace.spark.stateful.tables import TableChangesSpec, table_changes


def lowered_table(stage: StageRows, operator: Operator) -> dict[str, list[Lane]]:
    """A stream of values by key as changes of a table, each with the value before."""
    (port,) = operator.ports
    relation = stage.relations[operator.step]
    flow = keyed_flow(stage, key_struct(relation), Side(port_lanes(stage, port), relation.value))
    rows = table_changes(flow, TableChangesSpec(operator.step, stage.plan.name))
    return {operator.step: [output_lane(stage, rows, operator.step, relation, old=True, windowed=False)]}
