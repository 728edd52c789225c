"""Users' processors in Spark's Python workers: `transformWithState` on one side, `headrace.plan.processing` on the other.

Rows of a key come in Kafka's order. What a processor raises becomes a row with an error, so that the record leaves for the processing log and
the pipeline lives on; the state is then as the processor left it.
"""

from __future__ import annotations

import heapq
import typing
from collections.abc import Iterable, Iterator, MutableMapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from headrace.functions.sql_text import spark_type
from headrace.plan.processing import KeyValue, Processor
from headrace.plan.python_code import converter, to_plain, to_python
from headrace.plan.steps import StateVariable
from headrace.plan.types import Struct
from headrace.spark.python_values import checked, plain

VALUE_COLUMN = "value"
TIMERS = "headrace timers"  # no name that a variable could have


@dataclass(frozen=True)
class ProcessorTypes:
    """The columns of what goes in and comes out, as the plan has them; `result_key` None: the key stays."""

    key: Struct
    value: Struct
    result: Struct
    result_key: Struct | None


class PythonProcessor(StatefulProcessor):
    """Runs a user's processor for the keys of one task."""

    def __init__(self, processor: type[Processor], variables: tuple[StateVariable, ...], types: ProcessorTypes) -> None:
        self._class = processor
        self._variables = variables
        self._types = types
        # Here, not in the worker: a class that came with a pickle has lost the names that its annotations are written with.
        hints = typing.get_type_hints(processor.process)
        self._to_key, self._to_value = converter(hints.get("key", Any)), converter(hints.get("value", Any))

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        self._processor = self._class()
        self._states = {one.name: handle.getValueState(one.name, _schema(one)) for one in self._variables}
        if any(one.ttl_ms is not None for one in self._variables):
            self._states[TIMERS] = handle.getValueState(TIMERS, "value ARRAY<BIGINT>")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        watermark = timerValues.getCurrentWatermarkInMs()
        key_columns, user_key = self._key(key)
        for row in in_order(list(rows)):
            context = KeyContext(self._handle, self._states, self._variables, row["ts"], watermark)
            value = bare_value(plain(row["left"], self._types.value))
            yield from self._outcome(
                lambda v=value, c=context: self._processor.process(user_key, self._to_value(v), c),
                key_columns,
                row["ts"],
                (row["topic"], row["partition"], row["offset"]),
            )

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:
        due = expiredTimerInfo.getExpiryTimeInMs()
        key_columns, user_key = self._key(key)
        context = KeyContext(self._handle, self._states, self._variables, due, timerValues.getCurrentWatermarkInMs())
        if not context.is_the_users(due):
            return
        yield from self._outcome(
            lambda: self._processor.on_timer(user_key, due, context), key_columns, due, (None, None, None)
        )

    def close(self) -> None:
        pass

    def _key(self, key: Any) -> tuple[dict[str, Any], Any]:
        """A key's columns as Spark has them, and the key as the user sees it."""
        columns = dict(zip(self._types.key.names, key, strict=True))
        return columns, self._to_key(bare(plain(columns, self._types.key)))

    def _outcome(self, call: Any, key: dict[str, Any], ts: int, place: tuple[Any, ...]) -> Iterator[Row]:
        """What a call yields as rows; an exception, also one in the middle, as a row with an error."""
        try:
            for result in call() or ():
                yield self._row(result, key, ts, place)
        except Exception as error:
            name = f"{self._class.__module__}:{self._class.__qualname__}"
            yield _output(key, None, ts, f"{name}: {type(error).__name__}: {error}"[:1000], place)

    def _row(self, result: Any, key: dict[str, Any], ts: int, place: tuple[Any, ...]) -> Row:
        if isinstance(result, KeyValue):
            if self._types.result_key is not None:
                key = checked(wrapped(to_plain(result.key), self._types.result_key), self._types.result_key)
            result = result.value
        value = None if result is None else checked(wrapped(to_plain(result), self._types.result), self._types.result)
        return _output(key, value, ts, None, place)


def _output(key: dict[str, Any], value: Any, ts: int, error: str | None, place: tuple[Any, ...]) -> Row:
    topic, partition, offset = place
    return Row(key=key, value=value, ts=ts, error=error, topic=topic, partition=partition, offset=offset)


def bare(columns: dict[str, Any]) -> Any:
    """A key of one column is that column to its user."""
    return next(iter(columns.values())) if len(columns) == 1 else columns


def bare_value(columns: dict[str, Any] | None) -> Any:
    """A value of the one column `value` is that column to its user."""
    return columns[VALUE_COLUMN] if columns is not None and list(columns) == [VALUE_COLUMN] else columns


def wrapped(value: Any, columns: Struct) -> Any:
    """The other way round: what is no struct is the only column."""
    if len(columns.fields) == 1 and not (isinstance(value, dict) and set(value) == set(columns.names)):
        return {columns.fields[0].name: value}
    return value


def in_order(rows: list[Row]) -> Iterable[Row]:
    """Kafka's order: by offset in a partition, between partitions the smallest timestamp first."""
    queues: dict[tuple[Any, Any], list[Row]] = {}
    for row in sorted(rows, key=lambda one: one["offset"]):
        queues.setdefault((row["topic"], row["partition"]), []).append(row)
    if len(queues) <= 1:
        return next(iter(queues.values()), [])
    heads = [(queue[0]["ts"], number, 0) for number, queue in enumerate(queues.values())]
    return _merged(heads, list(queues.values()))


def _merged(heads: list[tuple[int, int, int]], queues: list[list[Row]]) -> Iterator[Row]:
    heapq.heapify(heads)
    while heads:
        _, number, position = heapq.heappop(heads)
        yield queues[number][position]
        if position + 1 < len(queues[number]):
            heapq.heappush(heads, (queues[number][position + 1]["ts"], number, position + 1))


class KeyContext:
    """What a processor sees while it looks at one record or timer; fulfils `headrace.plan.processing.Context`."""

    def __init__(
        self,
        handle: StatefulProcessorHandle,
        states: dict[str, Any],
        variables: tuple[StateVariable, ...],
        ts: int,
        watermark: int,
    ) -> None:
        self._handle = handle
        self._timers = states.get(TIMERS)
        self.timestamp_ms = ts
        self.watermark_ms = watermark
        self.state = KeyState(states, {one.name: one for one in variables}, handle, ts)

    def schedule(self, timestamp_ms: int) -> None:
        if self._timers is not None:
            self._timers.update(([*self._scheduled(), timestamp_ms],))
        self._handle.registerTimer(timestamp_ms)

    def is_the_users(self, due: int) -> bool:
        """Whether a timer that is due was scheduled by the processor; one that only forgets state has done its work here."""
        if self._timers is None:
            return True
        self.state.forget(due)
        scheduled = self._scheduled()
        left = [one for one in scheduled if one > due]
        if left:
            self._timers.update((left,))
        else:
            self._timers.clear()
        return due in scheduled

    def _scheduled(self) -> list[int]:
        held = self._timers.get() if self._timers is not None else None
        return [] if held is None else list(held[0])


class KeyState(MutableMapping[str, Any]):
    """The variables of a key, read and written as they are used.

    Spark forgets state by itself only where timers are of its own clock; ours are of event time, and so is a variable's time to live. It
    is kept beside the value, and a timer of our own removes what has passed it.
    """

    def __init__(
        self, states: dict[str, Any], variables: dict[str, StateVariable], handle: StatefulProcessorHandle, now_ms: int
    ) -> None:
        self._states = states
        self._variables = variables
        self._handle = handle
        self._now_ms = now_ms

    def __getitem__(self, name: str) -> Any:
        state, variable = self._find(name)
        held = state.get()
        if held is None or (variable.ttl_ms is not None and held[1] <= self._now_ms):
            return None
        return to_python(plain(held[0], variable.type), Any)

    def __setitem__(self, name: str, value: Any) -> None:
        state, variable = self._find(name)
        if value is None:
            state.clear()
        elif variable.ttl_ms is None:
            state.update((checked(to_plain(value), variable.type),))
        else:
            until = self._now_ms + variable.ttl_ms
            state.update((checked(to_plain(value), variable.type), until))
            self._handle.registerTimer(until)

    def __delitem__(self, name: str) -> None:
        self._find(name)[0].clear()

    def __iter__(self) -> Iterator[str]:
        return iter(self._variables)

    def __len__(self) -> int:
        return len(self._variables)

    def forget(self, now_ms: int) -> None:
        """Remove what has lived its time."""
        for name, variable in self._variables.items():
            held = self._states[name].get() if variable.ttl_ms is not None else None
            if held is not None and held[1] <= now_ms:
                self._states[name].clear()

    def _find(self, name: str) -> tuple[Any, StateVariable]:
        if name not in self._variables:
            raise KeyError(
                f"the processor declares no state {name!r}; it declares {', '.join(self._variables) or 'none'}"
            )
        return self._states[name], self._variables[name]


def _schema(variable: StateVariable) -> str:
    """A variable's columns: its value, and of one that is forgotten the event time until when it is known."""
    value = f"value {spark_type(variable.type)}"
    return value if variable.ttl_ms is None else f"{value}, until BIGINT"
