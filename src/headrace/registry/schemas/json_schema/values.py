"""Rules for strings, numbers and limits: a keyword that came or went, a bound that moved."""

from __future__ import annotations

from decimal import Decimal

from headrace.registry.schemas.json_schema.comparison import RULES, Compatible, Found, Rule
from headrace.registry.schemas.json_schema.nodes import Number, Numeric, String


def bound(keyword: str, kind: str, old: Number | None, new: Number | None) -> Found:
    """How a bound changed."""
    if old is None or new is None:
        change = "" if old is new else "ADDED" if old is None else "REMOVED"
    else:
        change = "INCREASED" if old < new else "DECREASED" if old > new else ""
    return [(f"{kind}_{change}", keyword)] if change else []


def _string(old: String, new: String, compatible: Compatible) -> Rule:
    yield from ()
    found = bound("maxLength", "MAX_LENGTH", old.max_length, new.max_length)
    found += bound("minLength", "MIN_LENGTH", old.min_length, new.min_length)
    if old.pattern != new.pattern:
        change = "ADDED" if old.pattern is None else "REMOVED" if new.pattern is None else "CHANGED"
        found.append((f"PATTERN_{change}", "pattern"))
    return found


def _numeric(old: Numeric, new: Numeric, compatible: Compatible) -> Rule:
    yield from ()
    found = bound("maximum", "MAXIMUM", old.maximum, new.maximum)
    found += bound("minimum", "MINIMUM", old.minimum, new.minimum)
    found += bound("exclusiveMaximum", "EXCLUSIVE_MAXIMUM", old.exclusive_maximum, new.exclusive_maximum)
    found += bound("exclusiveMinimum", "EXCLUSIVE_MINIMUM", old.exclusive_minimum, new.exclusive_minimum)
    if old.multiple_of != new.multiple_of:
        found.append((f"MULTIPLE_OF_{_divisor_change(old.multiple_of, new.multiple_of)}", "multipleOf"))
    if old.integer != new.integer:
        found.append(("TYPE_EXTENDED" if old.integer else "TYPE_NARROWED", ""))
    return found


def _divisor_change(old: Number | None, new: Number | None) -> str:
    if old is None or new is None:
        return "ADDED" if old is None else "REMOVED"
    if _divides(old, new):
        return "EXPANDED"
    return "REDUCED" if _divides(new, old) else "CHANGED"


def _divides(divisor: Number, number: Number) -> bool:
    # As whole numbers of the same unit, since decimals have only so many digits.
    left, right = Decimal(number), Decimal(divisor)
    shift = max(-int(left.as_tuple().exponent), -int(right.as_tuple().exponent), 0)
    return int(left.scaleb(shift)) % int(right.scaleb(shift)) == 0


RULES[String] = _string
RULES[Numeric] = _numeric
