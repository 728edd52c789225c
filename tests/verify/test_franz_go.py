"""Transactions of version 2, through the workers on franz-go: a late EndTxn harms nobody."""

from __future__ import annotations

import pytest

from headrace.testing import broker
from headrace.verify.nemesis import Fault
from headrace.verify.run import Plan, run

pytestmark = pytest.mark.peer("franz-go-worker")


def test_a_late_end_of_version_2() -> None:
    from conformance.install import FRANZ_GO_WORKER

    with broker() as headrace:
        plan = Plan(headrace.bootstrap_servers, seconds=4, faults=(Fault.LATE,), worker_command=str(FRANZ_GO_WORKER))
        verdict = run(plan).verdict
    assert verdict.anomalies == ()
    assert verdict.complete
    assert verdict.counts["commit"]["ok"] > 0
    assert verdict.counts["offsets"]["ok"] > 0
