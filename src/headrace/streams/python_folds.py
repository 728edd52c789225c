"""Aggregates that only Python can compute: a processor that keeps the accumulator, and its results as a table.

Only without windows: windows need to merge, take out and close, which is the business of the JVM's folds.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from headrace.plan import steps as s
from headrace.plan.processing import Context, Processor
from headrace.plan.python_code import converter
from headrace.streams.errors import StreamsError
from headrace.streams.processors import processed
from headrace.streams.schema import Shape
from headrace.streams.tracing import Fallback, Traced, arity

if TYPE_CHECKING:
    from headrace.streams.grouped import KGroupedStream
    from headrace.streams.ktable import KTable

_STATE = "aggregate"
FIRST = object()
"""The beginning of a reduce: the first value itself."""


class StaysPython(StreamsError):
    """A function of an aggregate that cannot run beside its state in the JVM."""

    def __init__(self, problem: str, fallback: Fallback | None) -> None:
        super().__init__(problem, fallback.location if fallback else None)
        self.fallback = fallback


def python_fold(
    grouped: KGroupedStream[Any, Any],
    function: Callable[..., Any],
    initial: Any,
    shape: Shape,
    problem: StaysPython,
    store: str | None,
    name: str | None,
) -> KTable[Any, Any]:
    """The table of an aggregate whose function stays Python."""
    stream, builder = grouped._stream, grouped._app._builder
    step = next(one for one in builder.steps if one.id == grouped._step)
    assert isinstance(step, s.GroupBy)
    keyed = stream._keyed(step.key, grouped._key) if step.key is not None else stream
    if problem.fallback is not None:
        builder.note(Traced(None, problem.fallback))
    processor = _processor(function, initial, grouped._key, grouped._value, shape)
    id_, _, _ = processed(keyed, processor, None)
    return keyed._after(id_, shape).to_table(store=store, name=name)


def _processor(
    function: Callable[..., Any], initial: Any, key_shape: Shape, value_shape: Shape, shape: Shape
) -> type[Processor]:
    in_kafkas_order = arity(function) == 3
    to_key, to_value, to_result = (converter(one.python or Any) for one in (key_shape, value_shape, shape))

    class PythonFold(Processor):
        state = {_STATE: shape.type}  # noqa: RUF012 - a declaration
        returns = shape.type

        def process(self, key: Any, value: Any, context: Context) -> Iterable[Any]:
            key, value = to_key(key), to_value(value)
            held = context.state[_STATE]
            if held is not None:
                before = to_result(held)
            elif initial is not FIRST:
                before = initial() if callable(initial) else copy.deepcopy(initial)
            else:
                context.state[_STATE] = value
                return (value,)
            after = function(key, value, before) if in_kafkas_order else function(before, value)
            context.state[_STATE] = after
            return (after,)

    return PythonFold
