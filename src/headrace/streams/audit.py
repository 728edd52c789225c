"""Reads a function's code before it is traced, for what a trace could not see.

A traced function runs once, not once per record. Most of what a column cannot do raises when it is tried; what would pass in silence is looked
for here: `x is None`, writing to variables outside, and calls of anything that is not known to be the same every time (`time.time()`, `random()`).
Whatever is not known to be harmless makes the function a Python function: slower, and never wrong.
"""

from __future__ import annotations

import builtins
import datetime
import decimal
import dis
import inspect
import math
import types
import uuid
from collections.abc import Callable, Iterator
from enum import Enum
from typing import Any, NamedTuple

from headrace.streams.schema import field_names
from headrace.streams.symbols import Symbol

_BUILTINS = frozenset(
    {"abs", "all", "any", "bool", "dict", "divmod", "enumerate", "float", "frozenset", "int", "len", "list", "max", "min", "pow",
     "range", "reversed", "round", "set", "sorted", "str", "sum", "tuple", "zip", "True", "False", "None", "ValueError"}
)  # fmt: skip
_CONSTANTS = (
    str,
    bytes,
    int,
    float,
    bool,
    type(None),
    decimal.Decimal,
    datetime.date,
    datetime.time,
    datetime.timedelta,
    uuid.UUID,
    Enum,
)
_WRITES = {"STORE_GLOBAL", "STORE_DEREF", "DELETE_GLOBAL", "DELETE_DEREF", "STORE_ATTR", "DELETE_ATTR", "IMPORT_NAME"}
_CHANGES = frozenset(
    {"append", "add", "clear", "discard", "extend", "insert", "pop", "popitem", "remove", "reverse", "setdefault", "sort", "update",
     "__setitem__", "__delitem__"}
)  # fmt: skip
_OWN = "headrace.streams"
_MAX_DEPTH = 20


class Finding(NamedTuple):
    """Why a function cannot be traced."""

    reason: str
    advice: str
    line: int | None


class _Missing:
    """A name that is not bound (yet)."""


def audit(function: Callable[..., Any]) -> Finding | None:
    """The first thing in the function, or in functions it calls, that a trace could get wrong; None when there is nothing."""
    return _audit(function, set(), 0)


def _audit(function: Any, seen: set[int], depth: int) -> Finding | None:
    function = inspect.unwrap(function)
    if isinstance(function, types.MethodType):
        function = function.__func__
    code = getattr(function, "__code__", None)
    if code is None:
        return Finding(
            f"calls {_name(function)}, whose code cannot be read", "use the functions of headrace.streams.fn", None
        )
    if id(code) in seen or depth > _MAX_DEPTH:
        return None
    seen.add(id(code))
    kind = code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR)
    if kind:
        return Finding("is a generator or a coroutine", "return a list", code.co_firstlineno)
    return _code(code, _names(function), seen, depth)


def _code(code: types.CodeType, names: dict[str, Any], seen: set[int], depth: int) -> Finding | None:
    line = code.co_firstlineno
    for instruction, target in _with_targets(code, names):
        line = instruction.positions.lineno or line if instruction.positions else line
        found = _instruction(instruction, code) or _target(target, seen, depth)
        if instruction.opname in ("STORE_SUBSCR", "DELETE_SUBSCR") and _holds_containers(code, names):
            found = found or Finding(
                "changes items of a list or dict that may not be its own", "return a new value", None
            )
        if found:
            return Finding(found.reason, found.advice, found.line or line)
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            hidden = {*code.co_cellvars, *inner.co_cellvars}
            found = _code(inner, {name: one for name, one in names.items() if name not in hidden}, seen, depth)
            if found:
                return found
    return None


def _holds_containers(code: types.CodeType, names: dict[str, Any]) -> bool:
    outside = (*code.co_freevars, *code.co_names)
    return any(isinstance(names.get(name), list | set | dict) for name in outside)


def _instruction(instruction: dis.Instruction, code: types.CodeType) -> Finding | None:
    name = instruction.opname
    if name == "IS_OP" or (name.startswith("POP_JUMP") and "NONE" in name):
        return Finding("uses `is` with a column", "use == None, .is_null() or .or_else(…)", None)
    if name.startswith("MATCH_"):
        return Finding("uses `match`", "use when(…).then(…).otherwise(…)", None)
    if name in _WRITES and not (name == "STORE_DEREF" and instruction.argval in code.co_cellvars):
        what = (
            "imports a module" if name == "IMPORT_NAME" else f"writes to {instruction.argval!r}, which is not its own"
        )
        return Finding(
            what, "a function of a stream returns a new value; keep state in aggregate(…) or process(…)", None
        )
    return None


def _with_targets(code: types.CodeType, names: dict[str, Any]) -> Iterator[tuple[dis.Instruction, Any]]:
    """Every instruction with the object from outside that it loads, attributes of modules and of constants followed."""
    current: Any = _Missing
    pending: Any = _Missing
    for instruction in dis.get_instructions(code):
        name = instruction.opname
        if name in ("LOAD_GLOBAL", "LOAD_NAME") or (
            name in ("LOAD_DEREF", "LOAD_CLASSDEREF") and instruction.argval in code.co_freevars
        ):
            if pending is not _Missing:
                yield instruction, pending
            pending = names.get(str(instruction.argval), _Missing)
        elif name in ("LOAD_ATTR", "LOAD_METHOD") and pending is not _Missing:
            current = _attribute(pending, str(instruction.argval))
            if current is _Missing and isinstance(pending, types.ModuleType):
                yield instruction, pending
            pending = current
        elif name not in ("PRECALL", "CACHE", "PUSH_NULL", "RESUME", "EXTENDED_ARG") and pending is not _Missing:
            target, pending = pending, _Missing
            yield instruction, target
            continue
        yield instruction, _Missing
    if pending is not _Missing:
        yield instruction, pending


def _attribute(owner: Any, name: str) -> Any:
    """An attribute that can be read without running code; `_Missing` of anything else."""
    if isinstance(owner, types.ModuleType):
        return getattr(owner, name, _Missing)
    if isinstance(owner, type):
        if owner.__module__ == "datetime" and name in ("now", "today", "utcnow"):
            return _Clock
        found = getattr(owner, name, _Missing)
        return found if isinstance(found, types.FunctionType | types.MethodType | Enum) else owner
    if isinstance(owner, list | set | dict):
        return _Change if name in _CHANGES else owner
    return getattr(owner, name, _Missing) if isinstance(owner, _CONSTANTS) or field_names(type(owner)) else owner


class _Clock:
    """Stands for what reads the time."""


class _Change:
    """Stands for what changes a list, a set or a dict from outside."""


def _target(target: Any, seen: set[int], depth: int) -> Finding | None:
    if target is _Clock:
        return Finding("reads the clock", "use the record's own time: rowtime()", None)
    if target is _Change:
        return Finding(
            "changes a list, set or dict that is not its own", "keep state in aggregate(…) or process(…)", None
        )
    if target is _Missing or isinstance(target, (*_CONSTANTS, Symbol)) or _is_own(target) or _is_builtin(target):
        return None
    if isinstance(target, types.ModuleType):
        return None if target is math else _unknown(target)
    if isinstance(target, type):
        return _class(target, seen, depth)
    if isinstance(target, types.FunctionType | types.MethodType):
        return _audit(target, seen, depth + 1)
    if isinstance(target, list | set | frozenset | dict | tuple):
        items = list(target.items()) if isinstance(target, dict) else list(target)
        return None if all(_is_data(item) for item in items) else _unknown(target)
    if getattr(target, "__module__", None) == "math":
        return None
    return None if field_names(type(target)) is not None else _unknown(target)


def _class(cls: type, seen: set[int], depth: int) -> Finding | None:
    """A struct may be made, if what it does on the way is harmless too; an enum's members are constants."""
    if issubclass(cls, Enum | BaseException) or cls in (
        decimal.Decimal,
        datetime.date,
        datetime.datetime,
        datetime.time,
        datetime.timedelta,
    ):
        return None
    if field_names(cls) is None:
        return _unknown(cls)
    for base in cls.__mro__:
        for member in vars(base).values():
            function = getattr(member, "fget", None) or getattr(member, "__func__", None) or member
            if isinstance(function, types.FunctionType) and _is_written(function):
                found = _audit(function, seen, depth + 1)
                if found:
                    return found
    return None


def _is_written(function: types.FunctionType) -> bool:
    """Written by a person: what `dataclass`, `NamedTuple` and `typing` make is left out."""
    return not function.__code__.co_filename.startswith("<") and function.__module__ not in (
        "typing",
        "collections",
        "dataclasses",
    )


def _is_data(item: Any) -> bool:
    if isinstance(item, tuple | list):
        return all(_is_data(part) for part in item)
    return isinstance(item, _CONSTANTS) or field_names(type(item)) is not None


def _is_own(target: Any) -> bool:
    module = (
        target.__name__
        if isinstance(target, types.ModuleType)
        else getattr(target, "__module__", None) or type(target).__module__
    )
    return isinstance(module, str) and (module == _OWN or module.startswith(_OWN + "."))


def _is_builtin(target: Any) -> bool:
    name = getattr(target, "__name__", None)
    return name in _BUILTINS and getattr(builtins, str(name), _Missing) is target


def _unknown(target: Any) -> Finding:
    return Finding(
        f"uses {_name(target)}, which may give something else for every record",
        "use the functions of headrace.streams.fn, or constants",
        None,
    )


def _name(target: Any) -> str:
    module, name = (
        getattr(target, "__module__", None),
        getattr(target, "__qualname__", None) or getattr(target, "__name__", None),
    )
    if name is None:
        return f"a {type(target).__name__}"
    return f"{module}.{name}" if module and module != "builtins" else str(name)


def _names(function: types.FunctionType) -> dict[str, Any]:
    """What the names that a function does not define itself are bound to now."""
    found: dict[str, Any] = {**vars(builtins), **function.__globals__}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:
            found[name] = _Missing
    return found
