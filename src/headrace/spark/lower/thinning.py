"""Suppress and de-duplicate: operators that let fewer rows through."""

from __future__ import annotations

from dataclasses import replace

from headrace.plan import steps as s
from headrace.plan import windows as w
from headrace.plan.plan import Plan, PlanError
from headrace.plan.stages import Operator
from headrace.plan.types import Field, Struct
from headrace.spark.lower.flow import Lane, RowSql, Trunk, row_of, without_failures
from headrace.spark.lower.ports import SHUFFLE_SLOT, Side, key_struct, keyed_flow, output_lane, port_lanes
from headrace.spark.lower.stage import StageRows
from headrace.spark.lower.texts import Texts
from headrace.spark.stateful.deduplicate import DeduplicateSpec, deduplicate
from headrace.spark.stateful.suppress import SuppressSpec, suppress


def lowered_suppress(stage: StageRows, operator: Operator) -> dict[str, list[Lane]]:
    """A table with fewer updates. Windows are beside the key here: the processor looks at their ends."""
    step = stage.plan.step(operator.step)
    assert isinstance(step, s.Suppress)
    relation = stage.relations[step.id]
    by_window = step.until_window_closes
    lanes = port_lanes(stage, operator.ports[0])
    key = relation.key if by_window else key_struct(relation)
    flow = keyed_flow(stage, key, Side(lanes, relation.value), windows=by_window)
    wait = closing_ms(stage.plan, step) if by_window else step.wait_ms or 0
    spec = SuppressSpec(step.id, wait, by_window, step.max_records, stage.plan.name, stage.is_real_time)
    rows = suppress(flow, spec)
    return {step.id: [output_lane(stage, rows, step.id, relation, operator.old, windowed=by_window)]}


def closing_ms(plan: Plan, step: s.Suppress) -> int:
    """How long after a window's end it is closed: its grace, of sessions and the gap, and a millisecond where the end belongs to the window."""
    window = _window_before(plan, step.input)
    if isinstance(window, w.Session):
        return window.grace_ms + window.gap_ms + 1
    if isinstance(window, w.Sliding):
        return window.grace_ms + 1
    if isinstance(window, w.Tumbling | w.Hopping):
        return window.grace_ms
    raise PlanError(step.id, "waits for windows to close, but those of its input are closed by records, not by time")


def _window_before(plan: Plan, flow: str) -> w.Window | None:
    """The window of the aggregate that a table's keys come from."""
    step = plan.step(flow)
    while not isinstance(step, s.Aggregate):
        before = s.inputs(step)
        if not before:
            return None
        step = plan.step(before[0])
    return step.window


def lowered_deduplicate(stage: StageRows, operator: Operator) -> dict[str, list[Lane]]:
    """The first row for each value of `by`; key, value and place of the row travel along."""
    step = stage.plan.step(operator.step)
    assert isinstance(step, s.Deduplicate)
    relation = stage.relations[step.input]
    texts = Texts.over(relation, stage.python)
    by = Struct(tuple(Field(f"b{i}", texts.type(one)) for i, one in enumerate(step.by)))
    carried = Struct((Field("key", relation.key), Field("value", relation.value)))
    lanes = []
    for lane in port_lanes(stage, operator.ports[0]):
        compared = RowSql(dict(zip(by.names, lane.trunk.columns([texts.sql(one, lane) for one in step.by]))))
        lane = without_failures(lane, alone=False)
        row = RowSql({"key": lane.key.struct(), "value": lane.value.struct()})
        lanes.append(replace(lane, key=compared, value=row, window=None))
    flow = keyed_flow(stage, by, Side(lanes, carried))
    rows = deduplicate(flow, DeduplicateSpec(step.id, step.within_ms, stage.plan.name, stage.is_real_time))
    trunk = Trunk(step.id, SHUFFLE_SLOT, [step.id])
    stage.bases[trunk] = rows
    lane = Lane(trunk, row_of("value.key", relation.key.names), row_of("value.value", relation.value.names), "ts")
    return {step.id: [lane]}
