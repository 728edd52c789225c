"""The checker finds bugs: a broker with each of them is convicted, the same run without one is not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from headrace.testing import broker
from headrace.verify import readers
from headrace.verify.anomalies import Kind
from headrace.verify.nemesis import Fault
from headrace.verify.run import Plan, run
from tests.verify import planted_bugs
from tests.verify.planted_bugs import Bug

SHORT = Plan("", seconds=1.0, seed=4, producers=1, writers=1, transformers=0)
TRANSFORMING = replace(SHORT, writers=0, transformers=1)
OFTEN = replace(SHORT, writers=3, producers=0)

BUGS: list[tuple[Bug, Plan, set[Kind]]] = [
    (planted_bugs.acknowledges_what_it_does_not_write, replace(SHORT, writers=0), {Kind.LOST_WRITE}),
    (planted_bugs.forgets_sequence_numbers, replace(SHORT, faults=(Fault.LOSE,)), {Kind.DUPLICATE}),
    (planted_bugs.shows_open_transactions, OFTEN, {Kind.DIRTY_READ, Kind.ABORTED_READ}),
    (planted_bugs.names_no_aborted_transactions, SHORT, {Kind.ABORTED_READ}),
    (planted_bugs.aborts_one_partition_of_a_commit, SHORT, {Kind.TORN_TRANSACTION}),
    (planted_bugs.loses_a_partition_of_a_transaction, SHORT, {Kind.HANGING_TRANSACTION}),
    (planted_bugs.commits_offsets_of_aborted_transactions, TRANSFORMING, {Kind.SKIPPED_INPUT}),
    (planted_bugs.leaves_out_offsets, TRANSFORMING, {Kind.OFFSET_WENT_BACK, Kind.TORN_TRANSACTION}),
    (planted_bugs.fences_nobody, replace(OFTEN, takeover_share=0.3), {Kind.WRITE_AFTER_FENCING}),
]


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "STABLE_WITHIN_S", 2.0)


@pytest.mark.parametrize(("bug", "plan", "expected"), BUGS, ids=lambda value: getattr(value, "__name__", ""))
def test_it_is_found(bug: Bug, plan: Plan, expected: set[Kind]) -> None:
    with bug(), broker() as headrace:
        verdict = run(replace(plan, bootstrap_servers=headrace.bootstrap_servers, keep_topics=True)).verdict
    assert expected & {anomaly.kind for anomaly in verdict.broken}, verdict


@pytest.mark.parametrize("plan", [replace(SHORT, transformers=1), replace(OFTEN, faults=(Fault.LOSE, Fault.CUT))])
def test_a_broker_without_bugs_is_not_convicted(plan: Plan) -> None:
    with broker() as headrace:
        outcome = run(replace(plan, bootstrap_servers=headrace.bootstrap_servers))
    assert outcome.verdict.anomalies == ()
    assert outcome.verdict.complete
    assert outcome.verdict.counts["commit"]["ok"] > 0
