"""Cogroup: one aggregate fed by several grouped streams.

The plan has no step for it and needs none: each stream's values go into a column of their own, the streams are merged, and the fold does for
each record what its stream's function says.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from headrace.plan import steps as s
from headrace.plan.expressions import Call, Case, Column, Expression, Literal, Named, When
from headrace.plan.types import INTEGER, DataType
from headrace.plan.windows import Window
from headrace.streams import symbol_kinds
from headrace.streams.errors import StreamsError
from headrace.streams.flow import K
from headrace.streams.folding import accumulator, folded, merged
from headrace.streams.rows import key_symbol
from headrace.streams.symbols import symbol

if TYPE_CHECKING:
    from headrace.streams.app import App
    from headrace.streams.grouped import KGroupedStream
    from headrace.streams.ktable import KTable

A = TypeVar("A")
_SOURCE = "source"


@dataclass(frozen=True)
class _Input:
    step: str
    type: DataType
    python: Any
    add: Callable[..., Any]


class CogroupedKStream(Generic[K, A]):
    """Grouped streams with the function that adds a record of each to the common accumulator."""

    def __init__(
        self,
        app: App,
        inputs: tuple[tuple[KGroupedStream[Any, Any], Callable[..., Any]], ...],
        window: Window | None = None,
    ) -> None:
        self._app = app
        self._inputs = inputs
        self._window = window

    def cogroup(self, grouped: KGroupedStream[K, Any], add: Callable[..., Any]) -> CogroupedKStream[K, A]:
        """One stream more. Its keys have the type of the others'."""
        first = self._inputs[0][0]
        if grouped._key.type != first._key.type:
            raise StreamsError(
                f"cogroup: the keys are {first._key.type} and {grouped._key.type}; they have to be of one type"
            )
        return CogroupedKStream(self._app, (*self._inputs, (grouped, add)), self._window)

    def windowed_by(self, window: Window) -> CogroupedKStream[K, A]:
        return CogroupedKStream(self._app, self._inputs, window)

    def aggregate(
        self,
        initial: A | Callable[[], A],
        merge: Callable[..., Any] | None = None,
        *,
        returns: Any = None,
        store: str | None = None,
        name: str | None = None,
    ) -> KTable[K, A]:
        """The table of accumulators. `merge` joins two of them, which session windows need."""
        from headrace.streams.ktable import KTable

        shape, beginning = accumulator(initial, returns)
        grouped = self._grouped()
        key = self._inputs[0][0]._key
        updates: list[tuple[Expression, tuple[Named, ...]]] = []
        for number, (one, add) in enumerate(self._inputs):
            value = symbol_kinds.of(Column(f"value_{number}"), one._value.type, one._value.python)
            condition = Call("equal", (Column(_SOURCE), Literal(INTEGER, number)))
            updates.append((condition, folded(add, shape, key_symbol(key), value, "cogroup")))
        together = None if merge is None else merged(merge, shape, key_symbol(key), "merge")
        fold = s.Fold(shape.columns, beginning, _chosen(updates), merge=together)
        builder = self._app._builder
        step = builder.add(
            lambda id_: s.Aggregate(id_, grouped, fold=fold, window=self._window, store=store), "cogroup", name
        )
        table: KTable[K, A] = KTable(self._app, step, key, shape)
        return self._app._remember(table, store)

    def _grouped(self) -> str:
        """All streams in one form, merged and grouped."""
        builder = self._app._builder
        selected = tuple(self._in_one_form(number) for number in range(len(self._inputs)))
        merged_step = builder.add(lambda id_: s.Merge(id_, selected), "cogroup-merge")
        return builder.add(lambda id_: s.GroupBy(id_, merged_step), "group")

    def _in_one_form(self, number: int) -> str:
        """A stream's key as it was grouped by, and its value in its own one of the columns."""
        builder, (grouped, _) = self._app._builder, self._inputs[number]
        step = next(one for one in builder.steps if one.id == grouped._step)
        assert isinstance(step, s.GroupBy)
        value = symbol(grouped._stream._value_symbol())._hr_expression
        columns = (
            Named(_SOURCE, Literal(INTEGER, number)),
            *(
                Named(f"value_{i}", value if i == number else Literal(one._value.type, None))
                for i, (one, _) in enumerate(self._inputs)
            ),
        )
        source = step.input
        if step.key is not None:
            key = step.key
            source = builder.add(lambda id_: s.SelectKey(id_, step.input, key), "cogroup-key")
        return builder.add(lambda id_: s.Select(id_, source, columns), "cogroup-value")


def _chosen(updates: list[tuple[Expression, tuple[Named, ...]]]) -> tuple[Named, ...]:
    """For each column of the accumulator: what the record's own stream makes of it."""
    names = [one.name for one in updates[0][1]]
    return tuple(
        Named(name, Case(tuple(When(condition, columns[i].expression) for condition, columns in updates)))
        for i, name in enumerate(names)
    )
