"""A slice of the crash test with a fixed seed; `python -m tests.faults.crash` is the whole."""

from __future__ import annotations

import pytest

from tests.faults import crash


@pytest.mark.timeout(180)
def test_nothing_acknowledged_is_lost_or_doubled_by_kill_9() -> None:
    figures = crash.run(rounds=6, seed=20)
    assert figures["acknowledged"] > 500
    assert figures["read"] >= figures["acknowledged"]
