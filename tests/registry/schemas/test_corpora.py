"""A fixed slice of what others have written down about pairs of schemas; `python -m conformance registry` asks all of it.

The sets are not part of the repository: without them these tests are skipped, and those of our own in this folder remain.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance import registry

FOLDER = registry.folder()
FILES = sorted(FOLDER.glob("*.json")) if FOLDER else []


@pytest.mark.skipif(not FILES, reason="no sets of schemas here; HEADRACE_REGISTRY_CORPORA names their folder")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_slice(path: Path) -> None:
    found = registry.tally(path, slice(None, None, 3))
    assert found.verdicts
    assert found.misses == []
