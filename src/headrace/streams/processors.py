"""Processors of users as steps: their state and results typed, their class as a reference."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from headrace.plan.plan import NAME
from headrace.plan.processing import Processor, State
from headrace.plan.python_code import importable_reference, register_local
from headrace.plan.steps import Process, StateVariable
from headrace.streams.errors import StreamsError
from headrace.streams.schema import Shape, data_type, key_shape, value_shape

if TYPE_CHECKING:
    from headrace.streams.kstream import KStream


def processed(stream: KStream[Any, Any], processor: type[Processor], name: str | None) -> tuple[str, Shape, Shape]:
    """Adds the step; its id and the shapes of what comes out."""
    if not (inspect.isclass(processor) and issubclass(processor, Processor)):
        raise StreamsError(f"process takes a class that extends Processor, not {processor!r}")
    if processor.returns is None:
        raise StreamsError(f"{processor.__name__} needs `returns = …`, the type of the values that it yields")
    value = value_shape(processor.returns)
    key = stream._key if processor.returns_key is None else key_shape(processor.returns_key)
    new_key = None if processor.returns_key is None else key.columns
    variables = tuple(_variable(label, declared) for label, declared in processor.state.items())
    reference = importable_reference(processor) or register_local(processor, processor.__name__)
    step = stream._add(
        lambda id_: Process(id_, stream._step, reference, variables, value.columns, new_key), "process", name
    )
    return step, key, value


def _variable(name: str, declared: Any) -> StateVariable:
    if not NAME.fullmatch(name):
        raise StreamsError(f"{name!r} is no name for a variable of the state")
    if isinstance(declared, State):
        return StateVariable(name, data_type(declared.type), declared.ttl_ms)
    return StateVariable(name, data_type(declared))
