"""What streams and tables have in common: an app, the step they come out of, the shapes of key and value, and tracing over their rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from headrace.plan.expressions import Expression
from headrace.plan.serdes import Serde
from headrace.plan.steps import Filter, Select, Sink, Step
from headrace.plan.types import BOOLEAN
from headrace.streams.errors import StreamsError
from headrace.streams.rows import Columns, Windowed, key_symbol, value_columns, value_symbol
from headrace.streams.schema import Shape, serde
from headrace.streams.tracing import Traced, arguments_by_arity, trace

if TYPE_CHECKING:
    from headrace.streams.app import App

K = TypeVar("K")
V = TypeVar("V")


class Flow(Generic[K, V]):
    """Base of KStream and KTable. Immutable: every operation adds steps to the app and returns a new one."""

    def __init__(self, app: App, step: str, key: Shape, value: Shape) -> None:
        self._app = app
        self._step = step
        self._key = key
        self._value = value

    def __repr__(self) -> str:
        window = ", windowed" if self._windowed else ""
        return f"<{type(self).__name__} {self._step}: {self._key.type} → {self._value.type}{window}>"

    @property
    def _windowed(self) -> Windowed | None:
        relation = self._app._builder.relations[self._step]
        return None if relation.window is None else Windowed(relation.window, relation.window_size_ms)

    @property
    def step(self) -> str:
        """The id of the step in the plan."""
        return self._step

    def _add(self, make: Callable[[str], Step], kind: str, name: str | None = None) -> str:
        return self._app._builder.add(make, kind, name)

    def _key_symbol(self) -> Any:
        return key_symbol(self._key, self._windowed)

    def _value_symbol(self) -> Any:
        return value_symbol(self._value)

    def _trace(self, function: Callable[..., Any], what: str, returns: Any = None) -> Traced:
        """Trace a function of the value, or of key and value."""
        value = self._value_symbol()
        arguments = arguments_by_arity(function, {1: (value,), 2: (self._key_symbol(), value)}, what)
        return self._app._builder.note(trace(function, arguments, what, returns))

    def _condition(self, function: Callable[..., Any], what: str) -> Expression:
        found = self._trace(function, what, bool).symbol
        if found._hr_type != BOOLEAN:
            raise StreamsError(f"{what} needs a condition; the function returns a {found._hr_type}")
        return found._hr_expression

    def _filtered(self, condition: Expression, kind: str, name: str | None, store: str | None = None) -> str:
        return self._add(lambda id_: Filter(id_, self._step, condition, store), kind, name)

    def _mapped(
        self, function: Callable[..., Any], what: str, name: str | None, store: str | None = None
    ) -> tuple[str, Shape]:
        columns = value_columns(self._trace(function, what).result, what)
        return self._selected(self._step, columns, "map-values", name, store), columns.shape

    def _selected(self, step: str, columns: Columns, kind: str, name: str | None, store: str | None = None) -> str:
        """Select steps for the columns: one, or two when a Python function's struct is taken apart."""
        if columns.before is not None:
            first = columns.before
            source = step
            step = self._add(lambda id_: Select(id_, source, (first,)), f"{kind}-python")
        return self._add(lambda id_: Select(id_, step, columns.named, store), kind, name)

    def _sink(self, topic: str | Callable[..., Any], key_format: str | None, value_format: str | None,
              partitions: int | None, options: dict[str, str], name: str | None) -> str:  # fmt: skip
        key = self._key_serde(key_format)
        value = serde(self._value, value_format, options)
        expression: Expression | None = None
        if callable(topic):
            expression = self._trace(topic, "to", str).symbol._hr_expression
        target = topic if isinstance(topic, str) else ""
        if target:
            self._app._outputs[target] = (self._key, self._value)
        return self._add(lambda id_: Sink(id_, self._step, target, key, value, partitions, expression), "to", name)

    def _key_serde(self, format_: str | None) -> Serde:
        found = Serde("none", self._key.columns) if self._key.column is None else serde(self._key, format_, {})
        if self._windowed is None:
            return found
        return Serde(
            found.format, found.columns, found.options, found.wrapped, self._windowed.form, self._windowed.size_ms
        )
