"""What ends a command: a problem with an exit code of its own, or a reader that is gone."""

from __future__ import annotations

from headrace.admin.errors import Problem, UsageMistake

FAILED = 1
USAGE = 2
INTERRUPTED = 130


class CliError(Problem):
    """Ends the command with this exit code."""

    def __init__(self, message: str, next_step: str = "", *, exit_code: int = FAILED) -> None:
        super().__init__(message, next_step)
        self.exit_code = exit_code


class ReaderGone(Exception):
    """Whoever reads our output (`| head`) has seen enough. Not an error, and not Typer's to handle, which would exit with 1."""


def exit_code(problem: Problem) -> int:
    """What the shell is told about it."""
    if isinstance(problem, CliError):
        return problem.exit_code
    return USAGE if isinstance(problem, UsageMistake) else FAILED
