"""App: the place where a topology begins and is run from. Kafka's `StreamsBuilder` and `KafkaStreams` in one."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, overload

from headrace.plan import steps as s
from headrace.plan.engine import Engine, Guarantee
from headrace.plan.expressions import Expression
from headrace.plan.plan import Plan
from headrace.plan.serdes import Serde
from headrace.plan.stores import stores
from headrace.plan.types import BIGINT, Struct
from headrace.streams.builder import Builder
from headrace.streams.description import described
from headrace.streams.errors import StreamsError
from headrace.streams.kstream import KStream
from headrace.streams.ktable import GlobalKTable, KTable
from headrace.streams.lookups import Lookups
from headrace.streams.rows import key_symbol, value_symbol
from headrace.streams.running import RunningApp, start
from headrace.streams.schema import KEY_COLUMN, Shape, key_shape, serde, value_shape
from headrace.streams.tracing import arguments_by_arity, trace

if TYPE_CHECKING:
    from headrace.streams.tracing import Fallback

K = TypeVar("K")
V = TypeVar("V")
DEFAULT_BOOTSTRAP = "127.0.0.1:9092"


class App:
    """A streams application. Its name is part of its topics, its state and its transactions: it identifies the app for good.

        app = App("fraud")
        payments = app.stream("payments", key=str, value=Payment)
        payments.filter(lambda p: p.amount > 100).to("large-payments")
        app.run()

    Operations add steps, which are checked at once. Nothing runs before `start` or `run`.
    """

    def __init__(
        self,
        name: str,
        *,
        bootstrap_servers: str | None = None,
        guarantee: Guarantee | str = Guarantee.AT_LEAST_ONCE,
        kafka: Mapping[str, str] | None = None,
    ) -> None:
        self._builder = Builder(name)
        self.bootstrap_servers = bootstrap_servers or os.environ.get("HEADRACE_BOOTSTRAP", DEFAULT_BOOTSTRAP)
        self.guarantee = _guarantee(guarantee)
        self._kafka = dict(kafka or {})
        self._tables: dict[str, KTable[Any, Any]] = {}
        self._open: dict[str, Lookups] = {}
        self._inputs: dict[str, tuple[Shape, Shape]] = {}
        self._outputs: dict[str, tuple[Shape, Shape]] = {}

    @property
    def name(self) -> str:
        return self._builder.name

    def __repr__(self) -> str:
        return f"<App {self.name}: {len(self._builder.steps)} steps>"

    # Sources

    @overload
    def stream(self, topic: str, *, value: type[V], key: type[K], timestamp: Callable[..., Any] | None = ..., offset_reset: str = ...,
               key_format: str | None = ..., value_format: str | None = ..., name: str | None = ..., **options: str) -> KStream[K, V]: ...  # fmt: skip

    @overload
    def stream(self, topic: str, *, value: Any, key: Any = ..., timestamp: Callable[..., Any] | None = ..., offset_reset: str = ...,
               key_format: str | None = ..., value_format: str | None = ..., name: str | None = ..., **options: str) -> KStream[Any, Any]: ...  # fmt: skip

    def stream(
        self,
        topic: str,
        *,
        value: Any,
        key: Any = str,
        timestamp: Callable[..., Any] | None = None,
        offset_reset: str = "earliest",
        key_format: str | None = None,
        value_format: str | None = None,
        name: str | None = None,
        **options: str,
    ) -> KStream[Any, Any]:
        """A topic as a stream.

        `key` and `value` are types: a dataclass, str, int, float, bytes, `list[str]` …, or a text such as `"STRUCT<card STRING>"`; `key=None`:
        the topic has no keys. Formats are `json`, `kafka` (Kafka's own serializers of single values), `delimited`; by default what the type suggests.
        `options` are the value format's. `timestamp`: a function that takes the event time from the value (milliseconds, or a datetime), else
        the record's own is used. `offset_reset`: `earliest` or `latest`, where an app begins that never ran.
        """
        keys, values = _shapes(key, value)
        when = self._timestamp(timestamp, keys, values)
        reset = _offset_reset(offset_reset)
        self._inputs.setdefault(topic, (keys, values))
        serdes = (_key_serde(keys, key_format), serde(values, value_format, options))
        step = self._builder.source(lambda id_: s.StreamSource(id_, topic, *serdes, when, reset), "stream", name)
        return KStream(self, step, keys, values)

    def table(
        self,
        topic: str,
        *,
        value: Any = None,
        key: Any = str,
        timestamp: Callable[..., Any] | None = None,
        store: str | None = None,
        key_format: str | None = None,
        value_format: str | None = None,
        name: str | None = None,
        **options: str,
    ) -> KTable[Any, Any]:
        """A topic as a table: the last value of each key, a null value deletes. Parameters as in `stream`.

        Without `value`, the table that was stored under this name: `app.table("counts").get("alice")`.
        """
        if value is None:
            return self._stored(topic)
        keys, values = _shapes(key, value)
        when = self._timestamp(timestamp, keys, values)
        self._inputs.setdefault(topic, (keys, values))
        serdes = (_key_serde(keys, key_format), serde(values, value_format, options))
        step = self._builder.source(lambda id_: s.TableSource(id_, topic, *serdes, when, store), "table", name)
        return self._remember(KTable(self, step, keys, values), store)

    def global_table(
        self,
        topic: str,
        *,
        value: Any,
        key: Any = str,
        key_format: str | None = None,
        value_format: str | None = None,
        name: str | None = None,
        **options: str,
    ) -> GlobalKTable[Any, Any]:
        """A topic as a table of which every task has all rows, for joins by any field."""
        keys, values = _shapes(key, value)
        self._inputs.setdefault(topic, (keys, values))
        serdes = (_key_serde(keys, key_format), serde(values, value_format, options))
        step = self._builder.source(lambda id_: s.GlobalTableSource(id_, topic, *serdes), "global-table", name)
        return GlobalKTable(self, step, keys, values)

    # What it is

    def plan(self) -> Plan:
        """The topology as plain data."""
        return self._builder.plan()

    def describe(self) -> str:
        """The topology as text: each step with what it yields, where it was written, and what runs in Python."""
        return described(self._builder)

    def explain(self, guarantee: Guarantee | str | None = None) -> str:
        """How the topology runs: queries, modes and why, internal topics, the price of Python functions."""
        from headrace.functions import CATALOGUE
        from headrace.plan import explain

        text: str = explain.text(self.plan(), _guarantee(guarantee or self.guarantee), CATALOGUE)
        notes = [f"{step}: {note}" for step, some in self.python_functions().items() for note in some]
        return (
            text
            if not notes
            else text.rstrip() + "\n\nPython functions\n" + "\n".join(f"  {note}" for note in notes) + "\n"
        )

    def python_functions(self) -> dict[str, list[Fallback]]:
        """Which steps have functions that run in Python although they were not meant to, and why."""
        return {step: list(some) for step, some in self._builder.fallbacks.items()}

    # Running it

    def start(
        self, engine: Engine | str | None = None, *, guarantee: Guarantee | str | None = None, **settings: Any
    ) -> RunningApp:
        """Run the app and return at once.

        `engine`: an engine, or the address of one. Without it the engine on this machine is used if one answers, else the app holds its own.
        Settings are those of pipelines (`trigger_ms=200`).
        """
        texts = {name.replace("_", "."): str(value) for name, value in settings.items()}
        chosen = _guarantee(guarantee or self.guarantee)
        return start(self.plan(), self.bootstrap_servers, self._kafka, chosen, engine, texts)

    def run(self, engine: Engine | str | None = None, **settings: Any) -> None:
        """Run the app until Ctrl-C."""
        running = self.start(engine, **settings)
        try:
            running.wait_until_running().wait()
        except KeyboardInterrupt:
            pass
        finally:
            running.stop()
            self.close()

    def close(self) -> None:
        """Close the tables that were looked into."""
        while self._open:
            self._open.popitem()[1].close()

    # For streams and tables

    def _remember(self, table: KTable[K, V], store: str | None) -> KTable[K, V]:
        if store is not None:
            if store in self._tables:
                raise StreamsError(f"there is a store {store!r} already; names of stores are unique in an app")
            self._tables[store] = table
        return table

    def _stored(self, store: str) -> KTable[Any, Any]:
        if store not in self._tables:
            known = ", ".join(self._tables) or "none"
            raise StreamsError(
                f"no table was stored as {store!r} (there are: {known}); to read a topic as a table give its types: "
                f'app.table("{store}", key=str, value=…)'
            )
        return self._tables[store]

    def _lookups(self, table: KTable[Any, Any]) -> Lookups:
        store = next((name for name, known in self._tables.items() if known._step == table._step), None)
        if store is None:
            raise StreamsError("this table is not kept: give the operation that makes it store=…")
        if store not in self._open:
            topic = stores(self.plan(), self._builder.relations)[store]
            self._open[store] = Lookups(self.bootstrap_servers, self._kafka, topic, table._key, table._value)
        return self._open[store]

    def _timestamp(self, function: Callable[..., Any] | None, key: Shape, value: Shape) -> Expression | None:
        if function is None:
            return None
        row = value_symbol(value)
        traced = trace(
            function,
            arguments_by_arity(function, {1: (row,), 2: (key_symbol(key), row)}, "timestamp"),
            "timestamp",
            BIGINT,
        )
        return self._builder.note(traced).symbol._hr_expression


def _shapes(key: Any, value: Any) -> tuple[Shape, Shape]:
    keys = Shape(Struct(()), None) if key is None else key_shape(key)
    values = value_shape(value)
    if KEY_COLUMN in values.columns.names:
        raise StreamsError(f"a value cannot have a field {KEY_COLUMN!r}, which is the key's column; rename it")
    return keys, values


def _key_serde(shape: Shape, format_: str | None) -> Serde:
    return Serde("none", shape.columns) if shape.column is None else serde(shape, format_, {})


def _guarantee(given: Guarantee | str) -> Guarantee:
    try:
        return Guarantee(given)
    except ValueError:
        raise StreamsError(f"{given!r} is no guarantee; there are {' and '.join(Guarantee)}") from None


def _offset_reset(given: str) -> s.OffsetReset:
    try:
        return s.OffsetReset(given)
    except ValueError:
        raise StreamsError(f"offset_reset is {' or '.join(s.OffsetReset)}, not {given!r}") from None
