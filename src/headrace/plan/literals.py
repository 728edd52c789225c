"""The values of literals: what JSON holds for each type, read into Python's own kinds.

TIMESTAMP: milliseconds or ISO 8601 text (UTC without a zone). DATE: days or text. TIME: milliseconds or text. DECIMAL: text or a whole number. BYTES: base64.
"""

from __future__ import annotations

import base64
import binascii
import datetime
import decimal
import re

from headrace.plan.expressions import Literal
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
    DataType,
    Decimal,
)

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
DAY_MS = 24 * 60 * 60 * 1000
# Of times: the years 1 to 9999.
_RANGES: dict[DataType, tuple[int, int]] = {
    INTEGER: (-(1 << 31), (1 << 31) - 1),
    BIGINT: (-(1 << 63), (1 << 63) - 1),
    TIMESTAMP: (-62135596800000, 253402300799999),
    DATE: (-719162, 2932896),
}
_TIME = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2})(?:\.(\d{1,3}))?)?")


class LiteralError(ValueError):
    """A literal whose value is none of its type."""


def check_literal(literal: Literal) -> None:
    """Raises `LiteralError` when the value is none of the type."""
    value = literal.value
    if value is None:
        return
    type_ = literal.type
    if type_ == BOOLEAN:
        _require(isinstance(value, bool), literal, "true or false")
    elif type_ == STRING:
        _require(isinstance(value, str), literal, "text")
    elif type_ == BYTES:
        literal_bytes(literal)
    elif type_ in (INTEGER, BIGINT):
        _whole(literal)
    elif type_ == DOUBLE:
        literal_double(literal)
    elif isinstance(type_, Decimal):
        literal_decimal(literal)
    elif type_ in (TIMESTAMP, DATE, TIME):
        literal_count(literal)
    else:
        raise LiteralError(f"a literal of {type_} can only be NULL; build it with array, map or a struct")


def _require(fine: bool, literal: Literal, wanted: str) -> None:
    if not fine:
        raise LiteralError(f"{str(literal)[:80]} is no {literal.type}: expected {wanted}")


def _whole(literal: Literal) -> int:
    value, (low, high) = literal.value, _RANGES[literal.type]
    _require(isinstance(value, int) and not isinstance(value, bool), literal, "a whole number")
    assert isinstance(value, int)
    _require(low <= value <= high, literal, f"{low} to {high}")
    return value


def literal_double(literal: Literal) -> float:
    value = literal.value
    _require(isinstance(value, int | float | str) and not isinstance(value, bool), literal, "a number")
    try:
        return float(value)  # type: ignore[arg-type]
    except (ValueError, OverflowError):
        raise LiteralError(f"{str(literal)[:80]} is no DOUBLE") from None


def literal_decimal(literal: Literal) -> decimal.Decimal:
    value, type_ = literal.value, literal.type
    assert isinstance(type_, Decimal)
    _require(isinstance(value, int | str) and not isinstance(value, bool), literal, "text such as '1.50'")
    try:
        number = decimal.Decimal(str(value))
        if not number.is_finite() or abs(number.adjusted()) > 400:
            raise decimal.InvalidOperation
        with decimal.localcontext(prec=200):
            quantized = number.quantize(decimal.Decimal(1).scaleb(-type_.scale))
    except (decimal.InvalidOperation, ValueError):
        raise LiteralError(f"{str(literal)[:80]} is no {type_}") from None
    _require(
        quantized == number and len(quantized.as_tuple().digits) <= type_.precision,
        literal,
        f"at most {type_.precision - type_.scale} digits before the point and {type_.scale} after it",
    )
    return quantized


def literal_bytes(literal: Literal) -> bytes:
    _require(isinstance(literal.value, str), literal, "base64 text")
    try:
        return base64.b64decode(str(literal.value), validate=True)
    except (binascii.Error, ValueError):
        raise LiteralError(f"{str(literal)[:80]} is no BYTES: expected base64") from None


def literal_count(literal: Literal) -> int:
    """Milliseconds since the epoch of a TIMESTAMP, days of a DATE, milliseconds of the day of a TIME."""
    if literal.type == TIME:
        return _time_of_day(literal)
    if not isinstance(literal.value, str):
        return _whole(literal)
    try:
        if literal.type == DATE:
            return (datetime.date.fromisoformat(literal.value) - EPOCH.date()).days
        moment = datetime.datetime.fromisoformat(literal.value)
    except ValueError:
        raise LiteralError(f"{str(literal)[:80]} is no {literal.type}: expected ISO 8601 text") from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.UTC)
    return (moment - EPOCH) // datetime.timedelta(milliseconds=1)


def _time_of_day(literal: Literal) -> int:
    if isinstance(literal.value, str):
        found = _TIME.fullmatch(literal.value)
        _require(found is not None, literal, "text such as '12:30:00.250'")
        assert found is not None
        hours, minutes, seconds = (int(part or 0) for part in found.groups()[:3])
        _require(minutes < 60 and seconds < 60, literal, "minutes and seconds below 60")
        count = ((hours * 60 + minutes) * 60 + seconds) * 1000 + int((found[4] or "0").ljust(3, "0"))
    else:
        _require(isinstance(literal.value, int) and not isinstance(literal.value, bool), literal, "milliseconds")
        count = int(literal.value or 0)
    _require(0 <= count < DAY_MS, literal, "a time within a day")
    return count
