"""What is remembered of a checkpoint: read back as written, replaced whole."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from headrace.spark.checkpoints import Checkpoints

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_fingerprint_is_replaced_whole(spark: SparkSession, tmp_path: Path) -> None:
    checkpoints = Checkpoints(spark, str(tmp_path), "plan")
    assert checkpoints.fingerprint("join~right") is None
    for text in ("first", "größer als zuvor" * 1000, "2"):
        checkpoints.remember("join~right", text)
        assert checkpoints.fingerprint("join~right") == text
    assert [path.name for path in (tmp_path / "plan").iterdir()] == ["join~right.fingerprint"]


def test_a_fingerprint_that_is_not_written_to_its_end_does_not_count(spark: SparkSession, tmp_path: Path) -> None:
    """A process that is killed while it writes leaves what was there before."""
    checkpoints = Checkpoints(spark, str(tmp_path), "plan")
    checkpoints.remember("join", "whole")

    class Torn(str):
        def encode(self, *_: str) -> bytes:  # type: ignore[override]
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        checkpoints.remember("join", Torn("half"))
    assert checkpoints.fingerprint("join") == "whole"
