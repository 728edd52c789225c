"""`peek` and `print`: a filter that lets everything through and calls a Python function on the way."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from headrace.plan.expressions import PythonCall
from headrace.plan.python_code import converter, register_local
from headrace.plan.types import BOOLEAN
from headrace.streams.tracing import Fallback, Traced, arguments_by_arity, location

if TYPE_CHECKING:
    from headrace.streams.kstream import KStream


def peeked(stream: KStream[Any, Any], action: Callable[..., Any], name: str | None) -> str:
    key, value = stream._key_symbol(), stream._value_symbol()
    arguments = arguments_by_arity(action, {1: (value,), 2: (key, value)}, "peek")
    converters = [converter(one._hr_python if one._hr_python is not None else Any) for one in arguments]

    def look(*plain: Any) -> bool:
        action(*(convert(one) for convert, one in zip(converters, plain)))
        return True

    reference = register_local(look, "peek")
    call = PythonCall(reference, tuple(one._hr_expression for one in arguments), BOOLEAN)
    reason = Fallback("peek", "is there for what Python does", "leave it out where it counts", location(action))
    stream._app._builder.note(Traced(None, reason))
    return stream._filtered(call, "peek", name)
