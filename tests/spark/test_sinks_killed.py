"""A slice of the kill test: exactly once holds when the driver is killed with -9 while records flow."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from tests.faults.spark_kill_run import Options, run


@pytest.mark.timeout(300)
def test_exactly_once_survives_a_kill_of_the_driver():
    figures = run(Options(records=20_000, driver_kills=1, broker_kills=0, batch=5_000, portion_s=1.0))
    assert figures["seen"] == 20_000
    assert (figures["lost"], figures["doubled"], figures["wrong"]) == (0, 0, 0)
    assert figures["driver_failures"] == []
