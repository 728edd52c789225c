"""The rules of joins. See `relations.py`. The result's key is the left one's."""

from __future__ import annotations

from headrace.plan import steps as s
from headrace.plan.conversions import widens
from headrace.plan.expressions import Expression, Named, Side
from headrace.plan.relation import Context, Relation, RelationKind
from headrace.plan.row_rules import check_store_name
from headrace.plan.types import Struct

STREAM, TABLE = RelationKind.STREAM, RelationKind.TABLE


def stream_stream_join(step: s.StreamStreamJoin, context: Context) -> Relation:
    left = context.input(step.left, "a stream-stream join's left side", STREAM)
    right = context.input(step.right, "a stream-stream join's right side", STREAM)
    _check_keys(step.left, left, step.right, right, context)
    for what, value in (("before_ms", step.before_ms), ("after_ms", step.after_ms)):
        context.check_span(what, abs(value), 0)
    if step.before_ms + step.after_ms < 0:
        raise context.error(
            f"before_ms {step.before_ms} and after_ms {step.after_ms} leave no time in which rows could meet; their sum must not be negative"
        )
    context.check_span("grace", step.grace_ms, 0)
    return _joined(step.columns, left, right, STREAM, context)


def stream_table_join(step: s.StreamTableJoin, context: Context) -> Relation:
    left = context.input(step.left, "a stream-table join's left side", STREAM)
    if context.relations[step.right].kind is RelationKind.GLOBAL_TABLE:
        raise context.error(f"{step.right!r} is a global table; join with it in a GlobalTableJoin")
    right = context.input(step.right, "a stream-table join's right side", TABLE)
    _check_kind(step.kind, context, "a stream-table join")
    _check_keys(step.left, left, step.right, right, context)
    return _joined(step.columns, left, right, STREAM, context)


def global_table_join(step: s.GlobalTableJoin, context: Context) -> Relation:
    left = context.input(step.left, "a global-table join's left side", STREAM)
    if context.relations[step.right].kind is TABLE:
        raise context.error(
            f"{step.right!r} is a table; join with it in a StreamTableJoin, or read its topic with a GlobalTableSource"
        )
    right = context.input(step.right, "a global-table join's right side", RelationKind.GLOBAL_TABLE)
    _check_kind(step.kind, context, "a global-table join")
    _check_foreign_key(step.key, left, step.right, right, context, "the key")
    return _joined(step.columns, left, right, STREAM, context)


def table_table_join(step: s.TableTableJoin, context: Context) -> Relation:
    left = context.input(step.left, "a table-table join's left side", TABLE)
    right = context.input(step.right, "a table-table join's right side", TABLE)
    check_store_name(step.store, context)
    _check_keys(step.left, left, step.right, right, context)
    return _joined(step.columns, left, right, TABLE, context)


def foreign_key_join(step: s.ForeignKeyJoin, context: Context) -> Relation:
    left = context.input(step.left, "a foreign-key join's left side", TABLE)
    right = context.input(step.right, "a foreign-key join's right side", TABLE)
    check_store_name(step.store, context)
    _check_kind(step.kind, context, "a foreign-key join")
    for name, side in ((step.left, left), (step.right, right)):
        if side.window is not None:
            raise context.error(
                f"{name!r} has windowed keys, which a foreign-key join cannot take; join tables without windows"
            )
        context.check_key(side.key, f"the key of {name!r}")
    _check_foreign_key(step.foreign_key, left, step.right, right, context, "the foreign key")
    return _joined(step.columns, left, right, TABLE, context)


def _check_kind(kind: s.JoinKind, context: Context, what: str) -> None:
    if kind not in (s.JoinKind.INNER, s.JoinKind.LEFT):
        raise context.error(f"{what} is inner or left, not {kind}")


def _check_keys(left_name: str, left: Relation, right_name: str, right: Relation, context: Context) -> None:
    """Rows meet by equal keys, so both sides have the same types in the same order; names may differ."""
    context.check_key(left.key, f"the key of {left_name!r}")
    context.check_key(right.key, f"the key of {right_name!r}")
    if [one.type for one in left.key] != [one.type for one in right.key]:
        raise context.error(
            f"the key of {left_name!r} is {left.key}, that of {right_name!r} is {right.key}; "
            "keys that are joined have the same types: cast one with SelectKey"
        )
    if (left.window, left.window_size_ms) != (right.window, right.window_size_ms):
        raise context.error(
            f"{left_name!r} has {_window(left)}, {right_name!r} has {_window(right)}; only equal windows can be joined: "
            "use the same window on both sides, or SelectKey to leave it out"
        )


def _window(relation: Relation) -> str:
    if relation.window is None:
        return "keys without a window"
    return f"{relation.window}-windowed keys" + (f" of {relation.window_size_ms} ms" if relation.window_size_ms else "")


def _check_foreign_key(
    key: Expression, left: Relation, right_name: str, right: Relation, context: Context, what: str
) -> None:
    """The expression, over the left row alone, gives the right side's key: its one column, or a struct of all."""
    found = context.type_of(key, context.scope({None: left.row(), Side.LEFT: left.row()}), what)
    if len(right.key.fields) == 1 and widens(found, right.key.fields[0].type):
        return
    types = [one.type for one in found] if isinstance(found, Struct) else []
    if types != [one.type for one in right.key]:
        wanted = right.key.fields[0].type if len(right.key.fields) == 1 else right.key
        raise context.error(
            f"{what} {key} is a {found}, the key of {right_name!r} is a {wanted}; cast it or build a struct of it"
        )


def _joined(
    columns: tuple[Named, ...], left: Relation, right: Relation, kind: RelationKind, context: Context
) -> Relation:
    scope = context.scope({Side.LEFT: left.row(), Side.RIGHT: right.row()})
    value = context.columns(columns, scope, "the value")
    return Relation(kind, left.key, value, left.window, left.window_size_ms)
