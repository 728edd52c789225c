"""Waiting for a condition in tests: poll until it holds, fail with a sentence when it does not. Never a bare sleep."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Outcome = TypeVar("Outcome")


def wait_until(
    condition: Callable[[], Outcome], *, timeout_s: float = 10.0, message: str = "", interval_s: float = 0.01
) -> Outcome:
    """Call `condition` until it returns something true and return that; AssertionError after `timeout_s`."""
    deadline = time.monotonic() + timeout_s
    while True:
        outcome = condition()
        if outcome:
            return outcome
        if time.monotonic() >= deadline:
            raise AssertionError(f"{message or condition} did not hold within {timeout_s:g} s (last: {outcome!r})")
        time.sleep(interval_s)
