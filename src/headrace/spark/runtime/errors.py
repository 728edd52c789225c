"""The one error of this package: something that Spark needs is not here, and this is the command that mends it."""

from __future__ import annotations


class RuntimeUnavailable(Exception):
    """`message` says what is missing, `next_step` what to do about it; `detail` is what the program that failed said."""

    def __init__(self, message: str, next_step: str, *, detail: str = "") -> None:
        super().__init__(f"{message}. {next_step}" + (f"\n{detail}" if detail else ""))
        self.message = message
        self.next_step = next_step
        self.detail = detail
