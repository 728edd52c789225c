"""Aggregates of users as folds: the accumulator's shape, and the functions that change it, traced.

A fold runs beside its state in the JVM, so its functions have to be traceable; what is not belongs in a `Processor`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.plan.expressions import Call, Cast, Expression, Literal, Named, PythonCall, Side, walk
from headrace.plan.types import Array, DataType, Map, Struct
from headrace.streams import symbol_kinds
from headrace.streams.errors import StreamsError
from headrace.streams.python_folds import StaysPython
from headrace.streams.rows import fitted_columns, value_symbol
from headrace.streams.schema import Shape, data_type, field_names, value_shape
from headrace.streams.symbols import Symbol, symbol
from headrace.streams.tracing import arguments_by_arity, trace


def accumulator(initial: Any, returns: Any) -> tuple[Shape, tuple[Named, ...]]:
    """The shape of an accumulator and its beginning, from a value (or a function without parameters that makes it) and perhaps a type."""
    value = initial() if callable(initial) and not isinstance(initial, Symbol) else initial
    if returns is None:
        if value is None or (isinstance(value, list | dict) and not value):
            raise StreamsError(f"the type of the accumulator cannot be told from {value!r}; give it as returns=…")
        returns = type(value) if field_names(type(value)) is not None else symbol(value)._hr_type
    shape = value_shape(returns)
    return shape, fitted_columns(_constant(value, shape.type), shape, "the initial value")


def _constant(value: Any, type_: DataType) -> Symbol:
    """A Python value as a constant of a type, empty lists and dicts included."""
    if value is None:
        return symbol_kinds.of(Literal(type_, None), type_)
    if isinstance(type_, Array | Map) and isinstance(value, list | set | frozenset | dict):
        return _collection(value, type_)
    if isinstance(type_, Struct):
        names = field_names(type(value))
        content = value if isinstance(value, dict) else {name: getattr(value, name) for name in names or ()}
        if not isinstance(value, dict) and isinstance(value, tuple) and names is None:
            content = dict(zip(type_.names, value))
        parts: dict[str, Expression] = {f.name: _constant(content.get(f.name), f.type)._hr_expression for f in type_}
        return symbol_kinds.StructSymbol(None, type_, None, parts)
    return symbol(value)


def _collection(value: Any, type_: Array | Map) -> Symbol:
    if isinstance(type_, Array):
        items = tuple(
            symbol_kinds.fitted(_constant(one, type_.item), type_.item, "an item")._hr_expression for one in value
        )
        return symbol_kinds.of(Call("array", items) if items else empty_array(type_), type_)
    pairs = [part for key, one in value.items() for part in (_constant(key, type_.key), _constant(one, type_.value))]
    if pairs:
        return symbol_kinds.of(Call("map", tuple(part._hr_expression for part in pairs)), type_)
    entries = Array(data_type(f"STRUCT<key {type_.key}, value {type_.value}>"))
    return symbol_kinds.of(Call("map_from_entries", (empty_array(entries),)), type_)


def empty_array(type_: Array) -> Expression:
    """No item of the type: one that is left out again."""
    one = Call("array", (Literal(type_.item, None),))
    return Cast(Call("slice", (one, Literal(data_type("INTEGER"), 1), Literal(data_type("INTEGER"), 0))), type_)


def folded(function: Callable[..., Any], shape: Shape, key: Symbol, value: Symbol, what: str) -> tuple[Named, ...]:
    """The accumulator after a record: a function of `aggregate, value`, or Kafka's `key, value, aggregate`."""
    state = value_symbol(shape, Side.STATE)
    arguments = arguments_by_arity(function, {2: (state, value), 3: (key, value, state)}, what)
    return _columns(function, arguments, shape, what)


def merged(function: Callable[..., Any], shape: Shape, key: Symbol, what: str) -> tuple[Named, ...]:
    """Two accumulators made one: a function of both, or of the key and both."""
    one, other = value_symbol(shape, Side.STATE), value_symbol(shape, Side.OTHER)
    arguments = arguments_by_arity(function, {2: (one, other), 3: (key, one, other)}, what)
    return _columns(function, arguments, shape, what)


def _columns(function: Callable[..., Any], arguments: tuple[Any, ...], shape: Shape, what: str) -> tuple[Named, ...]:
    traced = trace(function, arguments, what, shape.type)
    if traced.fallback is not None or any(isinstance(n, PythonCall) for n in walk(traced.symbol._hr_expression)):
        reason = (
            f"it {traced.fallback.reason}; {traced.fallback.advice}" if traced.fallback else "it is a Python function"
        )
        raise StaysPython(
            f"{what} runs beside its state in the JVM, and this function cannot: {reason}. What only Python can do with windows "
            "or tables belongs in process(…), with a Processor",
            traced.fallback,
        )
    return fitted_columns(traced.result, shape, f"the result of {what}")
