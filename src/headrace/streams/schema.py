"""Python's types and the plan's: what an annotation is as a column's type, and how a key or a value lies in columns.

A value that is a struct (a dataclass, a named tuple, `STRUCT<…>`) is one column per field. Anything else is the one column `value`.
A key is always the one column `rowkey`, so that a key and a value may have fields of the same name.
"""

from __future__ import annotations

import base64
import dataclasses
import datetime
import decimal
import types
import typing
from enum import Enum
from typing import Any

from headrace.plan.expressions import Expression, Literal, Named, StructOf
from headrace.plan.serdes import Option, Serde
from headrace.plan.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    Array,
    DataType,
    Decimal,
    Field,
    Map,
    Primitive,
    Struct,
    TypeTextError,
    parse_type,
)
from headrace.streams.errors import StreamsError

KEY_COLUMN = "rowkey"
VALUE_COLUMN = "value"
NULL = Primitive("NULL")  # the type of a bare None while expressions are traced; never in a plan

_SCALARS: dict[Any, DataType] = {
    str: STRING,
    int: BIGINT,
    float: DOUBLE,
    bool: BOOLEAN,
    bytes: BYTES,
    datetime.date: DATE,
    datetime.time: TIME,
    datetime.datetime: TIMESTAMP,
    decimal.Decimal: Decimal(38, 18),
}


def data_type(annotation: Any) -> DataType:
    """The type that an annotation, a type's text or a `DataType` means."""
    if isinstance(annotation, DataType):
        return annotation
    if isinstance(annotation, str):
        return _parsed(annotation)
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        text = next((note for note in arguments[1:] if isinstance(note, str | DataType)), None)
        return data_type(text if text is not None else arguments[0])
    if origin in (typing.Union, types.UnionType):
        return _optional(annotation, arguments)
    if origin in (list, set, frozenset) and len(arguments) == 1:
        return Array(data_type(arguments[0]))
    if origin is dict and len(arguments) == 2:
        return Map(data_type(arguments[0]), data_type(arguments[1]))
    if origin is tuple:
        return Struct(tuple(Field(f"f{i}", data_type(item)) for i, item in enumerate(arguments)))
    return _class_type(annotation)


def _parsed(text: str) -> DataType:
    try:
        return parse_type(text)
    except TypeTextError as error:
        raise StreamsError(str(error)) from None


def _optional(annotation: Any, arguments: tuple[Any, ...]) -> DataType:
    rest = [option for option in arguments if option is not type(None)]
    if len(rest) != 1:
        raise StreamsError(f"{annotation} is more than one type; a column has one (`X | None` is fine)")
    return data_type(rest[0])


def _class_type(annotation: Any) -> DataType:
    found = _SCALARS.get(annotation) if isinstance(annotation, type) else None
    if found is not None:
        return found
    if isinstance(annotation, type):
        if issubclass(annotation, Enum):
            return data_type(type(next(iter(annotation)).value))
        names = field_names(annotation)
        if names is not None:
            hints = typing.get_type_hints(annotation, include_extras=True)
            return Struct(tuple(Field(name, data_type(hints[name])) for name in names))
    raise StreamsError(
        f"{annotation!r} is no type of a column: use str, int, float, bool, bytes, date, time, datetime, Decimal, list[…], dict[…, …], "
        'a dataclass, a NamedTuple, a TypedDict, or a text such as "STRUCT<card STRING, amount DOUBLE>"'
    )


def field_names(cls: Any) -> tuple[str, ...] | None:
    """The fields of a class that is a struct, in order; None for any other class."""
    if dataclasses.is_dataclass(cls):
        return tuple(field.name for field in dataclasses.fields(cls))
    if isinstance(cls, type) and issubclass(cls, tuple) and hasattr(cls, "_fields"):
        return tuple(cls._fields)
    if typing.is_typeddict(cls):
        return tuple(cls.__annotations__)
    return None


def python_type(annotation: Any) -> Any:
    """The class to make of a struct, or None when it was given as text."""
    return None if isinstance(annotation, str | DataType) else annotation


@dataclasses.dataclass(frozen=True)
class Shape:
    """A key or a value: its type, the one column it is (None: a column per field), the Python type that people see."""

    type: DataType
    column: str | None
    python: Any = None

    @property
    def columns(self) -> Struct:
        if self.column is not None:
            return Struct((Field(self.column, self.type),))
        assert isinstance(self.type, Struct)
        return self.type


def key_shape(annotation: Any) -> Shape:
    return Shape(data_type(annotation), KEY_COLUMN, python_type(annotation))


def value_shape(annotation: Any) -> Shape:
    type_ = data_type(annotation)
    return Shape(type_, None if isinstance(type_, Struct) else VALUE_COLUMN, python_type(annotation))


def serde(shape: Shape, format_: str | None, options: dict[str, str]) -> Serde:
    """How a shape lies in bytes: by default the kafka format for what Kafka has a serializer for, else JSON."""
    primitive = shape.type in (STRING, INTEGER, BIGINT, DOUBLE, BOOLEAN, BYTES)
    name = (format_ or ("kafka" if primitive else "json")).lower()
    return Serde(
        name,
        shape.columns,
        tuple(Option(option, text) for option, text in sorted(options.items())),
        wrapped=shape.column is None,
    )


def constant(value: Any) -> tuple[Expression, DataType]:
    """A Python value as an expression, and its type."""
    if value is None:
        return Literal(STRING, None), NULL
    if isinstance(value, Enum):
        return constant(value.value)
    names = field_names(type(value))
    if names is not None or isinstance(value, tuple):
        return _constant_struct(value, names or tuple(f"f{i}" for i in range(len(value))))
    type_ = _SCALARS.get(type(value))
    if type_ is None:
        raise StreamsError(f"{value!r} ({type(value).__name__}) cannot be a constant of an expression")
    if isinstance(value, int) and not isinstance(value, bool) and not -(2**63) <= value < 2**63:
        raise StreamsError(f"{value} does not fit 64 bits; use a Decimal")
    if isinstance(value, decimal.Decimal):
        return _constant_decimal(value)
    return Literal(type_, _literal_value(value)), type_


def _constant_struct(value: Any, names: tuple[str, ...]) -> tuple[Expression, DataType]:
    parts = [
        constant(value[name] if isinstance(value, dict) else item) for name, item in zip(names, _items(value, names))
    ]
    fields = tuple(Named(name, expression) for name, (expression, _) in zip(names, parts))
    return StructOf(fields), Struct(tuple(Field(name, type_) for name, (_, type_) in zip(names, parts)))


def _items(value: Any, names: tuple[str, ...]) -> list[Any]:
    return list(value) if isinstance(value, tuple) else [getattr(value, name) for name in names]


def _constant_decimal(value: decimal.Decimal) -> tuple[Expression, DataType]:
    _, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        raise StreamsError(f"{value} is no number that a DECIMAL can hold")
    scale = max(0, -exponent)
    type_ = Decimal(max(len(digits) + max(0, exponent), scale, 1), scale)
    return Literal(type_, format(value, "f")), type_


def _literal_value(value: Any) -> str | int | float | bool:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, datetime.date | datetime.time):  # datetime is a date
        return value.isoformat()
    assert isinstance(value, str | int | float | bool)
    return value
