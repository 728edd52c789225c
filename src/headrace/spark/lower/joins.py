"""Joins by key: the two sides meet in one processor, which keeps the tables and the rows that wait."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from headrace.functions.sql_text import expression_sql, quote
from headrace.plan import expressions as ex
from headrace.plan import steps as s
from headrace.plan.relations import Relation
from headrace.plan.scope import Place, Scope
from headrace.plan.stage_modes import expressions_of
from headrace.plan.stages import Operator
from headrace.plan.types import Struct
from headrace.spark.lower.flow import Lane, named_struct
from headrace.spark.lower.ports import (
    WINDOW_END,
    WINDOW_START,
    Side,
    key_struct,
    keyed_flow,
    output_lane,
    port_lanes,
)
from headrace.spark.lower.stage import StageRows
from headrace.spark.lower.texts import join_scope
from headrace.spark.stateful.joins import (
    StreamStreamJoinSpec,
    StreamTableJoinSpec,
    TableTableJoinSpec,
    stream_stream_join,
    stream_table_join,
    table_table_join,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

KeyedJoin = s.StreamStreamJoin | s.StreamTableJoin | s.TableTableJoin


def lowered_join(stage: StageRows, operator: Operator) -> dict[str, list[Lane]]:
    """A join of two flows with equal keys."""
    step = stage.plan.step(operator.step)
    assert isinstance(step, s.StreamStreamJoin | s.StreamTableJoin | s.TableTableJoin)
    left, right = stage.relations[step.left], stage.relations[step.right]
    key = key_struct(left)
    sides = used_columns(step.columns, left, right)
    flow = keyed_flow(
        stage,
        key,
        Side(port_lanes(stage, operator.ports[0]), sides[0]),
        Side(port_lanes(stage, operator.ports[1]), sides[1]),
    )
    rows = _joined(stage, step, flow, result_sql(step.columns, left, right, key), operator.old)
    return {step.id: [output_lane(stage, rows, step.id, stage.relations[step.id], operator.old, windowed=False)]}


def _joined(stage: StageRows, step: KeyedJoin, flow: DataFrame, columns: str, old: bool) -> DataFrame:
    names = (step.id, stage.plan.name)
    kind = step.kind.value
    if isinstance(step, s.StreamTableJoin):
        return stream_table_join(flow, StreamTableJoinSpec(*names, kind, columns, stage.is_real_time))  # type: ignore[arg-type]
    if isinstance(step, s.TableTableJoin):
        return table_table_join(flow, TableTableJoinSpec(*names, kind, columns, old))  # type: ignore[arg-type]
    times = (step.before_ms, step.after_ms, step.grace_ms)
    spec = StreamStreamJoinSpec(*names, kind, columns, *times)  # type: ignore[arg-type]
    return stream_stream_join(flow, spec)


def used_columns(columns: Iterable[ex.Named], left: Relation, right: Relation) -> tuple[Struct, Struct]:
    """The value columns of either side that a join's result is made of. A side of which none is used keeps one, to tell a row from none."""
    scope = join_scope(left, right)
    used: dict[ex.Side | None, set[str]] = {ex.Side.LEFT: set(), ex.Side.RIGHT: set()}
    for one in expressions_of(tuple(columns)):
        if isinstance(one, ex.Column) and scope.find(one)[0] is Place.VALUE:
            used.setdefault(one.side, set()).add(one.name)
    return some_of(left.value, used[ex.Side.LEFT]), some_of(right.value, used[ex.Side.RIGHT])


def some_of(columns: Struct, names: Iterable[str]) -> Struct:
    """The columns of these names, at least one."""
    wanted = set(names) or set(columns.names[:1])
    return Struct(tuple(field for field in columns if field.name in wanted))


def result_sql(columns: Sequence[ex.Named], left: Relation, right: Relation, key: Struct) -> str:
    """The result's value as SQL over `key`, `left`, `right`, `left_ts` and `right_ts`."""
    scope = join_scope(left, right)
    resolve = resolver(scope, {ex.Side.LEFT: left, ex.Side.RIGHT: right}, key)
    return named_struct({one.name: expression_sql(one.expression, resolve, scope) for one in columns})


def resolver(
    scope: Scope, relations: dict[ex.Side | None, Relation], key: Struct
) -> Callable[[ex.Column | ex.RowMeta], str]:
    """Columns of a join's sides; the keys of both are the operator's key, by position."""

    def resolve(node: ex.Column | ex.RowMeta) -> str:
        if isinstance(node, ex.RowMeta):
            return _meta(node)
        place, _ = scope.find(node)
        if place is Place.VALUE:
            return f"{node.side}.{quote(node.name)}"
        position = relations[node.side].key.names.index(node.name)
        return f"key.{quote(key.names[position])}"

    return resolve


def _meta(node: ex.RowMeta) -> str:
    if node.name is ex.Meta.ROWTIME:
        return f"{node.side}_ts"
    if node.name in (ex.Meta.WINDOWSTART, ex.Meta.WINDOWEND):
        return f"key.{quote(WINDOW_START if node.name is ex.Meta.WINDOWSTART else WINDOW_END)}"
    kinds = {ex.Meta.ROWPARTITION: "INT", ex.Meta.ROWOFFSET: "BIGINT", ex.Meta.TOPIC: "STRING"}
    return f"CAST(NULL AS {kinds.get(node.name, 'ARRAY<STRUCT<key: STRING, value: BINARY>>')})"
