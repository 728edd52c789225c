"""Every aggregate function of `headrace.functions` by its name, for `summarize`: `agg.count()`, `agg.sum(p.amount)`, `agg.max(p.speed) - agg.min(p.speed)`."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from headrace.plan.expressions import Column, Expression
from headrace.plan.scope import one_of
from headrace.plan.steps import AggregateCall
from headrace.plan.types import DataType
from headrace.streams import catalogue, symbol_kinds
from headrace.streams.errors import StreamsError
from headrace.streams.symbols import symbol

calls: ContextVar[list[AggregateCall] | None] = ContextVar("calls", default=None)


def aggregate(name: str, *arguments: Any) -> Any:
    """A call of an aggregate function. Equal calls are computed once."""
    noted = calls.get()
    if noted is None:
        raise StreamsError(f"agg.{name} stands in the function given to summarize(…) only")
    symbols = [symbol(argument) for argument in arguments]
    type_: DataType = catalogue.aggregate_type(name, [one._hr_type for one in symbols])
    expressions: tuple[Expression, ...] = tuple(one._hr_expression for one in symbols)
    for call in noted:
        if (call.function, call.arguments) == (name, expressions):
            return symbol_kinds.of(Column(call.name), type_)
    noted.append(AggregateCall(f"aggregate_{len(noted) + 1}", name, expressions))
    return symbol_kinds.of(Column(noted[-1].name), type_)


def __getattr__(name: str) -> Callable[..., Any]:
    known = catalogue.functions().aggregates
    if name not in known:
        raise AttributeError(f"there is no aggregate function {name!r}{one_of(name, known)}")

    def function(*arguments: Any) -> Any:
        return aggregate(name, *arguments)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = known[name].doc
    return function


def __dir__() -> list[str]:
    return sorted(catalogue.functions().aggregates)
