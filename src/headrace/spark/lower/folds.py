"""Aggregates as folds: those that Spark's own operator cannot do, by a processor that keeps an accumulator per key and window.

What a row brings is computed before the shuffle, so only that goes through it: the arguments of aggregate functions, or the columns that a
user's fold uses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from headrace.functions import CATALOGUE
from headrace.functions.sql_text import cast_sql, expression_sql, quote
from headrace.plan import expressions as ex
from headrace.plan import steps as s
from headrace.plan.relations import Relation, RelationKind
from headrace.plan.scope import Place, RowScope, Scope, expression_type
from headrace.plan.stage_modes import expressions_of
from headrace.plan.stages import Operator
from headrace.plan.types import BOOLEAN, Field, Struct
from headrace.plan.windows import Punctuation, Window
from headrace.spark.lower.built_in import counted
from headrace.spark.lower.flow import Lane, RowSql, named_struct, without_failures
from headrace.spark.lower.foreign_keys import ddl
from headrace.spark.lower.ports import Side, key_struct, keyed_flow, output_lane, port_lanes
from headrace.spark.lower.stage import StageRows
from headrace.spark.lower.texts import Texts
from headrace.spark.stateful.folds import FoldSpec, Leaves, fold

END_CONDITION = "ends the window"


@dataclass(frozen=True)
class FoldTexts:
    """A fold in SQL, and what of each row it needs: expressions by the name of their field in `row`."""

    row: Mapping[str, ex.Expression]
    state: Struct
    initial: str
    update: str
    result: str
    undo: str | None
    merge: str | None
    unmerge: str | None = None


def lowered_fold(stage: StageRows, operator: Operator, step: s.Aggregate) -> dict[str, list[Lane]]:
    relation = stage.relations[step.input]
    texts = Texts.over(relation, stage.python)
    is_table = relation.kind is RelationKind.GROUPED_TABLE
    parts = _of_user(step.fold, relation) if step.fold else _of_functions(step.aggregates, texts)
    wanted = dict(parts.row)
    if isinstance(step.window, Punctuation):
        wanted[END_CONDITION] = step.window.end
    columns = Struct(tuple(Field(name, texts.type(one)) for name, one in wanted.items()))
    lanes = [_brought(lane, wanted, texts, is_table, step.window) for lane in port_lanes(stage, operator.ports[0])]
    flow = keyed_flow(
        stage, key_struct(relation), Side(lanes, columns), Side((), columns) if is_table else None, is_table
    )
    rows = fold(flow, _spec(stage, operator, step, parts))
    result = stage.relations[step.id]
    return {step.id: [output_lane(stage, rows, step.id, result, operator.old, windowed=step.window is not None)]}


def _spec(stage: StageRows, operator: Operator, step: s.Aggregate, parts: FoldTexts) -> FoldSpec:
    emit = Leaves.EVERY_UPDATE if stage.settings.every_update else Leaves.LAST_OF_BATCH
    return FoldSpec(
        step=step.id,
        state=ddl(parts.state),
        initial=parts.initial,
        update=parts.update,
        result=parts.result,
        undo=parts.undo,
        merge=parts.merge,
        unmerge=parts.unmerge,
        first_is_initial=step.fold is not None and step.fold.first_is_initial,
        window=step.window,
        window_end=f"row.{quote(END_CONDITION)}" if isinstance(step.window, Punctuation) else None,
        emit=Leaves.FINAL if operator.final else emit,
        old=operator.old,
        pipeline=stage.plan.name,
        real_time=stage.is_real_time,
    )


def _brought(
    lane: Lane, wanted: Mapping[str, ex.Expression], texts: Texts, is_table: bool, window: Window | None
) -> Lane:
    """A lane with the fields of `row` as its value."""
    if not is_table:
        lane = counted(lane, window)
    value = RowSql({name: texts.sql(one, lane) for name, one in wanted.items()}, lane.value.missing)
    old = lane.old
    if old is not None:
        old = RowSql({name: texts.sql(one, lane, old) for name, one in wanted.items()}, old.missing)
    lane = without_failures(lane, alone=False)
    return replace(lane, value=value, old=old)


def _of_functions(calls: Sequence[s.AggregateCall], texts: Texts) -> FoldTexts:
    """Aggregate functions as one fold: their accumulators side by side."""
    row: dict[str, ex.Expression] = {}
    folds = []
    for i, call in enumerate(calls):
        names = [f"a{i}_{j}" for j in range(len(call.arguments))]
        row |= dict(zip(names, call.arguments))
        types = [texts.type(one) for one in call.arguments]
        folds.append(CATALOGUE.fold(call.function, [f"row.{quote(name)}" for name in names], types, prefix=f"s{i}_"))
    state = [field for one in folds for field in one.state]
    names = [name for name, _ in state]

    def together(parts: Sequence[Sequence[str]]) -> str:
        return named_struct(dict(zip(names, [sql for part in parts for sql in part])))

    undo = None if any(one.undo is None for one in folds) else together([one.undo or () for one in folds])
    return FoldTexts(
        row or {"counted": ex.Literal(BOOLEAN, True)},
        Struct(tuple(Field(name, type_) for name, type_ in state)),
        together([one.initial for one in folds]),
        together([one.update for one in folds]),
        named_struct({call.name: one.result for call, one in zip(calls, folds)}),
        undo,
        together([one.merge for one in folds]),
    )


def _of_user(given: s.Fold, relation: Relation) -> FoldTexts:
    """A fold of the user's own expressions."""
    state = RowScope(value=given.state, meta=False)
    scope = Scope({None: relation.row(), ex.Side.STATE: state, ex.Side.OTHER: state}, CATALOGUE)
    row = _used(given, scope)

    def part(named: tuple[ex.Named, ...] | None, row_name: str = "row") -> str | None:
        return None if named is None else _struct(named, given.state, scope, _resolver(scope, row_name))

    if given.first_is_initial:
        row = {name: ex.Column(name) for name in relation.value.names}
        initial = named_struct(
            {
                f.name: cast_sql(f"row.{quote(f.name)}", relation.value.get(f.name) or f.type, f.type)
                for f in given.state
            }
        )
    else:
        initial = part(given.initial) or ""
    # In a reduce rows are accumulators, so what takes a row out takes an accumulator out.
    unmerge = part(given.undo, "other") if given.first_is_initial and given.state == relation.value else None
    merge = given.merge
    merge_sql = part(merge) if merge is not None else None
    if merge_sql is None and given.first_is_initial and given.state == relation.value:
        merge_sql = part(given.update, "other")
    return FoldTexts(
        row or {"counted": ex.Literal(BOOLEAN, True)},
        given.state,
        initial,
        part(given.update) or "",
        "state",
        part(given.undo),
        merge_sql,
        unmerge,
    )


def _used(given: s.Fold, scope: Scope) -> dict[str, ex.Expression]:
    """The row's columns and metadata that a fold looks at, by the names that they have in `row`."""
    found: dict[str, ex.Expression] = {}
    for one in expressions_of((given.update, given.undo)):
        if isinstance(one, ex.RowMeta):
            found[_meta_field(one)] = one
        elif isinstance(one, ex.Column) and one.side in (None, ex.Side.KEY) and scope.find(one)[0] is Place.VALUE:
            found[one.name] = ex.Column(one.name)
    return found


def _meta_field(meta: ex.RowMeta) -> str:
    return f"the record's {meta.name}"


def _resolver(scope: Scope, row: str) -> Callable[[ex.Column | ex.RowMeta], str]:
    def resolve(node: ex.Column | ex.RowMeta) -> str:
        if isinstance(node, ex.RowMeta):
            return f"{row}.{quote(_meta_field(node))}"
        if node.side in (ex.Side.STATE, ex.Side.OTHER):
            return f"{node.side}.{quote(node.name)}"
        return f"{row if scope.find(node)[0] is Place.VALUE else 'key'}.{quote(node.name)}"

    return resolve


def _struct(
    named: Sequence[ex.Named], state: Struct, scope: Scope, resolve: Callable[[ex.Column | ex.RowMeta], str]
) -> str:
    by_name = {one.name: one.expression for one in named}
    return named_struct(
        {
            field.name: cast_sql(
                expression_sql(by_name[field.name], resolve, scope),
                expression_type(by_name[field.name], scope),
                field.type,
            )
            for field in state
        }
    )
