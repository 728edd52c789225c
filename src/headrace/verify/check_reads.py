"""What a reader may rely on: offsets that only grow, and nothing left out on the way. Also for offsets that groups commit."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class _Floor:
    """From this time on, a group's offset is no lower than this; `txn` is the transaction that committed it, if one did."""

    since: int
    offset: int
    txn: str | None


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
            valid = [floor for floor in known if floor.since < ask.began]
            floor = max(valid, key=lambda floor: floor.offset, default=None)
            if floor is not None and held.get(partition, 0) < floor.offset:
                yield Anomaly(
                    Kind.OFFSET_WENT_BACK,
                    f"group {group} held {partition}@{floor.offset}, later {held.get(partition, 0)}",
                    floor.txn,
                )


def _floors(evidence: Evidence) -> dict[tuple[str, str], list[_Floor]]:
    floors: dict[tuple[str, str], list[_Floor]] = defaultdict(list)

    def add(operation: Operation, since: int, txn: str | None) -> None:
        for partition, offset in (operation.get("offsets") or {}).items():
            floors[operation.get("group"), partition].append(_Floor(since, offset, txn))

    for ask in evidence.committed:
        if ask.ok and ask.ended:
            add(ask, ask.ended, None)
    for txn in evidence.transactions.values():
        ended = next((end.ended for end in txn.ends if end.ok and end.get("commit")), None)
        for operation in txn.offsets:
            if ended and operation.ok:
                add(operation, ended, txn.id)
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
                _suspect(evidence, values),
            )
    attempts = {tuple(write.get("source")): write for write in evidence.writes.values() if write.get("source")}
    last = {operation.get("group"): operation for operation in evidence.committed if operation.ok}
    for operation in last.values():
        for partition, end in operation.get("offsets").items():
            for offset, value in evidence.between("read_committed", partition, -1, end):
                if (partition, offset) not in outputs:
                    tried = attempts.get((partition, offset))
                    yield Anomaly(
                        Kind.SKIPPED_INPUT,
                        f"{value} at {partition}@{offset} is below the committed {end}, without an output",
                        tried.get("txn") if tried else None,
                    )


def _suspect(evidence: Evidence, values: list[str]) -> str | None:
    """Of the transactions behind several outputs of one input, the one whose commit the client does not know of."""
    transactions = [txn for value in sorted(values) if (txn := evidence.transaction_of(value)) is not None]
    unsure = [txn for txn in transactions if not txn.committed]
    return next((txn.id for txn in unsure + transactions), None)
