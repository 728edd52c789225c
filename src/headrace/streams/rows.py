"""Rows as symbols, and results as columns: the two ends of every traced function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.plan.expressions import Column, Expression, Meta, Named, PythonCall, RowMeta, Side
from headrace.plan.serdes import KeyWindow
from headrace.plan.types import BIGINT, DataType, Field, Struct
from headrace.streams import symbol_kinds
from headrace.streams.errors import StreamsError
from headrace.streams.schema import KEY_COLUMN, NULL, VALUE_COLUMN, Shape
from headrace.streams.symbol_kinds import StructSymbol, fitted
from headrace.streams.symbols import Symbol, symbol


@dataclass(frozen=True)
class Windowed:
    """That a key belongs to a window: the form of its bytes, and the windows' size where they have one."""

    form: KeyWindow
    size_ms: int | None


def value_symbol(shape: Shape, side: Side | None = None, *, optional: bool = False) -> Symbol:
    """The value of a row. `optional`: the row may be missing, as that of the other side of a left join."""
    if shape.column is not None:
        return symbol_kinds.of(Column(shape.column, side), shape.type, shape.python)
    parts: dict[str, Expression] = {name: Column(name, side) for name in shape.columns.names}
    return StructSymbol(None, shape.columns, shape.python, parts, optional)


def key_symbol(shape: Shape, windowed: Windowed | None = None, side: Side | None = None) -> Symbol:
    """The key of a row; of a windowed one it has `key`, `start` and `end`."""
    if shape.column is None:
        return _NoKey(Column("rowkey", side), shape.type)
    key = symbol_kinds.of(Column(shape.column, side), shape.type, shape.python)
    if windowed is None:
        return key
    type_ = Struct((Field("key", shape.type), Field("start", BIGINT), Field("end", BIGINT)))
    parts = {"key": key._hr_expression, "start": RowMeta(Meta.WINDOWSTART, side), "end": RowMeta(Meta.WINDOWEND, side)}
    return StructSymbol(None, type_, None, parts)


class _NoKey(Symbol):
    """Stands for the key of a stream without keys: using it is an error."""

    __slots__ = ()

    def __getattribute__(self, name: str) -> Any:
        if name == "__class__":
            return object.__getattribute__(self, name)
        raise StreamsError("this stream has no keys (key=None); make one with select_key(…)")


@dataclass(frozen=True)
class Columns:
    """A result as columns. `before`: what has to be computed first, so that it is computed once."""

    shape: Shape
    named: tuple[Named, ...]
    before: Named | None = None


def value_columns(result: Any, what: str) -> Columns:
    """The value columns that a function's result is: a struct's fields, or the one column `value`."""
    found = symbol(result)
    _check_typed(found, what)
    if not isinstance(found._hr_type, Struct):
        return Columns(
            Shape(found._hr_type, VALUE_COLUMN, found._hr_python), (Named(VALUE_COLUMN, found._hr_expression),)
        )
    if KEY_COLUMN in found._hr_type.names:
        raise StreamsError(f"{what}: a value cannot have a field {KEY_COLUMN!r}, which is the key's column; rename it")
    if not found._hr_type.names:
        raise StreamsError(f"{what}: a value needs at least one field")
    before = None
    if isinstance(found._hr_expression, PythonCall):
        before = Named("result", found._hr_expression)
        found = symbol_kinds.of(Column("result"), found._hr_type, found._hr_python)
    assert isinstance(found, StructSymbol)
    named = tuple(Named(name, found._hr_field(name)._hr_expression) for name in found._hr_struct.names)
    return Columns(Shape(found._hr_type, None, found._hr_python), named, before)


def key_columns(result: Any, what: str) -> Columns:
    found = symbol(result)
    _check_typed(found, what)
    return Columns(Shape(found._hr_type, KEY_COLUMN, found._hr_python), (Named(KEY_COLUMN, found._hr_expression),))


def fitted_columns(result: Any, shape: Shape, what: str) -> tuple[Named, ...]:
    """A result as the columns of a shape that is given: an accumulator's."""
    found = fitted(symbol(result), shape.type, what)
    if shape.column is not None:
        return (Named(shape.column, found._hr_expression),)
    assert isinstance(found, StructSymbol)
    return tuple(Named(name, found._hr_field(name)._hr_expression) for name in shape.columns.names)


def _check_typed(found: Symbol, what: str) -> None:
    if found._hr_type == NULL or _holds_null(found._hr_type):
        raise StreamsError(f"{what}: the function returns None, which has no type; return a value, or cast(None, …)")


def _holds_null(type_: DataType) -> bool:
    return isinstance(type_, Struct) and any(field.type == NULL or _holds_null(field.type) for field in type_)
