"""Values between Spark's Python workers and users' Python code: plain values in, checked values of the declared type out.

A result that does not fit its type would end the query far from the function that made it, so it is refused here, in words.
"""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Mapping
from typing import Any

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
    Map,
    Struct,
)

_BITS = {INTEGER: 31, BIGINT: 63}


class ResultError(TypeError):
    """A Python function returned what its declared type cannot hold."""


def plain(value: Any, type_: DataType) -> Any:
    """A value of Spark's as Python's own: structs are dicts, times `datetime.time`."""
    if value is None:
        return None
    match type_:
        case Struct(fields):
            # Python's transformWithState gives dicts, functions are given rows.
            parts = list(value.values()) if isinstance(value, Mapping) else value
            return {field.name: plain(parts[i], field.type) for i, field in enumerate(fields)}
        case Array(item):
            return [plain(one, item) for one in value]
        case Map(key, content):
            return {plain(k, key): plain(v, content) for k, v in value.items()}
    if type_ == BYTES:
        return bytes(value)
    if type_ == TIME:
        return (datetime.datetime.min + datetime.timedelta(milliseconds=value)).time()
    return value


def checked(value: Any, type_: DataType) -> Any:
    """A function's result as Spark takes it for this type; `ResultError` when it does not fit."""
    if value is None:
        return None
    match type_:
        case Struct(fields):
            return _struct(value, fields)
        case Array(item):
            if not isinstance(value, list | tuple):
                raise _misfit(value, type_)
            return [checked(one, item) for one in value]
        case Map(key, content):
            if not isinstance(value, Mapping):
                raise _misfit(value, type_)
            return {checked(k, key): checked(v, content) for k, v in value.items()}
        case Decimal():
            return _decimal(value, type_)
    return _primitive(value, type_)


def _struct(value: Any, fields: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise ResultError(
            f"a struct with the fields {', '.join(one.name for one in fields)} is wanted, not {_shown(value)}"
        )
    unknown = [name for name in value if name not in {field.name for field in fields}]
    if unknown:
        raise ResultError(
            f"the result has a field {unknown[0]!r}; its type has {', '.join(one.name for one in fields)}"
        )
    return {field.name: checked(value.get(field.name), field.type) for field in fields}


def _decimal(value: Any, type_: Decimal) -> decimal.Decimal:
    if isinstance(value, bool) or not isinstance(value, int | float | decimal.Decimal):
        raise _misfit(value, type_)
    exact = decimal.Decimal(str(value)) if isinstance(value, float) else decimal.Decimal(value)
    rounded = round(exact, type_.scale)
    if abs(rounded) >= decimal.Decimal(10) ** (type_.precision - type_.scale):
        raise _misfit(value, type_)
    return rounded


def _primitive(value: Any, type_: DataType) -> Any:
    # bool is an int to Python, and a datetime a date.
    if (
        type_ in _BITS
        and isinstance(value, int)
        and not isinstance(value, bool)
        and -(1 << _BITS[type_]) <= value < 1 << _BITS[type_]
    ):
        return value
    if type_ == DOUBLE and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if type_ == BYTES and isinstance(value, bytes | bytearray):
        return bytes(value)
    if type_ == DATE and isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        return value
    if type_ == TIMESTAMP and isinstance(value, datetime.datetime):
        return value.astimezone(datetime.UTC).replace(tzinfo=None) if value.tzinfo else value
    if type_ == TIME and isinstance(value, datetime.time):
        return (value.hour * 3600 + value.minute * 60 + value.second) * 1000 + value.microsecond // 1000
    if (type_ == BOOLEAN and isinstance(value, bool)) or (type_ == STRING and isinstance(value, str)):
        return value
    raise _misfit(value, type_)


def _misfit(value: Any, type_: DataType) -> ResultError:
    return ResultError(f"a {type_} is wanted, not {_shown(value)}")


def _shown(value: Any) -> str:
    text = repr(value)
    return f"{text[:80]} ({type(value).__name__})"
