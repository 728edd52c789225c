"""Tracing: a user's function is called once with symbols, and what it returns is the expression.

    function ─► audit (what a trace cannot see) ─► call with symbols ─► symbol
                     │ no                              │ NotTraceable
                     └──────────► Python function ◄────┘   `module:name`, or `local:<id>`; its price is in `explain`

Arity decides what it gets: `lambda value`, or `lambda key, value`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.streams.audit import audit
from headrace.streams.errors import NotTraceable, StreamsError, caller
from headrace.streams.python_functions import call_python, is_python_function, return_annotation
from headrace.streams.symbol_kinds import Chosen, Condition
from headrace.streams.symbols import Symbol, escapes, number_variables_anew, symbol


@dataclass(frozen=True)
class Fallback:
    """Why a function runs in Python: shown by `describe` and `explain`."""

    function: str
    reason: str
    advice: str
    location: str

    def __str__(self) -> str:
        return f"{self.function} ({self.location}) runs in Python: it {self.reason}; {self.advice}"


@dataclass(frozen=True)
class Traced:
    """What a function returned, as Python returned it (a symbol, or a structure of symbols); `fallback` when it stays Python."""

    result: Any
    fallback: Fallback | None = None

    @property
    def symbol(self) -> Symbol:
        return symbol(self.result)


def trace(function: Callable[..., Any], arguments: Sequence[Any], what: str, returns: Any = None) -> Traced:
    """Trace `function` over `arguments`; `returns` is the result's type where the operation knows it (a filter's is bool)."""
    if not callable(function):
        raise StreamsError(f"{what} takes a function, not {function!r}")
    if is_python_function(function):
        return Traced(call_python(function, arguments, returns or return_annotation(function)))
    problem = _problem_before(function)
    if problem is None:
        outcome = _attempt(function, arguments)
        if isinstance(outcome, Traced):
            return outcome
        problem = outcome
    return Traced(_as_python(function, arguments, what, returns, problem), problem)


def _problem_before(function: Callable[..., Any]) -> Fallback | None:
    found = audit(function)
    if found is None:
        return None
    return Fallback(_name(function), found.reason, found.advice, location(function, found.line))


def _attempt(function: Callable[..., Any], arguments: Sequence[Any]) -> Traced | Fallback:
    noted: list[NotTraceable] = []
    token = escapes.set(noted)
    number_variables_anew()
    try:
        result = function(*arguments)
        if isinstance(result, Condition | Chosen):
            raise StreamsError("a when(…).then(…) ends with .otherwise(…)", location(function))
        if not isinstance(result, Symbol | tuple | list | dict):
            symbol(result)  # a dataclass is checked here, within the trace
    except NotTraceable as escape:
        noted.append(escape)
    except StreamsError:
        raise
    except Exception as error:
        return Fallback(_name(function), f"does something with a column that gave {type(error).__name__}: {error}",
                        "use the functions of headrace.streams.fn", location(function))  # fmt: skip
    finally:
        escapes.reset(token)
    if noted:
        return Fallback(_name(function), noted[0].reason, noted[0].advice, noted[0].location)
    return Traced(result)


def _as_python(
    function: Callable[..., Any], arguments: Sequence[Any], what: str, returns: Any, problem: Fallback
) -> Any:
    declared = return_annotation(function)
    type_ = declared if declared is not None else returns
    if type_ is None:
        raise StreamsError(
            f"{what}: {problem.function} cannot run on columns, because it {problem.reason}. Either {problem.advice}; or make it a Python "
            "function: `def` with an annotated result, in a module that the engine can import, or @python_function(returns=…)",
            problem.location,
        )
    return call_python(function, arguments, type_)


def arity(function: Callable[..., Any]) -> int:
    """How many values a function takes; those with a default are left to themselves."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 1
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(1 for p in parameters if p.kind in positional and p.default is inspect.Parameter.empty)


def arguments_by_arity(function: Callable[..., Any], choices: dict[int, tuple[Any, ...]], what: str) -> tuple[Any, ...]:
    """The arguments for as many parameters as the function has."""
    if not callable(function):
        raise StreamsError(f"{what} takes a function, not {function!r}")
    count = arity(function)
    if count not in choices:
        raise StreamsError(f"{what} takes a function of {' or '.join(map(str, choices))} values, this has {count}")
    return choices[count]


def _name(function: Any) -> str:
    name = getattr(function, "__qualname__", None) or repr(function)
    return "the lambda" if name.endswith("<lambda>") else name.rpartition("<locals>.")[2]


def location(function: Any, line: int | None = None) -> str:
    code = getattr(inspect.unwrap(function), "__code__", None)
    return f"{code.co_filename}:{line or code.co_firstlineno}" if code is not None else caller()
