"""Every function of `headrace.functions` by its name, for use on columns: `fn.upper(p.name)`, `fn.round(p.amount, 2)`, `fn.transform(p.lines, lambda line: line.price)`.

Names that are words of Python end in an underscore (`fn.if_`). Aggregate functions are in `headrace.streams.agg`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.plan.expressions import Meta, RowMeta
from headrace.plan.scope import one_of
from headrace.plan.types import BIGINT, BYTES, INTEGER, STRING, Array, struct
from headrace.streams import catalogue, symbol_kinds
from headrace.streams.symbols import call, cast

__all__ = [
    "cast",
    "headers",
    "length",
    "literal",
    "rowoffset",
    "rowpartition",
    "rowtime",
    "topic",
    "when",
    "window_end",
    "window_start",
]

length = symbol_kinds.length
literal = symbol_kinds.literal
when = symbol_kinds.when


def rowtime() -> Any:
    """The record's event time, in milliseconds."""
    return symbol_kinds.of(RowMeta(Meta.ROWTIME), BIGINT)


def rowpartition() -> Any:
    """The partition that the record was read from."""
    return symbol_kinds.of(RowMeta(Meta.ROWPARTITION), INTEGER)


def rowoffset() -> Any:
    """The record's offset in its partition."""
    return symbol_kinds.of(RowMeta(Meta.ROWOFFSET), BIGINT)


def topic() -> Any:
    """The topic that the record was read from."""
    return symbol_kinds.of(RowMeta(Meta.TOPIC), STRING)


def headers() -> Any:
    """The record's headers, an array of structs with `key` and `value`."""
    return symbol_kinds.of(RowMeta(Meta.HEADERS), Array(struct(key=STRING, value=BYTES)))


def window_start() -> Any:
    """The beginning of the window of a windowed key, in milliseconds."""
    return symbol_kinds.of(RowMeta(Meta.WINDOWSTART), BIGINT)


def window_end() -> Any:
    """The end of the window of a windowed key, in milliseconds."""
    return symbol_kinds.of(RowMeta(Meta.WINDOWEND), BIGINT)


def __getattr__(name: str) -> Callable[..., Any]:
    known = catalogue.functions().scalars
    plain = name.removesuffix("_")
    if plain not in known:
        raise AttributeError(f"there is no function {plain!r}{one_of(plain, known)}")

    def function(*arguments: Any) -> Any:
        return call(plain, *arguments)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = known[plain].doc
    return function


def __dir__() -> list[str]:
    return sorted({*__all__, *catalogue.functions().scalars})
