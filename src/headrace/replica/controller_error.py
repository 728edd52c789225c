"""A request's item that the controller refuses: error code and message, on their way into the response."""

from __future__ import annotations

from headrace.wire.errors import ErrorCode


class Refused(Exception):
    def __init__(self, code: ErrorCode, message: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message if message is not None else code.message
