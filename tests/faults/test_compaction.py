"""A slice of compaction under kill -9 with a fixed seed; `python -m tests.faults.compaction` is the whole."""

from __future__ import annotations

import pytest

from tests.faults import compaction


@pytest.mark.timeout(120)
def test_a_dictionary_survives() -> None:
    # Slow enough to be met in the middle of its work. Too few samples to judge how long they took.
    figures = compaction.run(120_000, 2_000, 1, seed=5, samples=50, bytes_per_second=10e6)
    assert figures["equal_to_dictionary"] == 2
    assert figures["compacted_mb"] < figures["full_mb"] / 2
