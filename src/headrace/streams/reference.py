"""The reference page of the Streams API, made from signatures and docstrings. `headrace.cli.reference` writes it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

from headrace.plan import processing
from headrace.streams import fn, python_functions, windows
from headrace.streams.app import App
from headrace.streams.branches import Branches
from headrace.streams.cogrouped import CogroupedKStream
from headrace.streams.dstream import WindowedStream
from headrace.streams.grouped import KGroupedStream, KGroupedTable, TimeWindowedKStream
from headrace.streams.kstream import KStream
from headrace.streams.ktable import GlobalKTable, KTable
from headrace.streams.lookups import TableRow
from headrace.streams.running import RunningApp
from headrace.streams.symbol_kinds import ArraySymbol, MapSymbol, Scalar, Text

CLASSES: tuple[type, ...] = (
    App,
    KStream,
    KTable,
    GlobalKTable,
    KGroupedStream,
    TimeWindowedKStream,
    KGroupedTable,
    CogroupedKStream,
    WindowedStream,
    Branches,
    RunningApp,
    TableRow,
    processing.Processor,
    processing.Context,
    processing.State,
    processing.KeyValue,
)
WINDOWS = (
    windows.tumbling,
    windows.hopping,
    windows.sliding,
    windows.session,
    windows.count_window,
    windows.until,
    windows.within,
)
EXPRESSIONS = (
    fn.when,
    fn.literal,
    fn.cast,
    fn.length,
    fn.rowtime,
    fn.rowpartition,
    fn.rowoffset,
    fn.topic,
    fn.headers,
    fn.window_start,
    fn.window_end,
    python_functions.python_function,
)
_STARS: dict[Any, str] = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
COLUMNS = (("Every column but a struct", Scalar), ("Texts", Text), ("Arrays", ArraySymbol), ("Maps", MapSymbol))


def page() -> str:
    """The whole page, as Markdown."""
    return "\n".join(_parts())


def _parts() -> Iterator[str]:
    yield "# Streams API\n"
    yield "Everything of `headrace.streams`. Where an operation takes a function, it may take `value` or `key, value`; `name=` is the step's id. The [tutorial](../streams/index.md) shows how it goes together.\n"
    for cls in CLASSES:
        yield from _class(cls)
    yield "## Windows\n"
    yield "Lengths are keywords (`days`, `hours`, `minutes`, `seconds`, `ms`), a `timedelta`, or milliseconds.\n"
    for window in WINDOWS:
        yield from _function(window, window.__name__)
    yield "## In functions\n"
    for helper in EXPRESSIONS:
        yield from _function(helper, helper.__name__)
    yield "## What columns can do\n"
    yield "Operators: `+ - * / // % **`, `== != < <= > >=`, `& | ~`, `abs(x)`, `x[i]`; they do what they do in Python. Division by zero gives None.\n"
    for title, kind in COLUMNS:
        own = {name: member for name, member in _members(kind) if name in vars(kind)}
        methods = ", ".join(f"`{name}({_parameters(member)})`" for name, member in own.items())
        yield f"- {title}: {methods}"
    yield "\n## Functions (`fn`, `agg`)\n"
    yield "`fn.<name>` is every scalar function, `agg.<name>` every aggregate of the [list of functions](functions.md). Names that are words of Python end in an underscore: `fn.if_`, `fn.in_`.\n"


def _class(cls: type) -> Iterator[str]:
    yield f"## {cls.__name__}\n"
    yield f"{_doc(cls)}\n"
    if cls is App:
        yield f"```python\nApp{_signature(App.__init__)}\n```\n"
    for name, member in _members(cls):
        yield from _function(member, f"{cls.__name__}.{name}", name)


def _members(cls: type) -> Iterator[tuple[str, Any]]:
    """The public methods that a class has beyond `object` and tuples, its own first; those without a docstring explain themselves."""
    seen: set[str] = set()
    for base in cls.__mro__:
        if base is object or base.__module__ in ("builtins", "typing"):
            continue
        for name, member in vars(base).items():
            function = member.fget if isinstance(member, property) else member
            if not name.startswith("_") and name not in seen and inspect.isfunction(function):
                seen.add(name)
                yield name, function


def _function(function: Callable[..., Any], title: str, name: str | None = None) -> Iterator[str]:
    yield f"### {title}\n"
    yield f"```python\n{name or title}{_signature(function)}\n```\n"
    yield f"{_doc(function)}\n"


def _parameters(function: Callable[..., Any]) -> str:
    return ", ".join(name for name in inspect.signature(function).parameters if name != "self")


def _signature(function: Callable[..., Any]) -> str:
    """As it is written in the code: `inspect` would print defaults as their `repr`, and classes as `<class 'str'>`."""
    signature = inspect.signature(function)
    parts: list[str] = []
    keywords = False
    for one in signature.parameters.values():
        if one.name == "self":
            continue
        if one.kind is inspect.Parameter.KEYWORD_ONLY and not keywords:
            keywords = True
            parts.append("*")
        keywords = keywords or one.kind is inspect.Parameter.VAR_POSITIONAL
        stars = _STARS.get(one.kind, "")
        hint = "" if one.annotation is inspect.Parameter.empty else f": {_annotation(one.annotation)}"
        default = "" if one.default is inspect.Parameter.empty else f" = {_default(one.default)}"
        parts.append(f"{stars}{one.name}{hint}{default}")
    returned = (
        ""
        if signature.return_annotation in (inspect.Signature.empty, "None")
        else f" -> {_annotation(signature.return_annotation)}"
    )
    return f"({', '.join(parts)}){returned}"


def _annotation(annotation: Any) -> str:
    return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))


def _default(value: Any) -> str:
    if isinstance(value, type):
        return value.__name__
    return repr(str(value)) if isinstance(value, str) else repr(value)


def _doc(thing: Any) -> str:
    text = inspect.getdoc(thing) or ""
    paragraphs = text.split("\n\n")
    return "\n\n".join(
        f"```python\n{inspect.cleandoc(one)}\n```" if one.startswith("    ") else " ".join(one.split())
        for one in paragraphs
    )
