"""What a reader may rely on: offsets that only grow, and nothing left out on the way. Also for offsets that groups commit."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from headrace.verify.anomalies import Anomaly, Kind
from headrace.verify.evidence import Evidence
from headrace.verify.history import Operation


def non_monotonic_reads(evidence: Evidence) -> Iterator[Anomaly]:
    """Within one session, which ends with every seek and every new assignment, a partition's offsets grow."""
    for process, partition, _, before, after in _steps(evidence):
        if after <= before:
            yield Anomaly(Kind.NON_MONOTONIC_READ, f"{process} read {partition}@{after} after {before} without a seek")


def skipped_reads(evidence: Evidence) -> Iterator[Anomaly]:
    """Between two records that a reader got one after the other, the final read shows nothing else."""
    for process, partition, isolation, before, after in _steps(evidence):
        missed = evidence.between(isolation, partition, before, after)
        if missed:
            offset, value = missed[0]
            txn = evidence.transaction_of(value)
            yield Anomaly(
                Kind.SKIPPED_READ,
                f"{process} went from {partition}@{before} to {after}, {value} is at {offset}",
                txn.id if txn else None,
            )


def _steps(evidence: Evidence) -> Iterator[tuple[str, str, str, int, int]]:
    """Every two records that a session read one after the other from a partition."""
    positions: dict[tuple[str, str, str], int] = {}
    for poll in evidence.polls:
        for partition, offset, _ in poll.get("records") or ():
            key = (poll.process, str(poll.get("session")), partition)
            if key in positions:
                yield poll.process, partition, poll.get("isolation"), positions[key], offset
            positions[key] = offset


def committed_offsets_back(evidence: Evidence) -> Iterator[Anomaly]:
    """A group's committed offset is never below one that was seen, or whose transaction was committed, before asking."""
    floors = _floors(evidence)
    for ask in evidence.committed:
        if not ask.ok:
            continue
        held = ask.get("offsets") or {}
        for (group, partition), known in floors.items():
            if group != ask.get("group"):
                continue
            floor = max((offset for ended, offset in known if ended < ask.began), default=0)
            if held.get(partition, 0) < floor:
                yield Anomaly(
                    Kind.OFFSET_WENT_BACK,
                    f"group {group} held {partition}@{floor}, later {held.get(partition, 0)}",
                )


def _floors(evidence: Evidence) -> dict[tuple[str, str], list[tuple[int, int]]]:
    floors: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)

    def add(group: str, operation: Operation, ended: int) -> None:
        for partition, offset in (operation.get("offsets") or {}).items():
            floors[group, partition].append((ended, offset))

    for ask in evidence.committed:
        if ask.ok and ask.ended:
            add(ask.get("group"), ask, ask.ended)
    for txn in evidence.transactions.values():
        ended = next((end.ended for end in txn.ends if end.ok and end.get("commit")), None)
        for operation in txn.offsets:
            if ended and operation.ok:
                add(operation.get("group"), operation, ended)
    return floors


def transformed_once(evidence: Evidence) -> Iterator[Anomaly]:
    """Every input below the group's committed offset has one visible output; none has two."""
    outputs: dict[tuple[str, int], list[str]] = defaultdict(list)
    for value in evidence.visible:
        write = evidence.writes.get(value)
        if write is not None and write.get("source"):
            outputs[tuple(write.get("source"))].append(value)
    for (partition, offset), values in outputs.items():
        if len(values) > 1:
            yield Anomaly(
                Kind.DUPLICATE,
                f"{partition}@{offset} was transformed into {' and '.join(sorted(values))}",
                evidence.writes[sorted(values)[-1]].get("txn"),
            )
    attempts = {tuple(write.get("source")): write for write in evidence.writes.values() if write.get("source")}
    last = {operation.get("group"): operation for operation in evidence.committed if operation.ok}
    for operation in last.values():
        for partition, end in operation.get("offsets").items():
            for offset, value in evidence.between("read_committed", partition, -1, end):
                if (partition, offset) not in outputs:
                    tried = attempts.get((partition, offset))
                    yield Anomaly(
                        Kind.LOST_WRITE,
                        f"{value} at {partition}@{offset} is below the committed {end}, without an output",
                        tried.get("txn") if tried else None,
                    )
