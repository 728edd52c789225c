"""What storage refuses, with Kafka's error code for the answer.

A refusal is the caller's or the client's fault and leaves the log as it was. A disk's fault is an OSError and is not
wrapped.
"""

from __future__ import annotations

from typing import NamedTuple

from headrace.wire.errors import ErrorCode


class RecordError(NamedTuple):
    """One record that made its batch unacceptable (KIP-467)."""

    batch_index: int
    message: str


class LogError(Exception):
    """A refusal that has an error code in Kafka's protocol."""

    def __init__(self, error_code: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.error_code = error_code
        self.message = message


class AppendError(LogError):
    """The batch is not appended; the client learns why."""

    def __init__(self, error_code: ErrorCode, message: str, record_errors: tuple[RecordError, ...] = ()) -> None:
        super().__init__(error_code, message)
        self.record_errors = record_errors


class OffsetOutOfRange(LogError):
    """The offset is below the log start offset or above the log end offset."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.OFFSET_OUT_OF_RANGE, message)
