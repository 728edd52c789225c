"""A slice of the killed leaders with a fixed seed; `python -m tests.faults.registry_kills` is the whole."""

from __future__ import annotations

import pytest

from headrace.testing import broker_process
from tests.faults import registry_kills


@pytest.mark.timeout(300)
def test_killed_leaders_lose_and_double_nothing() -> None:
    with broker_process() as kafka:
        figures = registry_kills.run(rounds=2, seed=7, bootstrap_servers=kafka.bootstrap_servers)
    assert figures["problems"] == []
    assert figures["acknowledged"] >= 20
