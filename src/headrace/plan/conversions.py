"""Which types become which: by themselves (widening), in common (two results of one expression), and with a CAST."""

from __future__ import annotations

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
    Struct,
)

MAX_PRECISION = 38
MINIMUM_SCALE = 6
_WHOLE: dict[DataType, Decimal] = {INTEGER: Decimal(10, 0), BIGINT: Decimal(19, 0)}

_CASTS: dict[DataType, tuple[DataType, ...]] = {
    BOOLEAN: (STRING, INTEGER, BIGINT, DOUBLE),
    STRING: (BOOLEAN, INTEGER, BIGINT, DOUBLE, BYTES, DATE, TIME, TIMESTAMP),
    BYTES: (STRING,),
    DATE: (STRING, TIMESTAMP),
    TIME: (STRING, INTEGER, BIGINT),
    TIMESTAMP: (STRING, BIGINT, DATE, TIME),
    INTEGER: (STRING, BOOLEAN, TIME),
    BIGINT: (STRING, BOOLEAN, TIMESTAMP),
    DOUBLE: (STRING, BOOLEAN),
}


def is_number(type_: DataType) -> bool:
    return type_ in (INTEGER, BIGINT, DOUBLE) or isinstance(type_, Decimal)


def as_decimal(type_: DataType) -> Decimal | None:
    """The decimal that holds every value of a whole-number type; a decimal is itself."""
    return type_ if isinstance(type_, Decimal) else _WHOLE.get(type_)


def bounded_decimal(precision: int, scale: int) -> Decimal:
    """Spark's rule for a result that needs more than 38 digits: digits before the point are kept, at least 6 after it stay."""
    if precision <= MAX_PRECISION:
        return Decimal(precision, scale)
    digits = precision - scale
    return Decimal(MAX_PRECISION, max(MAX_PRECISION - digits, min(scale, MINIMUM_SCALE)))


def common_type(one: DataType, other: DataType) -> DataType | None:
    """The type both become without losing anything but a double's exactness; None when there is none."""
    if one == other:
        return one
    if is_number(one) and is_number(other):
        return _common_number(one, other)
    if {one, other} == {DATE, TIMESTAMP}:
        return TIMESTAMP
    if isinstance(one, Array) and isinstance(other, Array):
        item = common_type(one.item, other.item)
        return Array(item) if item else None
    if isinstance(one, Map) and isinstance(other, Map):
        key, value = common_type(one.key, other.key), common_type(one.value, other.value)
        return Map(key, value) if key and value else None
    if isinstance(one, Struct) and isinstance(other, Struct):
        return _common_struct(one, other)
    return None


def _common_number(one: DataType, other: DataType) -> DataType:
    if DOUBLE in (one, other):
        return DOUBLE
    if isinstance(one, Decimal) or isinstance(other, Decimal):
        left, right = as_decimal(one), as_decimal(other)
        assert left is not None and right is not None
        scale = max(left.scale, right.scale)
        return bounded_decimal(max(left.precision - left.scale, right.precision - right.scale) + scale, scale)
    return BIGINT


def _common_struct(one: Struct, other: Struct) -> Struct | None:
    if one.names != other.names:
        return None
    fields: list[Field] = []
    for left, right in zip(one, other):
        both = common_type(left.type, right.type)
        if both is None:
            return None
        fields.append(Field(left.name, both))
    return Struct(tuple(fields))


def widens(from_: DataType, to: DataType) -> bool:
    """Whether a value of one type may stand where the other is asked for."""
    return common_type(from_, to) == to


def castable(from_: DataType, to: DataType) -> bool:
    """Whether CAST takes the one to the other; a value it cannot convert becomes NULL."""
    if from_ == to or widens(from_, to) or (is_number(from_) and is_number(to)):
        return True
    if isinstance(from_, Array) and isinstance(to, Array):
        return _plain(from_.item, to.item)
    if isinstance(from_, Map) and isinstance(to, Map):
        return _plain(from_.key, to.key) and _plain(from_.value, to.value)
    if isinstance(from_, Struct) and isinstance(to, Struct):
        return len(from_.fields) == len(to.fields) and all(_plain(a.type, b.type) for a, b in zip(from_, to))
    if isinstance(from_, Decimal) or isinstance(to, Decimal):
        return STRING in (from_, to)
    return to in _CASTS.get(from_, ())


def _plain(from_: DataType, to: DataType) -> bool:
    """Inside a collection only what needs no rule of its own is converted."""
    times = (TIME, TIMESTAMP)
    return castable(from_, to) and (from_ == to or (from_ not in times and to not in times))


def holds_map(type_: DataType) -> bool:
    """Whether a map is in the type: such values cannot be compared, sorted or be keys."""
    match type_:
        case Map():
            return True
        case Array(item):
            return holds_map(item)
        case Struct(fields):
            return any(holds_map(one.type) for one in fields)
    return False
