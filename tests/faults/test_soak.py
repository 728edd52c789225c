"""A slice of the soak with a fixed seed; `python -m tests.faults.soak` is the whole."""

from __future__ import annotations

import pytest

from tests.faults import soak


@pytest.mark.timeout(120)
def test_coming_and_going_leaves_nothing_behind() -> None:
    figures = soak.run(8, seed=3)
    quiet = figures["quiet"]
    assert figures["at_the_end"]["topics"] > 0 and figures["at_the_end"]["rebalances"] > 0
    # 58 logs that stay, their cached segments, and what a process has open anyway.
    assert quiet["file_descriptors"] < 58 + 8 * 12 + 40
