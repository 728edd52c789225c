"""A slice of the cluster test: an example on a Spark cluster and three Apache Kafka brokers, of which a worker and a broker are killed on the way.

The whole is `python -m tests.faults.cluster`: more payments, both guarantees.
"""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from headrace.plan.engine import Guarantee
from tests.faults.cluster import run

pytestmark = pytest.mark.peer("apache-kafka")


@pytest.mark.timeout(900)
def test_exactly_once_survives_the_loss_of_a_worker_and_of_a_broker() -> None:
    figures = run(Guarantee.EXACTLY_ONCE, 1_500, None, print)
    assert figures.alarms == figures.expected == 600
    assert (figures.lost, figures.doubled, figures.foreign) == (0, 0, 0)
