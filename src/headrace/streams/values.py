"""Values of streams and tables between Python and the rows of `headrace.formats`: dataclasses and the like on one side, dicts by column on the other.

In rows a TIMESTAMP is milliseconds, a DATE days, a TIME milliseconds; in Python they are `datetime` (UTC), `date` and `time`.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from typing import Any

from headrace.plan.python_code import to_plain, to_python
from headrace.plan.types import DATE, TIME, TIMESTAMP, Array, DataType, Map, Struct
from headrace.streams.errors import StreamsError
from headrace.streams.schema import Shape

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_MILLISECOND = datetime.timedelta(milliseconds=1)


def to_row(value: Any, shape: Shape) -> dict[str, Any] | None:
    """A key or a value as a row; None is none."""
    if value is None:
        return None
    plain = _converted(to_plain(value), shape.type, _row_value)
    if shape.column is not None:
        return {shape.column: plain}
    if not isinstance(plain, dict):
        raise StreamsError(f"{value!r} has no fields; a value here has {', '.join(shape.columns.names)}")
    unknown = set(plain) - set(shape.columns.names)
    if unknown:
        raise StreamsError(
            f"there is no field {', '.join(sorted(unknown))}; there are {', '.join(shape.columns.names)}"
        )
    return {name: plain.get(name) for name in shape.columns.names}


def from_row(row: Mapping[str, Any] | None, shape: Shape) -> Any:
    """A row as what people see: the shape's Python type, or a `Record`."""
    if row is None or not shape.columns.names:
        return None
    plain = row[shape.column] if shape.column is not None else {name: row[name] for name in shape.columns.names}
    return to_python(_converted(plain, shape.type, _python_value), shape.python if shape.python is not None else Any)


def _converted(value: Any, type_: DataType, leaf: Callable[[Any, DataType], Any]) -> Any:
    if value is None:
        return None
    if isinstance(type_, Struct) and isinstance(value, Mapping):
        types = {field.name: field.type for field in type_}
        return {name: _converted(one, types[name], leaf) if name in types else one for name, one in value.items()}
    if isinstance(type_, Array) and isinstance(value, list):
        return [_converted(one, type_.item, leaf) for one in value]
    if isinstance(type_, Map) and isinstance(value, Mapping):
        return {_converted(key, type_.key, leaf): _converted(one, type_.value, leaf) for key, one in value.items()}
    return leaf(value, type_)


def _row_value(value: Any, type_: DataType) -> Any:
    if type_ == TIMESTAMP and isinstance(value, datetime.datetime):
        moment = value if value.tzinfo is not None else value.replace(tzinfo=datetime.UTC)
        return (moment - _EPOCH) // _MILLISECOND
    if type_ == DATE and isinstance(value, datetime.date):
        return (value - _EPOCH.date()).days
    if type_ == TIME and isinstance(value, datetime.time):
        return (datetime.datetime.combine(_EPOCH.date(), value, datetime.UTC) - _EPOCH) // _MILLISECOND
    return value


def _python_value(value: Any, type_: DataType) -> Any:
    if type_ == TIMESTAMP:
        return _EPOCH + value * _MILLISECOND
    if type_ == DATE:
        return _EPOCH.date() + datetime.timedelta(days=value)
    if type_ == TIME:
        return (_EPOCH + value * _MILLISECOND).time()
    return value
