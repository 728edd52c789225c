"""KStream: a topic's records as a stream, with Kafka Streams' operations under their names in Python's spelling.

A function may take `value`, or `key, value`. Every operation takes `name=`, which becomes the step's id.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from headrace.plan import steps as s
from headrace.plan.expressions import Call, Column, Expression, Meta, Named, RowMeta, walk
from headrace.plan.processing import KeyValue, Processor
from headrace.plan.types import Array, Struct
from headrace.streams import joins, symbol_kinds
from headrace.streams.branches import Branches, branched, split
from headrace.streams.dstream import DStreamOperations
from headrace.streams.errors import StreamsError
from headrace.streams.flow import Flow, K, V
from headrace.streams.peeking import peeked
from headrace.streams.processors import processed
from headrace.streams.rows import Columns, key_columns, value_columns
from headrace.streams.schema import KEY_COLUMN, Shape
from headrace.streams.symbols import Symbol, symbol
from headrace.streams.windows import Duration, JoinWindow, milliseconds

if TYPE_CHECKING:
    from headrace.streams.grouped import KGroupedStream
    from headrace.streams.ktable import GlobalKTable, KTable

R = TypeVar("R")
K2 = TypeVar("K2")
V2 = TypeVar("V2")
_NEW_KEY = "new_key"


class KStream(DStreamOperations, Flow[K, V]):
    """An unbounded sequence of records, each an event of its own."""

    # One record at a time

    def filter(
        self, predicate: Callable[[V], Any] | Callable[[K, V], Any], *, name: str | None = None
    ) -> KStream[K, V]:
        """The records for which the predicate is true."""
        return self._like(self._filtered(self._condition(predicate, "filter"), "filter", name))

    def filter_not(
        self, predicate: Callable[[V], Any] | Callable[[K, V], Any], *, name: str | None = None
    ) -> KStream[K, V]:
        """The records for which the predicate is not true."""
        condition = negated(self._condition(predicate, "filter_not"))
        return self._like(self._filtered(condition, "filter-not", name))

    def map_values(self, mapper: Callable[[V], R] | Callable[[K, V], R], *, name: str | None = None) -> KStream[K, R]:
        """A new value for each record; the key stays."""
        step, shape = self._mapped(mapper, "map_values", name)
        return KStream(self._app, step, self._key, shape)

    def map(self, mapper: Callable[[K, V], KeyValue | tuple[K2, V2]], *, name: str | None = None) -> KStream[K2, V2]:
        """A new key and a new value for each record: return `KeyValue(key, value)` or a pair."""
        key, value = _pair(self._trace(mapper, "map").result, "map")
        new_key, new_value = key_columns(key, "map"), value_columns(value, "map")
        columns = new_value.named
        if new_value.before is not None or _uses_key(new_value.named):
            keyed = self._carrying_key(new_key, new_value)
            columns = columns if new_value.before is not None else _passed_on(columns)
        else:
            keyed = self._add(lambda id_: s.SelectKey(id_, self._step, new_key.named), "map-key")
        step = self._add(lambda id_: s.Select(id_, keyed, columns), "map", name)
        return KStream(self._app, step, new_key.shape, new_value.shape)

    def select_key(
        self, mapper: Callable[[V], K2] | Callable[[K, V], K2], *, name: str | None = None
    ) -> KStream[K2, V]:
        """A new key for each record. Aggregates and joins that follow go through an internal topic by themselves."""
        key = key_columns(self._trace(mapper, "select_key").result, "select_key")
        step = self._add(lambda id_: s.SelectKey(id_, self._step, key.named), "select-key", name)
        return KStream(self._app, step, key.shape, self._value)

    def flat_map_values(
        self, mapper: Callable[[V], Iterable[R]] | Callable[[K, V], Iterable[R]], *, name: str | None = None
    ) -> KStream[K, R]:
        """No, one or several values for each record: return a list, or an array column such as `line.words`."""
        items = _array(self._trace(mapper, "flat_map_values").result, "flat_map_values")
        value = value_columns(_item(items), "flat_map_values")
        step = self._add(
            lambda id_: s.FlatMap(id_, self._step, items._hr_expression, value.named), "flat-map-values", name
        )
        return KStream(self._app, step, self._key, value.shape)

    def flat_map(
        self, mapper: Callable[[K, V], Iterable[KeyValue | tuple[K2, V2]]], *, name: str | None = None
    ) -> KStream[K2, V2]:
        """No, one or several records for each record: return a list of `KeyValue(key, value)` or of pairs."""
        result = self._trace(mapper, "flat_map").result
        if isinstance(result, list):
            result = [dict(zip(("key", "value"), _pair(item, "flat_map"))) for item in result]
        items = _array(result, "flat_map")
        if (
            not isinstance(items._hr_type, Array)
            or not isinstance(items._hr_type.item, Struct)
            or len(items._hr_type.item.names) != 2
        ):
            raise StreamsError("flat_map returns a list of pairs; annotate a Python function as -> list[tuple[…, …]]")
        pair = items._hr_type.item
        key = key_columns(symbol_kinds.of(Column(pair.names[0]), pair.fields[0].type), "flat_map")
        value = value_columns(symbol_kinds.of(Column(pair.names[1]), pair.fields[1].type), "flat_map")
        step = self._add(
            lambda id_: s.FlatMap(id_, self._step, items._hr_expression, value.named, key=key.named), "flat-map", name
        )
        return KStream(self._app, step, key.shape, value.shape)

    def peek(self, action: Callable[[V], Any] | Callable[[K, V], Any], *, name: str | None = None) -> KStream[K, V]:
        """Call a Python function for each record and pass the record on. It runs in Spark's Python workers: for looking, not for work."""
        return self._like(peeked(self, action, name))

    def print(self, label: str | None = None, *, name: str | None = None) -> KStream[K, V]:
        """`peek` that prints key and value to standard output."""
        prefix = f"[{label or self._step}]: "

        def show(key: Any, value: Any) -> None:
            print(f"{prefix}{key}, {value}", flush=True)  # noqa: T201 - it is what was asked for

        return self.peek(show, name=name)

    # Several streams

    def merge(self, *others: KStream[K, V], name: str | None = None) -> KStream[K, V]:
        """The records of this stream and others of the same types; in no order between them."""
        inputs = (self._step, *(other._step for other in others))
        return self._like(self._add(lambda id_: s.Merge(id_, inputs), "merge", name))

    def branch(self, *predicates: Callable[..., Any], name: str | None = None) -> tuple[KStream[K, V], ...]:
        """One stream per predicate; a record goes to the first that is true, and nowhere if none is."""
        return branched(self, predicates, name)

    def split(self, *, name: str | None = None, **cases: Callable[..., Any] | None) -> Branches[K, V]:
        """Named branches: `s = stream.split(large=lambda p: p.amount > 100, rest=None)`, then `s.large`, `s.rest`. None takes what is left."""
        return split(self, cases, name)

    def join(
        self,
        other: KStream[K, Any] | KTable[K, Any] | GlobalKTable[Any, Any],
        joiner: Callable[..., R] | None = None,
        within: JoinWindow | None = None,
        *,
        on: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> KStream[K, R]:
        """Records with their partner of the same key: of a stream `within` a time, of a table the row at that moment.

        `joiner` takes `left, right` or `key, left, right`; without one the value has the fields `left` and `right`.
        With a GlobalKTable `on` says under which key to look.
        """
        return joins.stream_join(self, other, joiner, within, on, s.JoinKind.INNER, name)

    def left_join(
        self,
        other: KStream[K, Any] | KTable[K, Any] | GlobalKTable[Any, Any],
        joiner: Callable[..., R] | None = None,
        within: JoinWindow | None = None,
        *,
        on: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> KStream[K, R]:
        """As `join`, and records without a partner too; then `right` and all its fields are None."""
        return joins.stream_join(self, other, joiner, within, on, s.JoinKind.LEFT, name)

    def outer_join(
        self,
        other: KStream[K, Any],
        joiner: Callable[..., R] | None = None,
        within: JoinWindow | None = None,
        *,
        name: str | None = None,
    ) -> KStream[K, R]:
        """As `join` of two streams, and records of both sides without a partner too."""
        return joins.stream_join(self, other, joiner, within, None, s.JoinKind.OUTER, name)

    # State

    def group_by_key(self, *, name: str | None = None) -> KGroupedStream[K, V]:
        """Records by the key they have; an aggregate follows."""
        from headrace.streams.grouped import KGroupedStream

        if self._key.column is None:
            raise StreamsError("this stream has no keys (key=None); use group_by(…)")
        step = self._add(lambda id_: s.GroupBy(id_, self._step), "group", name)
        return KGroupedStream(self._app, step, self._key, self._value, self)

    def group_by(
        self, selector: Callable[[V], K2] | Callable[[K, V], K2], *, name: str | None = None
    ) -> KGroupedStream[K2, V]:
        """Records by a new key; an aggregate follows."""
        from headrace.streams.grouped import KGroupedStream

        key = key_columns(self._trace(selector, "group_by").result, "group_by")
        step = self._add(lambda id_: s.GroupBy(id_, self._step, key.named), "group", name)
        return KGroupedStream(self._app, step, key.shape, self._value, self)

    def to_table(self, *, store: str | None = None, name: str | None = None) -> KTable[K, V]:
        """The stream taken as a table: the last value of each key; a None value deletes."""
        from headrace.streams.ktable import KTable

        step = self._add(lambda id_: s.ToTable(id_, self._step, store), "to-table", name)
        return self._app._remember(KTable(self._app, step, self._key, self._value), store)

    def deduplicate(
        self, within: Duration, by: Callable[..., Any] | None = None, *, name: str | None = None
    ) -> KStream[K, V]:
        """The first record for each value of `by` (the key, if nothing is said) within a time; repetitions are dropped."""
        found = symbol(self._trace(by, "deduplicate").result if by is not None else self._key_symbol())
        length = milliseconds(within, "within")
        step = self._add(
            lambda id_: s.Deduplicate(id_, self._step, (found._hr_expression,), length), "deduplicate", name
        )
        return self._like(step)

    def process(self, processor: type[Processor], *, name: str | None = None) -> KStream[Any, Any]:
        """A processor of your own, with state per key and timers; see `Processor`. It runs in Python."""
        step, key, value = processed(self, processor, name)
        return KStream(self._app, step, key, value)

    # Topics

    def to(
        self,
        topic: str | Callable[..., Any],
        *,
        key_format: str | None = None,
        value_format: str | None = None,
        partitions: int | None = None,
        name: str | None = None,
        **options: str,
    ) -> None:
        """Write to a topic, or to the topic that a function of the record names. Formats as in `App.stream`."""
        self._sink(topic, key_format, value_format, partitions, options, name)

    def repartition(self, partitions: int | None = None, *, name: str | None = None) -> KStream[K, V]:
        """Through an internal topic, with another number of partitions if one is given."""
        return self._like(self._add(lambda id_: s.Repartition(id_, self._step, partitions), "repartition", name))

    def through(self, topic: str, *, partitions: int | None = None, name: str | None = None) -> KStream[K, V]:
        """Write to a topic of your own and go on from there."""
        self._sink(topic, None, None, partitions, {}, name)
        key, value = self._key.python or self._key.type, self._value.python or self._value.type
        return self._app.stream(topic, key=key if self._key.column else None, value=value)

    def _like(self, step: str) -> KStream[K, V]:
        return KStream(self._app, step, self._key, self._value)

    def _keyed(self, key: tuple[Named, ...], shape: Shape) -> KStream[Any, V]:
        step = self._add(lambda id_: s.SelectKey(id_, self._step, key), "group-key")
        return KStream(self._app, step, shape, self._value)

    def _after(self, step: str, value: Shape) -> KStream[K, Any]:
        return KStream(self._app, step, self._key, value)

    def _carrying_key(self, key: Columns, value: Columns) -> str:
        """The new value with the new key in a column of its own, and then that column as the key: both see the old row."""
        carried = (
            *(value.named if value.before is None else (value.before,)),
            Named(_NEW_KEY, key.named[0].expression),
        )
        if any(one.name == _NEW_KEY for one in carried[:-1]):
            raise StreamsError(f"map: a field cannot be called {_NEW_KEY!r} here; rename it")
        first = self._add(lambda id_: s.Select(id_, self._step, carried), "map-value")
        return self._add(lambda id_: s.SelectKey(id_, first, (Named(KEY_COLUMN, Column(_NEW_KEY)),)), "map-key")


def negated(condition: Expression) -> Expression:
    """Not true: false, or unknown because something is None."""
    return Call("not", (Call("coalesce", (condition, symbol(False)._hr_expression)),))


def _pair(result: Any, what: str) -> tuple[Any, Any]:
    if isinstance(result, tuple) and len(result) == 2:
        return result[0], result[1]
    if isinstance(result, Symbol) and isinstance(result._hr_type, Struct) and len(result._hr_type.names) == 2:
        return result[0], result[1]  # type: ignore[index]
    raise StreamsError(
        f"{what} returns KeyValue(key, value) or a pair; use map_values or flat_map_values to keep the key"
    )


def _array(result: Any, what: str) -> Symbol:
    found = symbol(result)
    if not isinstance(found._hr_type, Array):
        raise StreamsError(f"{what} returns a list or an array column; this is a {found._hr_type}")
    return found


def _item(items: Symbol) -> Symbol:
    """An item of an array as the plan's FlatMap shows it: a struct's fields, or the column `item`."""
    assert isinstance(items._hr_type, Array)
    type_, python = items._hr_type.item, (getattr(items._hr_python, "__args__", None) or (None,))[0]
    if not isinstance(type_, Struct):
        return symbol_kinds.of(Column("item"), type_, python)
    return symbol_kinds.StructSymbol(None, type_, python, {name: Column(name) for name in type_.names})


def _uses_key(named: tuple[Named, ...]) -> bool:
    """Whether a new value needs the old key, or its window."""
    nodes = [node for one in named for node in walk(one)]
    columns = any(isinstance(node, Column) and node.name == KEY_COLUMN for node in nodes)
    return columns or any(
        isinstance(node, RowMeta) and node.name in (Meta.WINDOWSTART, Meta.WINDOWEND) for node in nodes
    )


def _passed_on(named: tuple[Named, ...]) -> tuple[Named, ...]:
    return tuple(Named(one.name, Column(one.name)) for one in named)
