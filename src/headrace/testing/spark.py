"""One Spark session for a whole test run: the first test that asks for it pays for the start of Java, the others nothing.

Imports pyspark only when a session is started, so that everybody else's tests stay fast.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headrace.spark.session import SessionSettings


@contextlib.contextmanager
def spark_session(settings: SessionSettings | None = None) -> Iterator[SparkSession]:
    """A session with checkpoints in a temporary directory, which is gone afterwards. HEADRACE_SPARK_LOG keeps its log in a file."""
    from headrace.spark.session import SessionSettings, start_session, stop_session

    kept = os.environ.get("HEADRACE_SPARK_LOG")
    with tempfile.TemporaryDirectory(prefix="headrace-checkpoints-", ignore_cleanup_errors=True) as checkpoints:
        chosen = dataclasses.replace(
            settings or SessionSettings(app_name="headrace-tests", log_file=Path(kept) if kept else None),
            checkpoint_dir=Path(checkpoints),
        )
        session = start_session(chosen)
        try:
            yield session
        finally:
            stop_session()
