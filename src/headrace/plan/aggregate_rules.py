"""The rules of grouping and aggregating, and what a window may be. See `relations.py`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from headrace.plan import steps as s
from headrace.plan import windows as w
from headrace.plan.catalogue import SignatureError
from headrace.plan.conversions import widens
from headrace.plan.expressions import Named, PythonCall, Side, walk
from headrace.plan.relation import Context, Relation, RelationKind
from headrace.plan.row_rules import check_store_name
from headrace.plan.scope import RowScope
from headrace.plan.serdes import KeyWindow
from headrace.plan.types import DataType, Field, Struct

MAX_WINDOWS_OF_A_RECORD = 10_000


def group_by(step: s.GroupBy, context: Context) -> Relation:
    found = context.input(step.input, "group by", RelationKind.STREAM, RelationKind.TABLE)
    is_table = found.kind is RelationKind.TABLE
    kind = RelationKind.GROUPED_TABLE if is_table else RelationKind.GROUPED_STREAM
    if step.key is not None:
        return Relation(kind, context.key_columns(step.key, context.scope({None: found.row()}), "the key"), found.value)
    if found.window is not None:
        raise context.error(
            f"{step.input!r} has windowed keys; name the columns to group by, WINDOWSTART among them if windows are to stay apart"
        )
    return Relation(kind, context.check_key(found.key, f"the key of {step.input!r}"), found.value)


def aggregate(step: s.Aggregate, context: Context) -> Relation:
    found = context.input(step.input, "aggregate", RelationKind.GROUPED_STREAM, RelationKind.GROUPED_TABLE)
    check_store_name(step.store, context)
    of_table = found.kind is RelationKind.GROUPED_TABLE
    if bool(step.aggregates) == (step.fold is not None):
        raise context.error("needs either aggregates or a fold, not both and not neither")
    if step.window is not None:
        if of_table:
            raise context.error(
                f"has a window, {step.input!r} is a grouped table: a table has no windows; take its changes with ToStream first"
            )
        _check_window(step.window, found, context)
    if step.emit is s.Emit.FINAL and step.window is None:
        raise context.error(
            "emits final results only, but has no window whose end could make them final; add a window or emit changes"
        )
    value = _folded(step.fold, step, found, context) if step.fold else _aggregated(step, found, context)
    window, size = key_window(step.window)
    return Relation(RelationKind.TABLE, found.key, value, window, size)


def key_window(window: w.Window | None) -> tuple[KeyWindow | None, int | None]:
    """The form of the keys that a window makes, and the size of time windows.

    Windows without a fixed length (sessions, counts, punctuations) carry both bounds in their keys.
    """
    match window:
        case None:
            return None, None
        case w.Tumbling(size_ms=size) | w.Hopping(size_ms=size) | w.Sliding(difference_ms=size):
            return KeyWindow.TIME, size
    return KeyWindow.SESSION, None


def _check_window(window: w.Window, found: Relation, context: Context) -> None:
    _check_lengths(window, found, context)
    least, kept = w.least_retention_ms(window), w.retention_ms(window)
    if least is not None and kept is not None and kept < least:
        raise context.error(
            f"retention is {kept} ms, and these windows may change for {least} ms, which is their length and the grace; keep them that long"
        )


def _check_lengths(window: w.Window, found: Relation, context: Context) -> None:
    match window:
        case w.Tumbling(size, grace):
            context.check_span("the window's size", size)
            context.check_span("grace", grace, 0)
        case w.Hopping(size, advance, grace, incremental):
            context.check_span("the window's size", size)
            context.check_span("grace", grace, 0)
            _check_advance(size, advance, incremental, context)
        case w.Sliding(difference, grace):
            context.check_span("the window's difference", difference)
            context.check_span("grace", grace, 0)
        case w.Session(gap, grace):
            context.check_span("the session's gap", gap)
            context.check_span("grace", grace, 0)
        case w.Count(size, advance):
            context.check_span("the window's size", size)
            if not 1 <= advance <= size:
                raise context.error(f"the window advances by {advance} records; it must be 1 to its size, {size}")
        case w.Punctuation(end, _, most):
            context.condition(end, context.scope({None: found.row()}), "the window's end")
            context.check_span("max_records", most)


def _check_advance(size: int, advance: int, incremental: bool, context: Context) -> None:
    if not 1 <= advance <= size:
        raise context.error(
            f"the window advances by {advance} ms; it must be 1 to its size, {size}, or records would be in none"
        )
    if not incremental and -(-size // advance) > MAX_WINDOWS_OF_A_RECORD:
        raise context.error(
            f"each record would be in {-(-size // advance)} windows; at most {MAX_WINDOWS_OF_A_RECORD} are possible: "
            "advance by more, or make the window incremental"
        )


def _aggregated(step: s.Aggregate, found: Relation, context: Context) -> Struct:
    scope = context.scope({None: found.row()})
    fields: list[Field] = []
    for call in step.aggregates:
        types = [context.type_of(one, scope, f"{call.function} for column {call.name!r}") for one in call.arguments]
        try:
            fields.append(Field(call.name, context.functions.aggregate_type(call.function, types)))
        except SignatureError as error:
            raise context.error(f"column {call.name!r}: {error}") from None
        if found.kind is RelationKind.GROUPED_TABLE and not context.functions.aggregate_undoes(call.function, types):
            raise context.error(
                f"{call.function} cannot take a row out again, which an aggregate of a table has to when a row changes; "
                "use an aggregate that can (count, sum, avg, collect_list, count_distinct), or aggregate a stream"
            )
    return context.check_columns(Struct(tuple(fields)), "the result")


def _folded(fold: s.Fold, step: s.Aggregate, found: Relation, context: Context) -> Struct:
    context.check_columns(fold.state, "the accumulator")
    row, state = found.row(), RowScope(value=fold.state, meta=False)
    updating: Mapping[Side | None, RowScope] = {None: row, Side.STATE: state}
    if fold.first_is_initial:
        _check_first(fold, found, context)
    else:
        _check_part("initial", fold.initial, fold.state, {None: RowScope(meta=False)}, context)
    _check_part("update", fold.update, fold.state, updating, context)
    if fold.undo is not None:
        _check_part("undo", fold.undo, fold.state, updating, context)
    if fold.merge is not None:
        _check_part("merge", fold.merge, fold.state, {Side.STATE: state, Side.OTHER: state}, context)
    if found.kind is RelationKind.GROUPED_TABLE and fold.undo is None:
        raise context.error(
            "has no undo, which an aggregate of a table needs when a row changes or is deleted (Kafka Streams' subtractor); add one"
        )
    if isinstance(step.window, w.Session) and fold.merge is None:
        raise context.error("has no merge, which session windows need when two sessions meet; add one")
    if isinstance(step.window, w.Hopping) and step.window.incremental and fold.undo is None and fold.merge is None:
        raise context.error(
            "has neither undo nor merge, one of which an incremental window needs; add one, or make the window not incremental"
        )
    return fold.state


def _check_first(fold: s.Fold, found: Relation, context: Context) -> None:
    if fold.initial:
        raise context.error(
            "is a reduce, whose first row is the accumulator, and has an initial accumulator too; leave initial empty"
        )
    context.check_same(
        fold.state,
        found.value,
        "the accumulator of the reduce",
        "a reduce yields what it takes: select the columns first",
    )


def _check_part(
    what: str, named: Iterable[Named], state: Struct, rows: Mapping[Side | None, RowScope], context: Context
) -> None:
    """One part of a fold gives every field of the accumulator, in its type."""
    scope = context.scope(rows)
    given: dict[str, DataType] = {}
    for one in named:
        if any(isinstance(node, PythonCall) for node in walk(one)):
            raise context.error(
                f"{what} of {one.name!r} calls a Python function; a fold runs beside its state in the JVM: use expressions, or a Process step"
            )
        given[one.name] = context.type_of(one.expression, scope, f"{what} of {one.name!r}")
    if sorted(given) != sorted(state.names):
        raise context.error(
            f"{what} gives {', '.join(given) or 'nothing'}; the accumulator has {', '.join(state.names)}"
        )
    for column in state:
        if not widens(given[column.name], column.type):
            raise context.error(
                f"{what} gives {column.name!r} as {given[column.name]}, the accumulator has it as {column.type}; cast it"
            )
