"""A slice of the ten-thousand-partition run; `python -m tests.faults.many_partitions` is the whole."""

from __future__ import annotations

import pytest

from tests.faults import many_partitions


@pytest.mark.timeout(240)
def test_a_thousand_partitions_live_through_restarts() -> None:
    figures = many_partitions.run(1000)
    assert figures["file_descriptors"] <= 1200 + 100
    assert figures["file_descriptors_after"] <= 1200 + 100
