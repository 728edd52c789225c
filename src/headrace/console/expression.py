"""Expressions over a record, for filters: `value.amount > 100 and key == "a"`. Read as Python's syntax, never run as Python: what is not listed here is refused.

Names: key, value, headers, topic, partition, offset, timestamp, size. `value` and `key` are the JSON in them, else their text. A field that is not
there is None, and comparing what cannot be compared is false, so that one odd record does not end a search.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

from headrace.admin.errors import Problem
from headrace.console.records import NOT_JSON, Record, as_plain_json

LONGEST = 1_000
DEEPEST = 40
Meaning = Callable[[Mapping[str, Any]], Any]
NAMES = ("key", "value", "headers", "topic", "partition", "offset", "timestamp", "size")
FUNCTIONS = ("contains", "starts", "ends", "matches", "lower", "length", "exists")
_HINT = 'Write it like value.amount > 100 and key == "a"'

_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda left, right: left in right,
    ast.NotIn: lambda left, right: left not in right,
    ast.Is: operator.eq,
    ast.IsNot: operator.ne,
}
_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
}


def compiled(text: str) -> Callable[[Record], bool]:
    """Whether a record is meant; `Problem` says what is wrong with the text."""
    if len(text) > LONGEST:
        raise Problem(f"An expression has at most {LONGEST:,} letters")
    try:
        tree = ast.parse(text.strip(), mode="eval")
        meaning = _meaning(tree.body, 0)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        said = error.msg if isinstance(error, SyntaxError) else "it is nested too deeply"
        raise Problem(f"'{text}' is no expression: {said}", _HINT) from None
    return lambda record: bool(meaning(_scope(record)))


class _Scope(dict[str, Any]):
    """The names of one record; key and value are parsed when somebody asks for them."""

    def __init__(self, record: Record) -> None:
        super().__init__(
            topic=record.topic,
            partition=record.partition,
            offset=record.offset,
            timestamp=record.timestamp_ms,
            size=record.size,
        )
        self._record = record

    def __missing__(self, name: str) -> Any:
        record = self._record
        if name == "headers":
            found: Any = {
                key: None if value is None else value.decode(errors="replace") for key, value in record.headers
            }
        else:
            found = _content(record.value if name == "value" else record.key)
        self[name] = found
        return found


def _scope(record: Record) -> Mapping[str, Any]:
    return _Scope(record)


def _content(data: bytes | None) -> Any:
    if data is None:
        return None
    parsed = as_plain_json(data)
    return data.decode(errors="replace") if parsed is NOT_JSON else parsed


def _meaning(node: ast.expr, depth: int) -> Meaning:
    if depth > DEEPEST:
        raise RecursionError
    into = depth + 1
    match node:
        case ast.Constant(value=value) if isinstance(value, str | int | float | bool) or value is None:
            return lambda _: value
        case ast.Name(id=name) if name in NAMES:
            return lambda scope: scope[name]
        case ast.Name(id=name) if name in _WORDS:
            word = _WORDS[name]
            return lambda _: word
        case ast.Attribute(value=inner, attr=field):
            return _field(_meaning(inner, into), field)
        case ast.Subscript(value=inner, slice=ast.Constant(value=field)) if isinstance(field, str | int):
            return _field(_meaning(inner, into), field)
        case ast.BoolOp(op=kind, values=values):
            return _joined(isinstance(kind, ast.And), [_meaning(each, into) for each in values])
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            negated = _meaning(inner, into)
            return lambda scope: not negated(scope)
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            negative = _meaning(inner, into)
            return lambda scope: _tried(operator.neg, negative(scope))
        case ast.BinOp(left=left, op=kind, right=right) if type(kind) in _ARITHMETIC:
            return _binary(_ARITHMETIC[type(kind)], _meaning(left, into), _meaning(right, into))
        case ast.Compare(left=left, ops=kinds, comparators=others):
            return _compared(
                [_meaning(each, into) for each in (left, *others)], [_COMPARE[type(kind)] for kind in kinds]
            )
        case ast.List(elts=items) | ast.Tuple(elts=items):
            listed = [_meaning(each, into) for each in items]
            return lambda scope: [each(scope) for each in listed]
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in FUNCTIONS:
            return _called(name, arguments, into)
    raise Problem(f"An expression cannot have '{_shown(node)}' in it", f"There are {', '.join((*NAMES, *FUNCTIONS))}")


# JSON's own words, as people copy them from a value.
_WORDS = {"true": True, "false": False, "null": None}


def _field(inner: Meaning, field: str | int) -> Meaning:
    def get(scope: Mapping[str, Any]) -> Any:
        value = inner(scope)
        if isinstance(value, dict):
            return value.get(str(field))
        if isinstance(value, list) and isinstance(field, int) and -len(value) <= field < len(value):
            return value[field]
        return None

    return get


def _joined(all_of: bool, parts: list[Meaning]) -> Meaning:
    return (
        (lambda scope: all(each(scope) for each in parts))
        if all_of
        else (lambda scope: any(each(scope) for each in parts))
    )


def _compared(values: list[Meaning], kinds: list[Callable[[Any, Any], Any]]) -> Meaning:
    def compare(scope: Mapping[str, Any]) -> bool:
        left = values[0](scope)
        for kind, other in zip(kinds, values[1:]):
            right = other(scope)
            if not _tried(kind, left, right):
                return False
            left = right
        return True

    return compare


def _binary(kind: Callable[[Any, Any], Any], left: Meaning, right: Meaning) -> Meaning:
    def both(scope: Mapping[str, Any]) -> Any:
        one, other = left(scope), right(scope)
        # Only numbers, and texts put together: "a" * 10**9 is not to be had.
        if isinstance(one, int | float) and isinstance(other, int | float):
            return _tried(kind, one, other)
        return one + other if kind is operator.add and isinstance(one, str) and isinstance(other, str) else None

    return both


def _tried(kind: Callable[..., Any], *values: Any) -> Any:
    try:
        return kind(*values)
    except (TypeError, ValueError, ArithmeticError):
        return None


def _called(name: str, arguments: list[ast.expr], depth: int) -> Meaning:
    wanted = 1 if name in ("lower", "length", "exists") else 2
    if len(arguments) != wanted:
        raise Problem(f"{name} takes {wanted} {'value' if wanted == 1 else 'values'}", _HINT)
    first = _meaning(arguments[0], depth)
    if name == "matches":
        return _matching(first, arguments[1])
    if wanted == 1:
        one: dict[str, Callable[[Any], Any]] = {
            "lower": lambda v: str(v).lower(),
            "length": len,
            "exists": lambda v: v is not None,
        }
        return lambda scope: _tried(one[name], first(scope))
    second = _meaning(arguments[1], depth)
    two: dict[str, Callable[[str, str], bool]] = {
        "contains": lambda a, b: b in a,
        "starts": str.startswith,
        "ends": str.endswith,
    }
    return lambda scope: _tried(two[name], _text(first(scope)), _text(second(scope)))


def _matching(first: Meaning, pattern: ast.expr) -> Meaning:
    """With RE2, whose time grows with the text alone, whatever the pattern is."""
    import re2

    if not (isinstance(pattern, ast.Constant) and isinstance(pattern.value, str)):
        raise Problem("matches takes a pattern in quotes", 'Write it like matches(key, "^a[0-9]+$")')
    try:
        found = re2.compile(pattern.value)
    except re2.error as error:
        raise Problem(f"'{pattern.value}' is no pattern: {error}") from None
    return lambda scope: found.search(_text(first(scope))) is not None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ("" if value is None else str(value))


def _shown(node: ast.expr) -> str:
    try:
        return ast.unparse(node)[:60]
    except (ValueError, RecursionError):
        return type(node).__name__
