"""KTable: the last value of each key, following its changes; GlobalKTable: one that every task sees whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from headrace.plan import steps as s
from headrace.plan.expressions import Column, Named
from headrace.plan.processing import KeyValue
from headrace.streams import joins
from headrace.streams.errors import StreamsError
from headrace.streams.flow import Flow, K, V
from headrace.streams.kstream import negated
from headrace.streams.rows import key_columns, value_columns
from headrace.streams.schema import KEY_COLUMN, Shape
from headrace.streams.windows import Duration, milliseconds

if TYPE_CHECKING:
    from headrace.streams.app import App
    from headrace.streams.grouped import KGroupedTable
    from headrace.streams.kstream import KStream
    from headrace.streams.lookups import TableRow

R = TypeVar("R")
K2 = TypeVar("K2")
_GROUP_KEY = "group_key"


class KTable(Flow[K, V]):
    """A table. `store=` makes what an operation yields queryable: `get`, `all`, `range` while the app runs."""

    def filter(
        self, predicate: Callable[..., Any], *, store: str | None = None, name: str | None = None
    ) -> KTable[K, V]:
        """The rows for which the predicate is true; a row that no longer fulfils it is deleted."""
        return self._like(self._filtered(self._condition(predicate, "filter"), "filter", name, store), store)

    def filter_not(
        self, predicate: Callable[..., Any], *, store: str | None = None, name: str | None = None
    ) -> KTable[K, V]:
        """The rows for which the predicate is not true."""
        condition = negated(self._condition(predicate, "filter_not"))
        return self._like(self._filtered(condition, "filter-not", name, store), store)

    def map_values(
        self, mapper: Callable[[V], R] | Callable[[K, V], R], *, store: str | None = None, name: str | None = None
    ) -> KTable[K, R]:
        """A new value for each row; the key stays."""
        step, shape = self._mapped(mapper, "map_values", name, store)
        return self._app._remember(KTable(self._app, step, self._key, shape), store)

    def to_stream(self, selector: Callable[..., Any] | None = None, *, name: str | None = None) -> KStream[Any, V]:
        """The table's changes as a stream; deletions have no value. `selector` makes a new key, as `select_key` does."""
        from headrace.streams.kstream import KStream

        step = self._add(lambda id_: s.ToStream(id_, self._step), "to-stream", name)
        stream: KStream[K, V] = KStream(self._app, step, self._key, self._value)
        return stream if selector is None else stream.select_key(selector)

    def join(
        self,
        other: KTable[Any, Any],
        joiner: Callable[..., R] | None = None,
        *,
        on: Callable[..., Any] | None = None,
        store: str | None = None,
        name: str | None = None,
    ) -> KTable[K, R]:
        """Rows with the row of the same key in another table, or with the one under the foreign key that `on` takes from the row."""
        return joins.table_join(self, other, joiner, on, s.JoinKind.INNER, store, name)

    def left_join(
        self,
        other: KTable[Any, Any],
        joiner: Callable[..., R] | None = None,
        *,
        on: Callable[..., Any] | None = None,
        store: str | None = None,
        name: str | None = None,
    ) -> KTable[K, R]:
        """As `join`, and rows without a partner too; then `right` and all its fields are None."""
        return joins.table_join(self, other, joiner, on, s.JoinKind.LEFT, store, name)

    def outer_join(
        self,
        other: KTable[Any, Any],
        joiner: Callable[..., R] | None = None,
        *,
        store: str | None = None,
        name: str | None = None,
    ) -> KTable[K, R]:
        """As `join` by key, and rows of both tables without a partner too."""
        return joins.table_join(self, other, joiner, None, s.JoinKind.OUTER, store, name)

    def group_by(self, selector: Callable[..., Any], *, name: str | None = None) -> KGroupedTable[Any, Any]:
        """Rows by a new key, or with a new value too: return the key, or `KeyValue(key, value)`. An aggregate follows."""
        from headrace.streams.grouped import KGroupedTable

        result = self._trace(selector, "group_by").result
        if not isinstance(result, KeyValue):
            key = key_columns(result, "group_by")
            step = self._add(lambda id_: s.GroupBy(id_, self._step, key.named), "group", name)
            return KGroupedTable(self._app, step, key.shape, self._value)
        key, value = key_columns(result.key, "group_by"), value_columns(result.value, "group_by")
        carried = (*value.named, Named(_GROUP_KEY, key.named[0].expression))
        if value.before is not None or _GROUP_KEY in value.shape.columns.names:
            raise StreamsError(
                f"group_by: the value has to run on columns, and have no field {_GROUP_KEY!r}; use map_values before it"
            )
        selected = self._add(lambda id_: s.Select(id_, self._step, carried), "group-value")
        grouped = (Named(KEY_COLUMN, Column(_GROUP_KEY)),)
        step = self._add(lambda id_: s.GroupBy(id_, selected, grouped), "group", name)
        return KGroupedTable(self._app, step, key.shape, value.shape, carries_key=True)

    def suppress(
        self, wait: Duration | None = None, *, max_records: int | None = None, name: str | None = None
    ) -> KTable[K, V]:
        """Fewer changes: of a windowed table only the final result of each window; with `wait` at most one change per key in that time."""
        wait_ms = None if wait is None else milliseconds(wait, "wait")
        step = self._add(
            lambda id_: s.Suppress(id_, self._step, wait_ms is None, wait_ms, max_records), "suppress", name
        )
        return self._like(step, None)

    def to(
        self,
        topic: str,
        *,
        key_format: str | None = None,
        value_format: str | None = None,
        partitions: int | None = None,
        name: str | None = None,
        **options: str,
    ) -> None:
        """Write the table's changes to a topic; deletions as null values."""
        self._sink(topic, key_format, value_format, partitions, options, name)

    # Queries, while the app runs

    def get(self, key: K) -> V | None:
        """The value of a key now; None when it has none. Of windowed tables use `windows`."""
        return cast("V | None", self._app._lookups(self).get(key))

    def wait_until_current(self, timeout: timedelta = timedelta(seconds=30)) -> None:
        """Wait until the table holds every change that was written before now."""
        self._app._lookups(self).wait_until_current(timeout.total_seconds())

    def windows(self, key: K) -> list[TableRow]:
        """The rows of a key of a windowed table, each with its window."""
        return self._app._lookups(self).windows(key)

    def all(self) -> Iterator[TableRow]:
        """Every row, in the order of the keys' bytes."""
        return self._app._lookups(self).all()

    def range(self, start: K | None = None, end: K | None = None) -> Iterator[TableRow]:
        """The rows from one key up to another, both included, in the order of the keys' bytes."""
        return self._app._lookups(self).range(start, end)

    def _like(self, step: str, store: str | None) -> KTable[K, V]:
        return self._app._remember(KTable(self._app, step, self._key, self._value), store)


class GlobalKTable(Generic[K, V]):
    """A table of which every task has all rows: joins with it need no common key and no repartitioning. Only joins can use it."""

    def __init__(self, app: App, step: str, key: Shape, value: Shape) -> None:
        self._app = app
        self._step = step
        self._key = key
        self._value = value

    def __repr__(self) -> str:
        return f"<GlobalKTable {self._step}: {self._key.type} → {self._value.type}>"
