"""A history sorted by what the checks ask for: who wrote a value, how each transaction ended, who owned a producer when."""

from __future__ import annotations

import bisect
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from headrace.verify.history import Operation

COMMITTED, UNCOMMITTED = "read_committed", "read_uncommitted"
Spot = tuple[int, str]
"""An offset and the value that was seen there."""


@dataclass(slots=True)
class Transaction:
    """One transaction of one session of a producer."""

    id: str
    producer: str
    session: str
    sends: list[Operation] = field(default_factory=list)
    offsets: list[Operation] = field(default_factory=list)
    ends: list[Operation] = field(default_factory=list)

    @property
    def commit_requested(self) -> int | None:
        """When a commit was first asked for; None when it never was."""
        return min((end.began for end in self.ends if end.get("commit")), default=None)

    @property
    def committed(self) -> bool:
        """Whether the client was told that it is committed. Without that, a requested commit may have happened or not."""
        return any(end.ok and end.get("commit") for end in self.ends)

    @property
    def began(self) -> int:
        return min(operation.began for operation in (*self.sends, *self.offsets, *self.ends))

    @property
    def ended(self) -> float:
        """When the client had done with it; for what never ended, the end of time."""
        return max((end.ended or float("inf") for end in self.ends), default=float("inf"))


@dataclass(slots=True)
class Evidence:
    """The operations of a history by kind, with the lookups that several checks share."""

    writes: dict[str, Operation] = field(default_factory=dict)
    transactions: dict[str, Transaction] = field(default_factory=dict)
    inits: dict[str, list[Operation]] = field(default_factory=lambda: defaultdict(list))
    polls: list[Operation] = field(default_factory=list)
    committed: list[Operation] = field(default_factory=list)
    late: list[Operation] = field(default_factory=list)
    final: dict[str, dict[str, list[Spot]]] = field(default_factory=dict)
    """Isolation level → partition → everything that is there in the end, by offset."""
    unstable: list[str] = field(default_factory=list)
    visible: set[str] = field(default_factory=set)
    """Values that read_committed shows in the end."""

    def transaction_of(self, value: str) -> Transaction | None:
        write = self.writes.get(value)
        return self.transactions.get(write.get("txn")) if write is not None and write.get("txn") else None

    def between(self, isolation: str, partition: str, low: int, high: int) -> list[Spot]:
        """What the final read shows strictly between two offsets."""
        spots = self.final.get(isolation, {}).get(partition, [])
        first = bisect.bisect_right(spots, low, key=lambda spot: spot[0])
        return spots[first : bisect.bisect_left(spots, high, key=lambda spot: spot[0])]


def gather(operations: Iterable[Operation]) -> Evidence:
    """Sort the operations of a history."""
    evidence = Evidence()
    lists = {"poll": evidence.polls, "committed": evidence.committed, "late": evidence.late}
    for operation in operations:
        if operation.f in lists:
            lists[operation.f].append(operation)
        elif operation.f == "send":
            _add_send(evidence, operation)
        elif operation.f in ("end", "offsets"):
            transaction = _transaction(evidence, operation)
            (transaction.ends if operation.f == "end" else transaction.offsets).append(operation)
        elif operation.f == "init":
            evidence.inits[operation.get("producer")].append(operation)
        elif operation.f == "final" and operation.ok:
            _add_final(evidence, operation)
    return evidence


def _transaction(evidence: Evidence, operation: Operation) -> Transaction:
    identity = operation.get("txn")
    if identity not in evidence.transactions:
        evidence.transactions[identity] = Transaction(identity, operation.get("producer"), operation.get("session"))
    return evidence.transactions[identity]


def _add_send(evidence: Evidence, operation: Operation) -> None:
    value = operation.get("value")
    if value in evidence.writes:
        raise ValueError(f"the value {value} is sent twice: a workload must make every value unique")
    evidence.writes[value] = operation
    if operation.get("txn"):
        _transaction(evidence, operation).sends.append(operation)


def _add_final(evidence: Evidence, operation: Operation) -> None:
    isolation = operation.get("isolation")
    partitions: dict[str, list[Spot]] = defaultdict(list)
    for partition, offset, value in operation.get("records"):
        partitions[partition].append((offset, value))
        if isolation == COMMITTED:
            evidence.visible.add(value)
    evidence.final[isolation] = {partition: sorted(spots) for partition, spots in partitions.items()}
    evidence.unstable += operation.get("unstable") or []
