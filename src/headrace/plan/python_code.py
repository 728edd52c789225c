"""Python code of users in a plan: how a reference is made, and what it becomes where the plan runs.

A function or a processor stands in a plan as `module:name`, importable where the engine runs and only from modules that its owner
allows, or as `local:<id>`, which exists only in the process that wrote the plan. Nothing here pickles, evaluates or loads code from
a plan: a reference is looked up, or refused.

Between Spark and such code go plain values: numbers, texts, bytes, dates, lists, dicts. `adapted` turns dicts into the dataclasses of a
function's annotations (or into `Record`s, which have attributes) and its result into plain values again.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import itertools
import sys
import types
import typing
from collections.abc import Callable, Collection, Mapping
from enum import Enum
from typing import Any

LOCAL = "local:"
Converter = Callable[[Any], Any]
_locals: dict[str, Any] = {}
_numbers = itertools.count(1)


class CodeReferenceError(ValueError):
    """A reference to Python code that cannot be used here; says what to do."""


class Record(dict[str, Any]):
    """A struct without a class: a dict whose fields are attributes too, save those that are called as a dict's methods are."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"there is no field {name!r}; there are {', '.join(self)}") from None


def register_local(code: Any, name: str) -> str:
    """A reference to code that lives in this process only."""
    reference = f"{LOCAL}{name}-{next(_numbers)}"
    _locals[reference] = code
    return reference


def importable_reference(code: Any) -> str | None:
    """`module:name` if importing that gives exactly this object, else None."""
    module = getattr(code, "__module__", None)
    name = getattr(code, "__qualname__", None)
    if not module or not name or module == "__main__" or "<" in name:
        return None
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return f"{module}:{name}" if found is code else None


def resolve(reference: str, allowed_modules: Collection[str] | None = None) -> Any:
    """The code that a reference names. `allowed_modules` None: any (the plan was written in this process)."""
    if reference.startswith(LOCAL):
        if reference not in _locals:
            raise CodeReferenceError(
                f"{reference!r} exists only in the process that wrote the plan: run the app itself (`headrace run app.py`, "
                "`app.start()`), or move the function to a module that the engine can import"
            )
        return _locals[reference]
    module, _, name = reference.partition(":")
    if allowed_modules is not None and not _is_allowed(module, allowed_modules):
        raise CodeReferenceError(f"the engine may not import {module!r}: add it to its setting `python.modules`")
    try:
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise CodeReferenceError(f"{reference!r} cannot be imported where the engine runs: {error}") from error
    home = getattr(found, "__module__", None) or ""
    if allowed_modules is not None and not _is_allowed(home, allowed_modules):
        # Else a module that imports `os` would lend it to every plan.
        raise CodeReferenceError(
            f"{reference!r} is not of {module!r} itself but of {home or 'no module'!r}; define it there"
        )
    return found


def _is_allowed(module: str, allowed: Collection[str]) -> bool:
    return any(module == name or module.startswith(name + ".") for name in allowed)


def adapted(function: Callable[..., Any], arguments: tuple[Any, ...] | None = None) -> Callable[..., Any]:
    """The function over plain values. `arguments`: the Python types of its parameters, else its annotations say them."""
    function = inspect.unwrap(function)
    converters = [converter(one) for one in (arguments if arguments is not None else _parameter_types(function))]
    rest = converter(Any)

    def call(*plain: Any) -> Any:
        values = [(converters[i] if i < len(converters) else rest)(value) for i, value in enumerate(plain)]
        return to_plain(function(*values))

    return call


def _parameter_types(function: Callable[..., Any]) -> tuple[Any, ...]:
    hints = typing.get_type_hints(function)
    return tuple(hints.get(name, Any) for name in inspect.signature(function).parameters)


def to_python(value: Any, hint: Any) -> Any:
    """A plain value as what an annotation says; for many values make a `converter` once."""
    return converter(hint)(value)


def converter(hint: Any) -> Converter:
    """A function that makes of plain values what an annotation says: dicts become dataclasses or named tuples, or `Record`s when it says nothing.

    Annotations are read here and now: in a worker, a class that came with a pickle has lost the names that its annotations are written with.
    """
    convert = _converter(_bare(hint))
    return lambda value: None if value is None else convert(value)


def _converter(hint: Any) -> Converter:
    origin, items = typing.get_origin(hint), typing.get_args(hint)
    fields = _fields(hint)
    if fields is not None:
        return _struct_converter(hint, fields)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return hint
    if origin is tuple:
        parts = [converter(item) for item in items]
        return lambda value: tuple(part(one) for part, one in zip(parts, value.values(), strict=True))
    if origin in (list, set, frozenset) and items:
        item = converter(items[0])
        return lambda value: [item(one) for one in value]
    if origin is dict and len(items) == 2:
        key, content = converter(items[0]), converter(items[1])
        return lambda value: {key(k): content(v) for k, v in value.items()}
    return _record


def _fields(cls: Any) -> list[str] | None:
    """The fields of a class that a struct becomes."""
    if isinstance(cls, type) and dataclasses.is_dataclass(cls):
        return [field.name for field in dataclasses.fields(cls) if field.init]
    return list(cls._fields) if _is_named_tuple(cls) else None


def _struct_converter(cls: Any, names: list[str]) -> Converter:
    hints = typing.get_type_hints(cls)
    parts = [(name, converter(hints.get(name, Any))) for name in names]

    def convert(value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        return cls(**{name: part(value.get(name)) for name, part in parts})

    return convert


def _record(value: Any) -> Any:
    """What no annotation says anything about: dicts become records, all the way down."""
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return [_record(item) for item in value]
    if isinstance(value, Mapping):
        return Record({name: _record(content) for name, content in value.items()})
    return value


def _bare(hint: Any) -> Any:
    """An annotation without `Optional` and `Annotated`."""
    if typing.get_origin(hint) is typing.Annotated:
        return _bare(typing.get_args(hint)[0])
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        rest = [option for option in typing.get_args(hint) if option is not type(None)]
        return _bare(rest[0]) if len(rest) == 1 else Any
    return hint


def _is_named_tuple(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, tuple) and hasattr(hint, "_fields")


def to_plain(value: Any) -> Any:
    """A Python value as plain values; tuples become dicts with the fields `f0`, `f1`, …"""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple):
        names = getattr(value, "_fields", None) or [f"f{i}" for i in range(len(value))]
        return {name: to_plain(item) for name, item in zip(names, value, strict=True)}
    if isinstance(value, Mapping):
        return {to_plain(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, list | set | frozenset):
        return [to_plain(item) for item in value]
    return value
