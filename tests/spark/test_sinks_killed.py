"""Slices of the kill test: exactly once holds when the driver is killed with -9 while records flow.

The whole is `python -m tests.faults.spark_kills`: a million records, more kills, the broker's too, at least once, Apache Kafka.
"""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from tests.faults.spark_kill_run import STATELESS, Options, run
from tests.faults.spark_kills import WORKLOADS


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("workload", "records"),
    [(STATELESS, 20_000), (WORKLOADS["foreign_key"], 5_000)],
    ids=["without state", "state, internal topics and a table"],
)
def test_exactly_once_survives_a_kill_of_the_driver(workload: str, records: int) -> None:
    figures = run(Options(records, 1, 0, workload=workload, batch=records // 4, portion_s=1.0))
    assert figures["seen"] >= figures["expected"] > 100
    assert (figures["lost"], figures["doubled"], figures["wrong"]) == (0, 0, 0)
    assert figures["driver_failures"] == []
