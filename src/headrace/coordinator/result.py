"""What a coordinator hands to its shell: records to append, answers to send, and what to do once the append ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from headrace.coordinator.records import GroupRecord
from headrace.wire.errors import ErrorCode

Token = object
"""Names one waiting request; the coordinator only keeps it and hands it back."""

Completion = tuple[Token, Any]
"""A request's token and its response."""

Settle = Callable[[ErrorCode, int], list[Completion]]
"""Called with NONE when the records are in the log, or with the reason why not, and with the time."""


class Caller(Protocol):
    """The part of a request's context that groups care about."""

    @property
    def api_version(self) -> int: ...
    @property
    def client_id(self) -> str | None: ...
    @property
    def client_host(self) -> str: ...


@dataclass(slots=True)
class Result:
    """The outcome of one request or timer.

    `completions` depend on nothing that is written and may be sent at once. The answers that do depend on it come from
    `GroupCoordinator.settle`, which the shell calls exactly once, after the append or, without records, right away. An
    append may be refused before it begins, whatever is under way; once begun, it fails only together with all behind it.
    """

    records: list[GroupRecord] = field(default_factory=list)
    completions: list[Completion] = field(default_factory=list)
    settles: list[Settle] = field(default_factory=list)
    atomic: bool = True
    """Whether the records must go into one batch. Tombstones of an expiry run may be split."""
    producer_id: int = -1
    """The producer whose transaction the records belong to, with its epoch."""
    producer_epoch: int = -1

    def complete(self, token: Token, response: Any) -> None:
        self.completions.append((token, response))

    def answer_when_written(self, token: Token, response: Any, refused: Callable[[ErrorCode], Any]) -> None:
        """Answer with `response` after the append, or with what `refused` makes of the error."""
        self.settles.append(
            lambda error, now_ms: [(token, response if error is ErrorCode.NONE else refused(coordinator_error(error)))]
        )


_RESPONSE_ERRORS = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.INVALID_FETCH_SIZE: ErrorCode.UNKNOWN_SERVER_ERROR,
}


def coordinator_error(error: ErrorCode) -> ErrorCode:
    """A log's error in words that a group member acts on: find the coordinator again, or give up."""
    return _RESPONSE_ERRORS.get(error, error)
