"""Default values of fields: whether one fits its type, and what of it is kept in the normal form."""

from __future__ import annotations

import math
from typing import Any

from headrace.registry.schemas import jsontext
from headrace.registry.schemas.avro.types import Array, Field, Map, Node, Record, Union
from headrace.registry.schemas.errors import InvalidSchema
from headrace.registry.schemas.limits import NESTING, Budget

_BITS = {"int": 31, "long": 63}
_EXCERPT = 200
_ABSENT = object()


class SingleFloat(float):
    """A number rounded to 32 bits, which is written with as many digits as those need."""


def as_kept(field: Field, value: Any) -> Any:
    """The default as Java keeps it: a number may stand in quotes where the field's type is a floating point number."""
    if field.type.kind in ("float", "double") and isinstance(value, str):
        try:
            number = float(value)
        except ValueError as error:
            raise InvalidSchema(f"Invalid default for field {field.name}: {value[:_EXCERPT]} is no number") from error
        if not math.isfinite(number):
            return str(number).replace("inf", "Infinity").replace("nan", "NaN")
        return number
    return value


def check(field: Field, budget: Budget) -> None:
    """Raise unless the default fits."""
    if not field.has_default or _fits(field.type, field.default, budget, 0):
        return
    if field.type.kind in ("float", "double") and field.default in ("NaN", "Infinity", "-Infinity"):
        return
    value = jsontext.write(field.default)[:_EXCERPT]
    raise InvalidSchema(f"Invalid default for field {field.name}: {value} not a {field.type.kind}")


def _fits(node: Node, value: Any, budget: Budget, depth: int) -> bool:
    budget.spend()
    if value is _ABSENT or depth > NESTING:
        return False
    match node:
        case Union():
            return any(_fits(branch, value, budget, depth + 1) for branch in node.branches)
        case Array():
            return isinstance(value, list) and all(_fits(node.items, entry, budget, depth + 1) for entry in value)
        case Map():
            return isinstance(value, dict) and all(
                _fits(node.values, entry, budget, depth + 1) for entry in value.values()
            )
        case Record():
            return isinstance(value, dict) and all(
                _fits(field.type, value.get(field.name, _own_default(field)), budget, depth + 1)
                for field in node.fields
            )
    return _scalar_fits(node.kind, value)


def _own_default(field: Field) -> Any:
    return field.default if field.has_default else _ABSENT


def _scalar_fits(kind: str, value: Any) -> bool:
    if kind in ("string", "bytes", "enum", "fixed"):
        return isinstance(value, str)
    if kind in _BITS:
        limit = 1 << _BITS[kind]
        return isinstance(value, int) and not isinstance(value, bool) and -limit <= value < limit
    if kind in ("float", "double"):
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if kind == "boolean":
        return isinstance(value, bool)
    return kind == "null" and value is None


def normal(field: Field) -> tuple[bool, Any]:
    """Whether the normal form has a default, and it: numbers as the type has them, keys in order."""
    if not field.has_default:
        return False, None
    value = _normal(field.type, field.default)
    return value is not _ABSENT, value


def _normal(node: Node, value: Any) -> Any:
    if isinstance(node, Union):
        budget = Budget("normalising its defaults")
        matching = (branch for branch in node.branches if _fits(branch, value, budget, 0))
        branch = next(matching, None)
        return _ABSENT if branch is None else _normal(branch, value)
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, (int, float)):
        return _normal_number(node.kind, value)
    if isinstance(value, str):
        return value if node.kind in ("string", "enum", "bytes", "fixed") else _ABSENT
    if isinstance(value, list):
        return [_normal(node.items, entry) for entry in value] if isinstance(node, Array) else _ABSENT
    return {key: _normal_entry(node, key, entry) for key, entry in sorted(value.items())}


def _normal_entry(node: Node, key: str, entry: Any) -> Any:
    if isinstance(node, Map):
        return _normal(node.values, entry)
    field = node.field_named(key) if isinstance(node, Record) else None
    return _sorted(entry) if field is None else _normal(field.type, entry)


def _normal_number(kind: str, value: int | float) -> Any:
    if kind == "double":
        return float(value)
    if kind == "float":
        return SingleFloat(value)
    return value if kind in ("int", "long") and isinstance(value, int) else _ABSENT


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(entry) for key, entry in sorted(value.items())}
    return [_sorted(entry) for entry in value] if isinstance(value, list) else value


sorted_keys = _sorted
