"""The rules of steps that take one row at a time, or change what rows are taken for. See `relations.py`."""

from __future__ import annotations

from dataclasses import replace

from headrace.plan import steps as s
from headrace.plan.conversions import holds_map
from headrace.plan.plan import NAME
from headrace.plan.relation import Context, Relation, RelationKind
from headrace.plan.types import Array, Field, Struct

STREAM, TABLE = RelationKind.STREAM, RelationKind.TABLE


def select(step: s.Select, context: Context) -> Relation:
    found = context.input(step.input, "select", STREAM, TABLE)
    _check_store(step.store, found, context)
    return replace(found, value=context.columns(step.columns, context.scope({None: found.row()}), "the value"))


def filter_(step: s.Filter, context: Context) -> Relation:
    found = context.input(step.input, "filter", STREAM, TABLE)
    _check_store(step.store, found, context)
    context.condition(step.condition, context.scope({None: found.row()}), "the condition")
    return found


def _check_store(store: str | None, relation: Relation, context: Context) -> None:
    if store is None:
        return
    check_store_name(store, context)
    if relation.kind is STREAM:
        raise context.error(
            f"the store {store!r} would keep a stream; only a table can be stored: use ToTable or an aggregate"
        )


def check_store_name(store: str | None, context: Context) -> None:
    if store is not None and not NAME.fullmatch(store):
        raise context.error(f"{store[:80]!r} is no name of a store: 1 to 200 letters, digits, '.', '_' or '-'")


def select_key(step: s.SelectKey, context: Context) -> Relation:
    found = context.input(step.input, "select key", STREAM)
    key = context.key_columns(step.key, context.scope({None: found.row()}), "the key")
    return Relation(STREAM, key, found.value)


def flat_map(step: s.FlatMap, context: Context) -> Relation:
    found = context.input(step.input, "flat map", STREAM)
    items = context.type_of(step.items, context.scope({None: found.row()}), "the items")
    if not isinstance(items, Array):
        raise context.error(f"the items {step.items} are a {items}; a flat map takes an ARRAY apart")
    item = items.item if isinstance(items.item, Struct) else Struct((Field(step.item, items.item),))
    scope = context.scope({None: found.row(item)})
    value = context.columns(step.columns, scope, "the value")
    if step.key is None:
        return replace(found, value=value)
    return Relation(STREAM, context.key_columns(step.key, scope, "the key"), value)


def merge(step: s.Merge, context: Context) -> Relation:
    if not step.inputs:
        raise context.error("merges nothing; name at least one stream")
    first = context.input(step.inputs[0], "merge", STREAM)
    for name in step.inputs[1:]:
        other = context.input(name, "merge", STREAM)
        if other != first:
            raise context.error(
                f"{step.inputs[0]!r} is a {first} and {name!r} is a {other}; "
                "streams that are merged have the same columns in the same order: bring them to it with Select and SelectKey"
            )
    return first


def branch(step: s.Branch, context: Context) -> Relation:
    found = context.input(step.input, "branch", STREAM)
    if not step.branches:
        raise context.error("has no branches; name at least one")
    names: set[str] = set()
    for position, case in enumerate(step.branches):
        if not NAME.fullmatch(case.name) or case.name in names:
            raise context.error(
                f"the branch {case.name[:80]!r} is twice there, or no name of letters, digits, '.', '_' or '-'"
            )
        names.add(case.name)
        if case.condition is not None:
            context.condition(
                case.condition, context.scope({None: found.row()}), f"the condition of branch {case.name!r}"
            )
        elif position != len(step.branches) - 1:
            raise context.error(
                f"the branch {case.name!r} has no condition, so it takes everything: it must be the last"
            )
    return found


def to_stream(step: s.ToStream, context: Context) -> Relation:
    return replace(context.input(step.input, "to stream", TABLE), kind=STREAM)


def to_table(step: s.ToTable, context: Context) -> Relation:
    found = context.input(step.input, "to table", STREAM)
    check_store_name(step.store, context)
    context.check_key(found.key, f"the key of {step.input!r}")
    return replace(found, kind=TABLE)


def repartition(step: s.Repartition, context: Context) -> Relation:
    if step.partitions is not None:
        context.check_span("the number of partitions", step.partitions)
    return context.input(step.input, "repartition", STREAM)


def suppress(step: s.Suppress, context: Context) -> Relation:
    found = context.input(step.input, "suppress", TABLE)
    if step.max_records is not None:
        context.check_span("max_records", step.max_records)
    if step.until_window_closes:
        if step.wait_ms is not None:
            raise context.error("waits for the window's end and for wait_ms; choose one of them")
        if found.window is None:
            raise context.error(
                f"waits for the end of a window, {step.input!r} has none: aggregate with a window, or give wait_ms with until_window_closes=False"
            )
    elif step.wait_ms is None:
        raise context.error("has nothing to wait for; give wait_ms, or until_window_closes for a windowed table")
    else:
        context.check_span("wait_ms", step.wait_ms)
    return found


def deduplicate(step: s.Deduplicate, context: Context) -> Relation:
    found = context.input(step.input, "deduplicate", STREAM)
    context.check_span("within_ms", step.within_ms)
    if not step.by:
        raise context.error("has no expression to know equal rows by; name at least one")
    scope = context.scope({None: found.row()})
    for expression in step.by:
        type_ = context.type_of(expression, scope, "by")
        if holds_map(type_):
            raise context.error(f"{expression} is a {type_}; maps cannot be compared, take map_entries of it")
    return found
