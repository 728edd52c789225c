"""The DStream way: the operations of Spark Streaming's first API, as people learned them, on event time.

`length` and `slide` are what they were there: a window of `length` every `slide`. Windows with an inverse function are incremental: what a record
costs does not depend on length ÷ slide.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

from headrace.plan.windows import Hopping, Tumbling
from headrace.streams.errors import StreamsError
from headrace.streams.folding import accumulator
from headrace.streams.tracing import arity
from headrace.streams.windows import Duration, hopping, tumbling

if TYPE_CHECKING:
    from headrace.streams.grouped import TimeWindowedKStream
    from headrace.streams.kstream import KStream

Result = TypeVar("Result")
ALL = "all"
"""The key of what is aggregated over all records."""


def _window(length: Duration, slide: Duration | None, *, incremental: bool) -> Tumbling | Hopping:
    if slide is None or slide == length:
        return tumbling(length)
    return hopping(length, every=slide, incremental=incremental)


class WindowedStream:
    """`stream.window(length, slide)`: the records of each window, to be counted or reduced."""

    def __init__(self, stream: KStream[Any, Any], length: Duration, slide: Duration | None) -> None:
        self._stream = stream
        self._length = length
        self._slide = slide

    def count(self) -> KStream[Any, int]:
        """How many records each window has."""
        return self._all().count().to_stream()

    def count_by_key(self) -> KStream[Any, int]:
        return self._by_key().count().to_stream()

    def count_by_value(self) -> KStream[Any, int]:
        """How often each value occurs in each window."""
        grouped = self._stream.group_by(lambda value: value)
        return grouped.windowed_by(self._window()).count().to_stream()

    def reduce(
        self, reducer: Callable[[Any, Any], Any], inverse: Callable[[Any, Any], Any] | None = None
    ) -> KStream[Any, Any]:
        """All records of each window joined into one."""
        return self._all().reduce(reducer, inverse).to_stream()

    def reduce_by_key(
        self, reducer: Callable[[Any, Any], Any], inverse: Callable[[Any, Any], Any] | None = None
    ) -> KStream[Any, Any]:
        """The records of each key and window joined into one."""
        return self._by_key().reduce(reducer, inverse).to_stream()

    def _window(self) -> Tumbling | Hopping:
        return _window(self._length, self._slide, incremental=True)

    def _by_key(self) -> TimeWindowedKStream[Any, Any]:
        return self._stream.group_by_key().windowed_by(self._window())

    def _all(self) -> TimeWindowedKStream[Any, Any]:
        return self._stream.group_by(lambda _value: ALL).windowed_by(self._window())


class DStreamOperations:
    """Mixed into KStream."""

    def window(self, length: Duration, slide: Duration | None = None) -> WindowedStream:
        """The records of the last `length`, every `slide` (`length`, if nothing is said)."""
        return WindowedStream(_stream(self), length, slide)

    def count_by_window(self, length: Duration, slide: Duration | None = None) -> KStream[Any, int]:
        """How many records came in the last `length`, every `slide`."""
        return self.window(length, slide).count()

    def count_by_value_and_window(self, length: Duration, slide: Duration | None = None) -> KStream[Any, int]:
        """How often each value came in the last `length`, every `slide`."""
        return self.window(length, slide).count_by_value()

    def reduce_by_window(
        self,
        reducer: Callable[[Any, Any], Any],
        inverse: Callable[[Any, Any], Any] | None,
        length: Duration,
        slide: Duration | None = None,
    ) -> KStream[Any, Any]:
        """All records of the last `length` joined into one, every `slide`."""
        return self.window(length, slide).reduce(reducer, inverse)

    def reduce_by_key_and_window(
        self,
        reducer: Callable[[Any, Any], Any],
        inverse: Callable[[Any, Any], Any] | None,
        length: Duration,
        slide: Duration | None = None,
    ) -> KStream[Any, Any]:
        """The records of each key of the last `length` joined into one, every `slide`.

        `inverse` takes out a record that has left the window: `reduce_by_key_and_window(lambda a, b: a + b, lambda a, b: a - b, minutes(10), seconds(1))`.
        """
        return self.window(length, slide).reduce_by_key(reducer, inverse)

    def update_state_by_key(
        self, update: Callable[[Any, Any], Any], initial: Any = None, *, returns: Any = None, store: str | None = None
    ) -> KStream[Any, Any]:
        """A state for each key, made anew with every record: `update(value, state)`. The state begins as `initial`.

        `returns`: the state's type, where `initial` does not tell it.
        """
        if arity(update) != 2:
            raise StreamsError("update_state_by_key takes a function of value and state")
        accumulator(initial, returns)  # its type can be told: checked at the user's line
        grouped = _stream(self).group_by_key()
        table = grouped.aggregate(initial, _swapped(update), returns=returns, store=store)
        return table.to_stream()

    def transform(self, function: Callable[[Any], Result]) -> Result:
        """`function` of this stream: for steps that belong together and are used more than once."""
        return function(self)


def _swapped(update: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def folded(state: Any, value: Any) -> Any:
        return update(value, state)

    return folded


def _stream(operations: DStreamOperations) -> KStream[Any, Any]:
    return cast("KStream[Any, Any]", operations)
