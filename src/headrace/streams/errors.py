"""What can be wrong with a topology, told at the line of the user's code that is wrong."""

from __future__ import annotations

import sys
from pathlib import Path

PACKAGE = str(Path(__file__).resolve().parent)


class StreamsError(ValueError):
    """A topology that cannot run. `location` is `file:line` of the call at fault; the text says what to do."""

    def __init__(self, problem: str, location: str | None = None) -> None:
        self.location = location if location is not None else caller()
        self.problem = problem
        super().__init__(f"{self.location}: {problem}" if self.location else problem)


class NotTraceable(BaseException):
    """Raised inside a function that is being traced when it does what no column can do.

    A BaseException, so that a user's `except Exception` does not swallow it. Never leaves this package.
    """

    def __init__(self, reason: str, advice: str, location: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.advice = advice
        self.location = location


def caller() -> str:
    """`file:line` of the innermost frame that is not of this package: the user's."""
    frame = sys._getframe(1)
    while frame is not None:
        filename = frame.f_code.co_filename
        if not filename.startswith((PACKAGE, "<")):
            return f"{filename}:{frame.f_lineno}"
        if frame.f_back is None:
            break
        frame = frame.f_back
    return ""
