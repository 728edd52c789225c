"""Grouped streams and tables, with and without windows: count, reduce, aggregate, summarize. What comes out is a KTable."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from headrace.plan import steps as s
from headrace.plan.expressions import Case, Column, Literal, Named, Side, When
from headrace.plan.types import BIGINT, BOOLEAN, Field, Struct
from headrace.plan.windows import Hopping, Punctuation, Window
from headrace.streams import agg, symbol_kinds
from headrace.streams.errors import StreamsError
from headrace.streams.flow import K, V
from headrace.streams.folding import accumulator, folded, merged
from headrace.streams.python_folds import FIRST, StaysPython, python_fold
from headrace.streams.rows import key_symbol, value_columns, value_symbol
from headrace.streams.schema import VALUE_COLUMN, Shape
from headrace.streams.symbols import is_null, symbol
from headrace.streams.tracing import arguments_by_arity, trace
from headrace.streams.windows import PunctuationWindow

if TYPE_CHECKING:
    from headrace.streams.app import App
    from headrace.streams.cogrouped import CogroupedKStream
    from headrace.streams.kstream import KStream
    from headrace.streams.ktable import KTable

A = TypeVar("A")


class Grouped(Generic[K, V]):
    """What can be aggregated. `step` is the GroupBy."""

    def __init__(
        self, app: App, step: str, key: Shape, value: Shape, window: Window | None = None, emit: s.Emit = s.Emit.CHANGES
    ) -> None:
        self._app = app
        self._step = step
        self._key = key
        self._value = value
        self._window = window
        self._emit = emit

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._step}: {self._key.type} → {self._value.type}>"

    def count(self, *, store: str | None = None, name: str | None = None) -> KTable[K, int]:
        """How many records (of a table: rows) each key has."""
        calls = (s.AggregateCall(VALUE_COLUMN, "count"),)
        step = self._add("count", name, aggregates=calls, store=store)
        return self._table(step, Shape(BIGINT, VALUE_COLUMN, int), store)

    def summarize(
        self, function: Callable[..., A], *, store: str | None = None, name: str | None = None
    ) -> KTable[K, A]:
        """Several aggregates at once: `lambda p: Stats(n=agg.count(), total=agg.sum(p.amount), mean=agg.avg(p.amount))`.

        They are Spark's own where Spark has them, and so faster than `aggregate`.
        """
        noted: list[s.AggregateCall] = []
        token = agg.calls.set(noted)
        try:
            arguments = arguments_by_arity(
                function, {1: (self._row(),), 2: (self._key_symbol(), self._row())}, "summarize"
            )
            columns = value_columns(trace(function, arguments, "summarize").result, "summarize")
        finally:
            agg.calls.reset(token)
        if not noted:
            raise StreamsError(
                "summarize needs aggregate functions: lambda p: Stats(n=agg.count(), total=agg.sum(p.amount))"
            )
        direct = _direct(noted, columns.named)
        step = self._add(
            "aggregate", name if direct else None, aggregates=direct or tuple(noted), store=store if direct else None
        )
        if direct is None:
            aggregated = step
            step = self._app._builder.add(
                lambda id_: s.Select(id_, aggregated, columns.named, store), "summarize", name
            )
        return self._table(step, columns.shape, store)

    def _row(self) -> Any:
        return value_symbol(self._value)

    def _key_symbol(self) -> Any:
        return key_symbol(self._key)

    def _fold(self, fold: s.Fold, shape: Shape, kind: str, store: str | None, name: str | None) -> KTable[K, Any]:
        return self._table(self._add(kind, name, fold=fold, store=store), shape, store)

    def _add(self, kind: str, name: str | None, **fields: Any) -> str:
        return self._app._builder.add(
            lambda id_: s.Aggregate(id_, self._step, window=self._window, emit=self._emit, **fields), kind, name
        )

    def _table(self, step: str, shape: Shape, store: str | None) -> KTable[K, Any]:
        from headrace.streams.ktable import KTable

        table: KTable[K, Any] = KTable(self._app, step, self._key, shape)
        return self._app._remember(table, store)


def _direct(noted: list[s.AggregateCall], named: tuple[Named, ...]) -> tuple[s.AggregateCall, ...] | None:
    """The calls under the names of the result, when the result is nothing but calls."""
    by_name = {call.name: call for call in noted}
    if not all(isinstance(one.expression, Column) and one.expression.name in by_name for one in named):
        return None
    return tuple(replace(by_name[one.expression.name], name=one.name) for one in named)  # type: ignore[attr-defined]


class TimeWindowedKStream(Grouped[K, V]):
    """A grouped stream in windows; the keys of the result are windowed."""

    def emit_strategy(self, strategy: str) -> TimeWindowedKStream[K, V]:
        """`on_window_update` (each change, the default) or `on_window_close` (one result, once nothing more can come)."""
        emits = {"on_window_update": s.Emit.CHANGES, "on_window_close": s.Emit.FINAL}
        if strategy not in emits:
            raise StreamsError(f"{strategy!r} is no emit strategy; there are {' and '.join(emits)}")
        return type(self)(self._app, self._step, self._key, self._value, self._window, emits[strategy])

    def reduce(
        self,
        reducer: Callable[[V, V], Any],
        inverse: Callable[[V, V], Any] | None = None,
        *,
        store: str | None = None,
        name: str | None = None,
    ) -> KTable[K, V]:
        """The records of a key joined into one, two at a time; the first is the beginning.

        `inverse` takes a record out again, which lets incremental windows slide at a cost that does not depend on their length.
        """
        row, key = self._row(), self._key_symbol()
        fold = s.Fold(
            self._value.columns,
            (),
            folded(reducer, self._value, key, row, "reduce"),
            None if inverse is None else folded(inverse, self._value, key, row, "inverse"),
            merged(reducer, self._value, key, "reduce") if self._merges else None,
            first_is_initial=True,
        )
        return self._fold(fold, self._value, "reduce", store, name)

    def aggregate(
        self,
        initial: A | Callable[[], A],
        add: Callable[..., Any],
        merge: Callable[..., Any] | None = None,
        *,
        inverse: Callable[..., Any] | None = None,
        returns: Any = None,
        store: str | None = None,
        name: str | None = None,
    ) -> KTable[K, A]:
        """An accumulator of your own: `initial`, and `add` for each record, as `aggregate, value` or Kafka's `key, value, aggregate`.

        `merge` joins two accumulators, which session windows need; `inverse` takes a record out again. The accumulator's type is that of
        `initial`, or `returns`.
        """
        shape, beginning = accumulator(initial, returns)
        row, key = self._row(), self._key_symbol()
        fold = s.Fold(
            shape.columns,
            beginning,
            folded(add, shape, key, row, "aggregate"),
            None if inverse is None else folded(inverse, shape, key, row, "inverse"),
            None if merge is None else merged(merge, shape, key, "merge"),
        )
        if merge is None and isinstance(self._window, Hopping) and self._window.incremental:
            raise StreamsError(
                "an incremental window joins panes, so aggregate needs merge=…, which joins two accumulators"
            )
        return self._fold(fold, shape, "aggregate", store, name)

    @property
    def _merges(self) -> bool:
        """Whether the window joins accumulators: a reduce's own function does that."""
        from headrace.plan.windows import Session

        return isinstance(self._window, Session) or (isinstance(self._window, Hopping) and self._window.incremental)


class KGroupedStream(TimeWindowedKStream[K, V]):
    """A stream whose records are brought together by key."""

    def __init__(self, app: App, step: str, key: Shape, value: Shape, stream: KStream[Any, V]) -> None:
        super().__init__(app, step, key, value)
        self._stream = stream

    def reduce(
        self,
        reducer: Callable[[V, V], Any],
        inverse: Callable[[V, V], Any] | None = None,
        *,
        store: str | None = None,
        name: str | None = None,
    ) -> KTable[K, V]:
        """The records of a key joined into one, two at a time; the first is the beginning."""
        try:
            return super().reduce(reducer, inverse, store=store, name=name)
        except StaysPython as problem:
            return python_fold(self, reducer, FIRST, self._value, problem, store, name)

    def aggregate(
        self,
        initial: A | Callable[[], A],
        add: Callable[..., Any],
        merge: Callable[..., Any] | None = None,
        *,
        inverse: Callable[..., Any] | None = None,
        returns: Any = None,
        store: str | None = None,
        name: str | None = None,
    ) -> KTable[K, A]:
        """An accumulator of your own: `initial`, and `add` for each record, as `aggregate, value` or Kafka's `key, value, aggregate`.

        The accumulator's type is that of `initial`, or `returns`. A function that columns cannot run runs in Python.
        """
        try:
            return super().aggregate(initial, add, merge, inverse=inverse, returns=returns, store=store, name=name)
        except StaysPython as problem:
            shape, _ = accumulator(initial, returns)
            return python_fold(self, add, initial, shape, problem, store, name)

    def windowed_by(self, window: Window | PunctuationWindow) -> TimeWindowedKStream[K, V]:
        """In windows: `tumbling(…)`, `hopping(…)`, `sliding(…)`, `session(…)`, `count_window(…)`, `until(…)`."""
        if isinstance(window, PunctuationWindow):
            arguments = arguments_by_arity(
                window.end, {1: (self._row(),), 2: (self._key_symbol(), self._row())}, "until"
            )
            end = self._app._builder.note(trace(window.end, arguments, "until", bool)).symbol
            if end._hr_type != BOOLEAN:
                raise StreamsError(f"until needs a condition; the function returns a {end._hr_type}")
            window = Punctuation(end._hr_expression, window.inclusive, window.max_records)
        if not isinstance(window, Window):
            raise StreamsError(f"windowed_by takes a window such as tumbling(seconds=10), not {window!r}")
        return TimeWindowedKStream(self._app, self._step, self._key, self._value, window)

    def cogroup(self, add: Callable[..., Any]) -> CogroupedKStream[K, Any]:
        """Begins an aggregate of several grouped streams: `a.cogroup(add_a).cogroup(b, add_b).aggregate(initial)`."""
        from headrace.streams.cogrouped import CogroupedKStream

        return CogroupedKStream(self._app, ((self, add),))

    def emit_strategy(self, strategy: str) -> TimeWindowedKStream[K, V]:
        raise StreamsError("emit_strategy is of windows: use windowed_by(…) first")


class KGroupedTable(Grouped[K, V]):
    """A table whose rows are brought together by a new key. A row that changes is taken out of its old group and put into its new one."""

    def __init__(self, app: App, step: str, key: Shape, value: Shape, carries_key: bool = False) -> None:
        super().__init__(app, step, key, value)
        self._carries_key = carries_key

    def reduce(
        self,
        add: Callable[[V, V], Any],
        subtract: Callable[[V, V], Any],
        *,
        store: str | None = None,
        name: str | None = None,
    ) -> KTable[K, V]:
        """The rows of a group joined into one; `subtract` takes a row out again."""
        row, key = self._row(), self._key_symbol()
        if self._carries_key:
            return self._reduce_part(add, subtract, store, name)
        fold = s.Fold(
            self._value.columns,
            (),
            folded(add, self._value, key, row, "reduce"),
            folded(subtract, self._value, key, row, "subtract"),
            first_is_initial=True,
        )
        return self._fold(fold, self._value, "reduce", store, name)

    def aggregate(
        self,
        initial: A | Callable[[], A],
        add: Callable[..., Any],
        subtract: Callable[..., Any],
        *,
        returns: Any = None,
        store: str | None = None,
        name: str | None = None,
    ) -> KTable[K, A]:
        """An accumulator of your own; `add` puts a row in, `subtract` takes one out. Both as `aggregate, value` or `key, value, aggregate`."""
        shape, beginning = accumulator(initial, returns)
        row, key = self._row(), self._key_symbol()
        fold = s.Fold(
            shape.columns,
            beginning,
            folded(add, shape, key, row, "aggregate"),
            folded(subtract, shape, key, row, "subtract"),
        )
        return self._fold(fold, shape, "aggregate", store, name)

    def _reduce_part(
        self, add: Callable[..., Any], subtract: Callable[..., Any], store: str | None, name: str | None
    ) -> KTable[K, V]:
        """A reduce over some of the rows' columns: its accumulator is one struct that begins as NULL, and is taken apart after it."""
        whole = Struct((Field("reduced", self._value.type),))
        state = symbol_kinds.of(Column("reduced", Side.STATE), self._value.type, self._value.python)
        row = self._row()
        first = Case(
            (When(is_null_struct(state), symbol(row)._hr_expression),), symbol(_traced(add, state, row))._hr_expression
        )
        undo = symbol(_traced(subtract, state, row))._hr_expression
        fold = s.Fold(
            whole,
            (Named("reduced", Literal(self._value.type, None)),),
            (Named("reduced", first),),
            (Named("reduced", undo),),
        )
        reduced = self._add("reduce", None, fold=fold)
        columns = value_columns(symbol_kinds.of(Column("reduced"), self._value.type, self._value.python), "reduce")
        step = self._app._builder.add(lambda id_: s.Select(id_, reduced, columns.named, store), "reduced", name)
        return self._table(step, columns.shape, store)


def is_null_struct(value: Any) -> Any:
    return is_null(value)._hr_expression


def _traced(function: Callable[..., Any], state: Any, row: Any) -> Any:
    traced = trace(function, (state, row), "reduce", symbol(row)._hr_type)
    if traced.fallback is not None:
        raise StreamsError(
            f"reduce runs beside its state in the JVM, and this function cannot: it {traced.fallback.reason}",
            traced.fallback.location,
        )
    return symbol_kinds.fitted(traced.symbol, symbol(row)._hr_type, "the result of reduce")
