"""The checker: a history in, a verdict out. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from headrace.verify import check_log, check_reads, check_transactions
from headrace.verify.anomalies import Anomaly
from headrace.verify.evidence import Evidence, gather
from headrace.verify.history import Operation, operations

CHECKS: tuple[Callable[[Evidence], Iterator[Anomaly]], ...] = (
    check_log.lost_writes,
    check_log.duplicates,
    check_log.phantoms,
    check_log.moved_records,
    check_log.reordered_writes,
    check_log.acknowledged_offsets_back,
    check_transactions.aborted_reads,
    check_transactions.dirty_reads,
    check_transactions.torn_transactions,
    check_transactions.writes_after_fencing,
    check_transactions.hanging_transactions,
    check_reads.non_monotonic_reads,
    check_reads.skipped_reads,
    check_reads.committed_offsets_back,
    check_reads.transformed_once,
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was found, and how much there was to find it in."""

    anomalies: tuple[Anomaly, ...]
    counts: Mapping[str, Mapping[str, int]]
    """Operation → outcome → how many."""
    complete: bool
    """Whether the history ends with a final read; without one, what is lost cannot be told."""

    @property
    def broken(self) -> tuple[Anomaly, ...]:
        """Anomalies that are the broker's fault."""
        return tuple(anomaly for anomaly in self.anomalies if not anomaly.known_flaw)

    @property
    def known_flaws(self) -> tuple[Anomaly, ...]:
        """Anomalies that version 1 of transactions cannot avoid."""
        return tuple(anomaly for anomaly in self.anomalies if anomaly.known_flaw)


def check(events: Iterable[Mapping[str, Any]]) -> Verdict:
    """Judge a history."""
    found = operations(events)
    evidence = gather(found)
    anomalies = tuple(
        replace(anomaly, known_flaw=check_transactions.is_known_flaw(evidence, anomaly))
        for one in CHECKS
        for anomaly in one(evidence)
    )
    return Verdict(anomalies, _counts(found), bool(evidence.final))


def _counts(found: Iterable[Operation]) -> dict[str, dict[str, int]]:
    counted: dict[str, Counter[str]] = {}
    for operation in found:
        name = "commit" if operation.f == "end" and operation.get("commit") else operation.f
        counted.setdefault("abort" if name == "end" else name, Counter())[operation.outcome] += 1
    return {name: dict(outcomes) for name, outcomes in counted.items()}
