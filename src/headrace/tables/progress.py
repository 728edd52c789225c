"""How far a table is, shared between the thread that feeds it and those that wait for it.

Owns the state, the position that waiters see, and the sentences that say why something cannot be answered. The position of an
answer comes from the store, with the rows; the one here follows it and never runs ahead.
"""

from __future__ import annotations

import enum
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from headrace.tables.answers import Position
from headrace.tables.errors import TableClosed, TableError, TableFailed, TableLoading, TableTimeout, TopicMissing


class State(enum.Enum):
    STARTING = "starting"
    MISSING = "missing"
    LOADING = "loading"
    SERVING = "serving"
    FAILED = "failed"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class Status:
    """A table at one moment, for people and metrics.

    `skipped` counts records without a key, which no table can hold. `warning` is about the topic and stays;
    `last_error` is what keeps the table from its topic at the moment, empty when nothing does.
    """

    state: State = State.STARTING
    topic_id: str = ""
    position: Position = field(default_factory=dict)
    records: int = 0
    skipped: int = 0
    rebuilds: int = 0
    rebuild_reason: str = ""
    warning: str = ""
    last_error: str = ""


class Progress:
    """See the module."""

    def __init__(self, topic: str) -> None:
        self._topic = topic
        self._changed = threading.Condition()
        self._status = Status()
        self._targets: dict[int, int] = {}
        self._cause: BaseException | None = None

    @property
    def status(self) -> Status:
        return self._status

    def update(self, **changes: object) -> None:
        """Change some fields and wake everybody who waits."""
        with self._changed:
            self._status = replace(self._status, **changes)  # type: ignore[arg-type]
            self._changed.notify_all()

    def load(self, topic_id: str, position: Position, targets: Mapping[int, int]) -> None:
        """Reading begins: look-ups are refused until `targets` are reached."""
        with self._changed:
            self._targets = dict(targets)
        self.update(state=State.LOADING, topic_id=topic_id, position=position)

    def fail(self, cause: BaseException) -> None:
        self._cause = cause
        self.update(state=State.FAILED, last_error=f"{type(cause).__name__}: {cause}")

    def loaded(self, ahead: Position | None = None) -> bool:
        """Whether everything is applied that the topic held when reading began; or would be, with the offsets `ahead` as well."""
        return reached({**self._status.position, **(ahead or {})}, self._targets)

    def refusal(self) -> TableError | None:
        """Why a look-up cannot be answered now, with what to do; None when it can."""
        status, topic = self._status, self._topic
        error = f" (last error: {status.last_error})" if status.last_error else ""
        if status.state is State.SERVING:
            return None
        if status.state is State.CLOSED:
            return TableClosed(f"the table of topic {topic!r} is closed; open a new one")
        if status.state is State.FAILED:
            failed = TableFailed(
                f"the table of topic {topic!r} has stopped{error}; see to the cause and open the table anew"
            )
            failed.__cause__ = self._cause
            return failed
        if status.state is State.MISSING:
            return self._missing()
        if status.state is State.STARTING:
            return TableLoading(
                f"the table of topic {topic!r} has not reached its cluster yet{error}; call wait_until_current first, "
                "and check bootstrap.servers if that takes long"
            )
        left = sum(max(0, end - status.position.get(partition, 0)) for partition, end in self._targets.items())
        return TableLoading(
            f"the table of topic {topic!r} is still loading, up to {left} offsets are left{error}; "
            "call wait_until_current first"
        )

    def _missing(self) -> TopicMissing:
        return TopicMissing(
            f"topic {self._topic!r} does not exist; create it or start the pipeline that writes it, "
            "the table goes on by itself once it is there"
        )

    def wait(self, condition: Callable[[Status], bool], deadline: float, wanted: str) -> None:
        """Wait until the condition holds; the table's own reason, or TableTimeout with `wanted`, when it does not."""
        with self._changed:
            while not condition(self._status):
                if self._status.state in (State.CLOSED, State.FAILED):
                    raise self.refusal() or AssertionError("a stopped table refuses")
                left = deadline - time.monotonic()
                if left <= 0:
                    raise self._timeout(wanted)
                self._changed.wait(left)

    def pause(self, seconds: float) -> None:
        """Wait for any change, but not longer than this."""
        with self._changed:
            self._changed.wait(seconds)

    def _timeout(self, wanted: str) -> TableError:
        if self._status.state is State.MISSING:
            return self._missing()
        status = self._status
        error = f"; last error: {status.last_error}" if status.last_error else ""
        return TableTimeout(
            f"the table of topic {self._topic!r} is {status.state.value} at {dict(status.position)}, not {wanted}{error}. "
            "Wait longer; if it does not move, see whether the cluster answers and whether a transaction was left open "
            "(a read_committed table does not pass one)"
        )


def reached(position: Position, targets: Mapping[int, int]) -> bool:
    """Whether every partition is at its target or beyond."""
    return all(position.get(partition, 0) >= end for partition, end in targets.items())
