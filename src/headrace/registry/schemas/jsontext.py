"""JSON in and out, as Jackson does it: bounded reading, and the compact writing that Confluent's canonical texts have.

Avro's canonical text is what Java's `Schema.toString()` prints, so numbers and escapes are Java's.
"""

from __future__ import annotations

import json
import math
import re
from decimal import Decimal
from json.encoder import py_encode_basestring
from typing import Any

from headrace.registry.schemas.errors import InvalidSchema
from headrace.registry.schemas.limits import NESTING

_EXPONENT = 1_000
_STRUCTURE = re.compile(r'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]', re.DOTALL)
_LONE_SURROGATE = re.compile(r"[\ud800-\udfff]")
_SMALL_HEXADECIMAL = re.compile(r"(?<!\\)((?:\\\\)*)\\u([0-9a-f]{4})")


def read(text: str, *, exact: bool = False) -> Any:
    """A JSON value; raises `InvalidSchema` for anything else, and for what is nested too deeply.

    `exact` keeps numbers with a point as decimals, so that they are written as they were read.
    """
    _check_nesting(text)
    try:
        value = json.loads(text, parse_float=_decimal if exact else _finite, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise InvalidSchema(f"Not valid JSON: {error}") from error
    if "\\u" in text and _LONE_SURROGATE.search(json.dumps(value, ensure_ascii=False, default=str)):
        raise InvalidSchema("Not valid JSON: a string holds half of a surrogate pair")
    return value


def _check_nesting(text: str) -> None:
    depth = 0
    for match in _STRUCTURE.finditer(text):
        mark = match[0][0]
        if mark in "[{":
            depth += 1
            if depth > NESTING:
                raise InvalidSchema(f"Nested too deeply: more than {NESTING} levels")
        elif mark != '"':
            depth -= 1


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"number out of range: {text[:40]}")
    return number


def _decimal(text: str) -> Decimal:
    number = Decimal(text)
    if abs(number.adjusted()) > _EXPONENT:
        raise ValueError(f"number out of range: {text[:40]}")
    return number


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON value")


def write(value: Any) -> str:
    """Compact JSON in the order of the keys, numbers and escapes as Jackson writes them."""
    parts: list[str] = []
    _write(value, parts)
    return "".join(parts)


def _write(value: Any, parts: list[str]) -> None:
    if isinstance(value, str):
        parts.append(quoted(value))
    elif isinstance(value, dict):
        separator = "{"
        for key, entry in value.items():
            parts.append(f"{separator}{quoted(key)}:")
            _write(entry, parts)
            separator = ","
        parts.append("}" if value else "{}")
    elif isinstance(value, (list, tuple)):
        separator = "["
        for entry in value:
            parts.append(separator)
            _write(entry, parts)
            separator = ","
        parts.append("]" if value else "[]")
    elif isinstance(value, Decimal):
        parts.append(str(value))
    elif isinstance(value, float):
        parts.append(java_double(value))
    else:
        parts.append(json.dumps(value))


def quoted(text: str) -> str:
    """A JSON string; only what must be escaped is, with capital hexadecimal digits."""
    escaped = py_encode_basestring(text)
    if "\\u" in escaped:
        escaped = _SMALL_HEXADECIMAL.sub(lambda match: f"{match[1]}\\u{match[2].upper()}", escaped)
    return escaped


def in_order(value: Any) -> Any:
    """The same value with the keys of all objects in order."""
    if isinstance(value, dict):
        return {key: in_order(entry) for key, entry in sorted(value.items(), key=lambda item: java_key(item[0]))}
    return [in_order(entry) for entry in value] if isinstance(value, list) else value


def java_key(text: str) -> bytes:
    """What Java orders strings by: UTF-16 units."""
    return text.encode("utf-16-be", "surrogatepass")


def java_double(number: float) -> str:
    """`Double.toString`: plain between a thousandth and ten million, else one digit before the point and an E."""
    return _java_digits(repr(number), number)


def java_float(number: float) -> str:
    """`Float.toString` of a number that is rounded to 32 bits."""
    return _java_digits(_shortest_float(number), number)


def _shortest_float(number: float) -> str:
    import struct

    single = struct.unpack(">f", struct.pack(">f", number))[0]
    for precision in range(1, 10):
        text = f"{single:.{precision}g}"
        if struct.unpack(">f", struct.pack(">f", float(text)))[0] == single:
            return text
    return repr(single)


def _java_digits(text: str, number: float) -> str:
    if number == 0:
        return "-0.0" if math.copysign(1, number) < 0 else "0.0"
    sign = "-" if text.startswith("-") else ""
    mantissa, _, exponent = text.lstrip("-").partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len((whole + fraction).lstrip("0")))
    digits = digits.rstrip("0") or "0"
    if 1e-3 <= abs(number) < 1e7:
        if point <= 0:
            return f"{sign}0.{'0' * -point}{digits}"
        padded = digits.ljust(point, "0")
        return f"{sign}{padded[:point]}.{padded[point:] or '0'}"
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{point - 1}"
