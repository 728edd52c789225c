"""A request's item that the controller refuses: error code and message, on their way into the response."""

from __future__ import annotations

from headrace.wire.errors import ErrorCode

LONGEST_MESSAGE = 1000
"""What a client sent may stand in a message, and a string of the protocol has an end."""


class Refused(Exception):
    def __init__(self, code: ErrorCode, message: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = _shortened(message) if message is not None else code.message


def _shortened(message: str) -> str:
    return message if len(message) <= LONGEST_MESSAGE else f"{message[:LONGEST_MESSAGE]}..."
