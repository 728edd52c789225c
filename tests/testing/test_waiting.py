"""Waiting for conditions."""

from __future__ import annotations

import pytest

from headrace.testing import wait_until


def test_it_returns_what_became_true() -> None:
    answers = iter([None, 0, "yes"])
    assert wait_until(lambda: next(answers)) == "yes"


def test_it_gives_up_with_a_sentence() -> None:
    with pytest.raises(AssertionError, match=r"the moon did not hold within 0\.05 s \(last: False\)"):
        wait_until(lambda: False, timeout_s=0.05, message="the moon")
