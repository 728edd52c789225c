"""JSON values and columns' values, in Python, by the rules of the format json (see `json_format.py`)."""

from __future__ import annotations

import base64
import binascii
import decimal
import json
import math
from collections.abc import Mapping
from typing import Any

from headrace.formats.format import FormatError
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

WHOLE: Mapping[DataType, tuple[int, int]] = {
    INTEGER: (-(1 << 31), (1 << 31) - 1),
    BIGINT: (-(1 << 63), (1 << 63) - 1),
    TIMESTAMP: (-62135596800000, 253402300799999),
    DATE: (-719162, 2932896),
    TIME: (0, 86399999),
}
_SPECIAL = {
    "NaN": math.nan,
    "Infinity": math.inf,
    "+Infinity": math.inf,
    "-Infinity": -math.inf,
    "INF": math.inf,
    "+INF": math.inf,
    "-INF": -math.inf,
}
_CONTEXT = decimal.Context(
    prec=400, rounding=decimal.ROUND_HALF_UP, Emax=10**6, Emin=-(10**6), traps=[decimal.InvalidOperation]
)
_MAX_EXPONENT = 400


class _Number(float):
    """A number with a fraction or an exponent, that still knows its text."""

    text: str


def _number(text: str) -> _Number:
    found = _Number(text)
    found.text = text
    return found


_DECODER = json.JSONDecoder(parse_float=_number)


def parse_json(data: bytes, alone: bool) -> Any:
    """The first JSON value in the bytes; `alone`: nothing may follow it."""
    text = data.decode("utf-8", "replace").lstrip(" \t\r\n")
    if not text:
        raise FormatError("no JSON: it is empty")
    try:
        value, end = _DECODER.raw_decode(text)
    except RecursionError:
        raise FormatError("no JSON that could be read: it is nested too deep") from None
    except ValueError as error:
        raise FormatError(f"no JSON: {error}") from None
    if alone and text[end:].strip(" \t\r\n"):
        raise FormatError(f"expected one value, found {text[:50]}")
    return value


def write_json(value: Any) -> bytes:
    """JSON as Spark writes it: no spaces, no escapes but those that are needed. Lone surrogates become '?', as in Spark."""
    return "".join(_written(value)).encode("utf-8", "replace")


def _written(value: Any) -> list[str]:
    if isinstance(value, dict):
        inner = ",".join(
            f"{json.dumps(name, ensure_ascii=False)}:{''.join(_written(one))}" for name, one in value.items()
        )
        return ["{", inner, "}"]
    if isinstance(value, list):
        return ["[", ",".join("".join(_written(one)) for one in value), "]"]
    if isinstance(value, decimal.Decimal):
        return [str(value)]
    if isinstance(value, float):
        return [java_double(value)]
    return [json.dumps(value, ensure_ascii=False)]


def java_double(value: float) -> str:
    """A finite double as Java writes it: the same digits as Python's, but other rules for the point and the exponent."""
    sign, digits, exponent = decimal.Decimal(repr(value)).as_tuple()
    assert isinstance(exponent, int)
    text = "".join(map(str, digits)).rstrip("0") or "0"
    point = len(digits) + exponent
    prefix = "-" if sign else ""
    if text == "0":
        return f"{prefix}0.0"
    if 1e-3 <= abs(value) < 1e7:
        whole = text[:point].ljust(point, "0") if point > 0 else "0"
        rest = text[max(point, 0) :] if point > 0 else "0" * -point + text
        return f"{prefix}{whole}.{rest or '0'}"
    return f"{prefix}{text[0]}.{text[1:] or '0'}E{point - 1}"


def from_json_value(value: Any, type_: DataType, name: str) -> Any:
    """A JSON value as a column's; `FormatError` names the column."""
    if value is None:
        return None
    if type_ == STRING:
        return value if isinstance(value, str) else _text(value)
    if type_ == BOOLEAN and isinstance(value, bool):
        return value
    if type_ in WHOLE and isinstance(value, int) and not isinstance(value, bool):
        return _whole(value, type_, name)
    if type_ == DOUBLE:
        return _double(value, name)
    if isinstance(type_, Decimal):
        return _decimal(value, type_, name)
    if type_ == BYTES and isinstance(value, str):
        return _bytes(value, name)
    if isinstance(type_, Array) and isinstance(value, list):
        return [from_json_value(one, type_.item, name) for one in value]
    if isinstance(type_, Map) and isinstance(value, dict):
        return {key: from_json_value(one, type_.value, name) for key, one in value.items()}
    if isinstance(type_, Struct) and isinstance(value, dict):
        return {one.name: from_json_value(value.get(one.name), one.type, f"{name}.{one.name}") for one in type_}
    raise FormatError(f"{name} is no {type_}: {_text(value)[:50]}")


def _text(value: Any) -> str:
    if isinstance(value, _Number):
        return repr(float(value))
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _whole(value: int, type_: DataType, name: str) -> int:
    low, high = WHOLE[type_]
    if not low <= value <= high:
        raise FormatError(f"{name} is out of the range of {type_}: {str(value)[:50]}")
    return value


def _double(value: Any, name: str) -> float:
    if isinstance(value, str) and value in _SPECIAL:
        return _SPECIAL[value]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise FormatError(f"{name} is no DOUBLE: {_text(value)[:50]}")
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _decimal(value: Any, type_: Decimal, name: str) -> decimal.Decimal:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise FormatError(f"{name} is no {type_}: {_text(value)[:50]}")
    try:
        number = decimal.Decimal(value.text if isinstance(value, _Number) else value)
        if not number.is_finite() or abs(number.adjusted()) > _MAX_EXPONENT:
            raise decimal.InvalidOperation
    except decimal.InvalidOperation:
        raise FormatError(f"{name} is no {type_}: {_text(value)[:50]}") from None
    return fitted(number, type_, name)


def fitted(number: decimal.Decimal, type_: Decimal, name: str) -> decimal.Decimal:
    """The number rounded to the type's scale; `FormatError` when it has too many digits."""
    rounded = _CONTEXT.quantize(number, decimal.Decimal(1).scaleb(-type_.scale))
    if len(rounded.as_tuple().digits) > type_.precision and rounded:
        raise FormatError(f"{name} is out of the range of {type_}: {str(number)[:50]}")
    return rounded


def _bytes(value: str, name: str) -> bytes:
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        raise FormatError(f"{name} is no BYTES, which is base64: {value[:50]}") from None


def to_json_value(value: Any, type_: DataType, name: str) -> Any:
    """A column's value as JSON's; a value of another type is a `FormatError`."""
    if value is None:
        return None
    if type_ == STRING and isinstance(value, str):
        return value
    if type_ == BOOLEAN and isinstance(value, bool):
        return value
    if type_ in WHOLE and isinstance(value, int) and not isinstance(value, bool):
        return _whole(value, type_, name)
    if type_ == DOUBLE and isinstance(value, int | float) and not isinstance(value, bool):
        return (
            float(value)
            if math.isfinite(value)
            else ("NaN" if math.isnan(value) else f"{'-' if value < 0 else ''}Infinity")
        )
    if isinstance(type_, Decimal) and isinstance(value, int | decimal.Decimal) and not isinstance(value, bool):
        number = decimal.Decimal(value)
        if not number.is_finite() or fitted(number, type_, name) != number:
            raise FormatError(f"{name} has more digits after the point than a {type_}: {str(value)[:50]}")
        return fitted(number, type_, name)
    if type_ == BYTES and isinstance(value, bytes | bytearray | memoryview):
        return base64.b64encode(value).decode()
    return _collection(value, type_, name)


def _collection(value: Any, type_: DataType, name: str) -> Any:
    if isinstance(type_, Array) and isinstance(value, list | tuple):
        return [to_json_value(one, type_.item, name) for one in value]
    if isinstance(type_, Map) and isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: to_json_value(one, type_.value, name) for key, one in value.items()}
    if isinstance(type_, Struct) and isinstance(value, Mapping):
        return {one.name: to_json_value(value.get(one.name), one.type, f"{name}.{one.name}") for one in type_}
    raise FormatError(f"{name} is a {type_}, {str(value)[:50]!r} ({type(value).__name__}) is none")
