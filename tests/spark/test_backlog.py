"""Slices of the backlog test: what waited while the pipeline was down comes out complete and in order, and what is late is counted and told.

The whole is `python -m tests.faults.backlog`: ten million records, every app, both guarantees.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

from headrace.plan.engine import Guarantee
from headrace.testing.process import broker_process
from tests.faults.backlog import Backlog, Options

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.timeout(300)
@pytest.mark.parametrize("app", ["hour_apart", "hour_apart_short_grace"])
def test_a_backlog_is_worked_off(app: str, spark: SparkSession, tmp_path: Path) -> None:
    options = Options(32_000, app, Guarantee.AT_LEAST_ONCE, {"real_time": False})
    with broker_process() as broker:
        backlog = Backlog(options, broker, spark, tmp_path)
        figures = backlog.run()
    assert backlog.broken(figures) == []
    assert figures.verdict.seen + figures.late == figures.sent == 32_000
