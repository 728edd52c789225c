"""Random plans, from the type hints of their nodes: whatever the dataclasses allow, whether it makes sense or not."""

from __future__ import annotations

import dataclasses
import types
import typing
from enum import StrEnum
from typing import Any

from hypothesis import strategies as st

from headrace.plan import expressions, steps, windows
from headrace.plan.plan import Plan
from headrace.plan.types import (
    BIGINT,
    PRIMITIVES,
    Array,
    DataType,
    Decimal,
    Field,
    Map,
    Struct,
)

texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=10)
ids = st.text("abcXYZ019._-", min_size=1, max_size=12)
_fields = lambda inner: st.lists(st.builds(Field, texts, inner), max_size=3).map(lambda some: Struct(tuple(some)))  # noqa: E731
data_types: st.SearchStrategy[DataType] = st.recursive(
    st.one_of(st.sampled_from(list(PRIMITIVES.values())), st.just(Decimal(10, 2))),
    lambda inner: st.one_of(st.builds(Array, inner), st.builds(Map, inner, inner), _fields(inner)),
    max_leaves=4,
)
scalars: dict[Any, st.SearchStrategy[Any]] = {
    str: texts,
    int: st.integers(-(1 << 70), 1 << 70),
    float: st.floats(allow_nan=False, allow_infinity=False),
    bool: st.booleans(),
    type(None): st.none(),
}


def _leaf() -> st.SearchStrategy[Any]:
    return st.one_of(
        st.builds(expressions.Column, texts), st.builds(expressions.Literal, st.just(BIGINT), st.integers())
    )


def value(hint: Any, depth: int) -> st.SearchStrategy[Any]:
    """Anything that fits a hint; below `depth` levels only the simplest."""
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        return st.one_of([value(option, depth) for option in typing.get_args(hint)])
    if typing.get_origin(hint) is tuple:
        return st.lists(value(typing.get_args(hint)[0], depth - 1), max_size=3 if depth > 0 else 1).map(tuple)
    if hint in scalars:
        return scalars[hint]
    if hint is Struct:
        return _fields(data_types)
    if issubclass(hint, DataType):
        return data_types
    if issubclass(hint, StrEnum):
        return st.sampled_from(list(hint))
    if hint is expressions.Expression and depth <= 0:
        return _leaf()
    if hint in (expressions.Expression, windows.Window):
        return st.sampled_from(hint.__subclasses__()).flatmap(lambda cls: node(cls, depth - 1))
    return node(hint, depth - 1)


def node(cls: type, depth: int) -> st.SearchStrategy[Any]:
    hints = typing.get_type_hints(cls)
    return st.builds(cls, **{field.name: value(hints[field.name], depth) for field in dataclasses.fields(cls)})


def _connected(raw: list[tuple[Any, int]]) -> tuple[Any, ...]:
    """The steps with ids of their own, each reading from steps before it."""
    made: list[Any] = []
    for position, (step, choice) in enumerate(raw):
        changes: dict[str, Any] = {"id": f"s{position}"}
        for name in ("input", "left", "right"):
            if hasattr(step, name):
                changes[name] = f"s{choice % position}" if position else None
        if isinstance(step, steps.Merge):
            changes["inputs"] = (f"s{choice % position}",) if position else ()
        if None not in changes.values():
            made.append(dataclasses.replace(step, **changes))
        else:
            made.append(steps.Merge(f"s{position}", ()))
    return tuple(made)


all_steps = st.sampled_from(steps.Step.__subclasses__()).flatmap(lambda cls: node(cls, 3))
plans = st.builds(Plan, ids, st.lists(st.tuples(all_steps, st.integers(0, 1000)), max_size=5).map(_connected))
documents = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(max_size=8),
        st.sampled_from(["Filter", "Column", "stream", "BIGINT"]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(
            st.one_of(
                st.text(max_size=5),
                st.sampled_from(
                    ["node", "id", "input", "steps", "name", "version", "condition", "columns", "type", "value"]
                ),
            ),
            inner,
            max_size=5,
        ),
    ),
    max_leaves=20,
)
