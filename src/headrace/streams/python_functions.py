"""Python functions that stay Python: declared with `@python_function`, or not traceable and so used as they are.

They run in Spark's Python workers, in micro-batches; `explain` shows that price.
"""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from headrace.plan.expressions import PythonCall
from headrace.plan.python_code import adapted, importable_reference, register_local
from headrace.streams import symbol_kinds
from headrace.streams.errors import StreamsError
from headrace.streams.schema import data_type, python_type
from headrace.streams.symbols import Symbol, expression_of, python_of, symbol

Function = TypeVar("Function", bound=Callable[..., Any])


def python_function(returns: Any = None) -> Callable[[Function], Function]:
    """Marks a function that is never traced. It can be given to a stream, and called inside traced functions on columns.

    `returns`: the type of its result, if its annotation does not say it.
    """
    if inspect.isfunction(returns):
        raise StreamsError("write @python_function() or @python_function(returns=…), with parentheses")

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def wrapper(*arguments: Any) -> Any:
            if any(isinstance(argument, Symbol) for argument in arguments):
                return call_python(wrapper, arguments, returns)
            return function(*arguments)

        wrapper._headrace_returns = returns if returns is not None else return_annotation(function)  # type: ignore[attr-defined]
        return typing.cast(Function, wrapper)

    return decorate


def is_python_function(function: Any) -> bool:
    return hasattr(function, "_headrace_returns")


def return_annotation(function: Any) -> Any:
    """What the function says it returns; None when it says nothing."""
    declared = getattr(function, "_headrace_returns", None)
    if declared is not None:
        return declared
    try:
        found = typing.get_type_hints(inspect.unwrap(function), include_extras=True).get("return")
    except (NameError, TypeError):
        return None
    return None if found is Any else found


def call_python(function: Callable[..., Any], arguments: Sequence[Any], returns: Any = None) -> Any:
    """A call of a Python function on columns."""
    returns = returns if returns is not None else return_annotation(function)
    name = getattr(function, "__name__", "function")
    if returns is None:
        raise StreamsError(
            f"{name} runs as a Python function, and so its result needs a type: annotate it (`def {name}(…) -> Alert:`) or decorate "
            "it with @python_function(returns=…)"
        )
    symbols = [symbol(argument) for argument in arguments]
    reference = importable_reference(function) or _local(function, symbols, name)
    type_ = data_type(returns)
    return symbol_kinds.of(
        PythonCall(reference, tuple(map(expression_of, symbols)), type_), type_, python_type(returns)
    )


def _local(function: Callable[..., Any], symbols: list[Symbol], name: str) -> str:
    types = tuple(python_of(one) if python_of(one) is not None else Any for one in symbols)
    plain = "".join(letter if letter.isalnum() else "_" for letter in name).strip("_") or "function"
    return register_local(adapted(function, types), plain)
