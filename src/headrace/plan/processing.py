"""What a processor of a user's own looks like: a Python class with state per key and timers. Spark calls it; here is only its form.

    class Silence(Processor):
        state = {"last": int}
        returns = Alarm

        def process(self, key: str, value: Reading, context: Context) -> Iterable[Alarm]:
            context.state["last"] = context.timestamp_ms
            context.schedule(context.timestamp_ms + 60_000)
            return ()

        def on_timer(self, key: str, timestamp_ms: int, context: Context) -> Iterable[Alarm]:
            if timestamp_ms >= context.state["last"] + 60_000:
                yield Alarm(sensor=key)

An instance serves many keys: what belongs to a key is in `context.state`, never in attributes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol


class KeyValue(NamedTuple):
    """A key and a value, where both are said: what `map` and processors that change the key return."""

    key: Any
    value: Any


@dataclass(frozen=True)
class State:
    """A variable of the state with a time limit: forgotten `ttl_ms` of event time after it was last written."""

    type: Any
    ttl_ms: int | None = None


class Context(Protocol):
    """What a processor may ask and do, for one key at one moment."""

    @property
    def state(self) -> MutableMapping[str, Any]:
        """The key's variables by name; what was never set is None, and `del` forgets."""
        ...

    @property
    def timestamp_ms(self) -> int:
        """The record's event time, or the timer's."""
        ...

    @property
    def watermark_ms(self) -> int:
        """The event time up to which no more is expected."""
        ...

    def schedule(self, timestamp_ms: int) -> None:
        """Call `on_timer` for this key once the watermark reaches that time."""
        ...


class Processor:
    """Base of all processors. `returns` is the type of the values that come out; `returns_key` that of their keys, if they change."""

    state: ClassVar[Mapping[str, Any]] = {}
    returns: ClassVar[Any] = None
    returns_key: ClassVar[Any] = None

    def process(self, key: Any, value: Any, context: Context) -> Iterable[Any]:
        """Called for every record, in Kafka's order per key; what it yields goes on (a `KeyValue` where the key changes)."""
        raise NotImplementedError(f"{type(self).__name__} needs a method `process`")

    def on_timer(self, key: Any, timestamp_ms: int, context: Context) -> Iterable[Any]:
        """Called when a timer of the key is due."""
        return ()
