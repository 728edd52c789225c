"""A slice of compaction under kill -9 with a fixed seed; `python -m tests.faults.compaction` is the whole."""

from __future__ import annotations

import pytest

from tests.faults import compaction


@pytest.mark.timeout(120)
def test_a_dictionary_survives() -> None:
    figures = compaction.run(120_000, 2_000, 2, seed=5)
    assert figures["compacted_mb"] < figures["full_mb"] / 2
