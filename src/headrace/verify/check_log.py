"""What a log promises whatever is written into it: nothing lost, nothing twice, nothing invented, one order."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator

from headrace.verify.anomalies import Anomaly, Kind
from headrace.verify.evidence import COMMITTED, UNCOMMITTED, Evidence
from headrace.verify.history import Operation


def lost_writes(evidence: Evidence) -> Iterator[Anomaly]:
    """Acknowledged outside of transactions, committed, or read once: it must be there in the end."""
    if COMMITTED in evidence.final:
        for value, write in evidence.writes.items():
            if write.ok and not write.get("txn") and value not in evidence.visible:
                where = f"{write.get('partition')}@{write.get('offset')}"
                yield Anomaly(Kind.LOST_WRITE, f"{value} was acknowledged as {where}")
        for txn in evidence.transactions.values():
            # With a part of it visible, the transaction is torn instead.
            values = [send.get("value") for send in txn.sends if send.ok]
            if txn.committed and values and not evidence.visible.intersection(values):
                yield Anomaly(Kind.LOST_WRITE, f"transaction {txn.id} was committed, none of it is there", txn.id)
    yield from _vanished(evidence)


def _vanished(evidence: Evidence) -> Iterator[Anomaly]:
    """Readers of either kind saw it; the log that ends without it has lost it."""
    there = {
        isolation: {value for spots in partitions.values() for _, value in spots}
        for isolation, partitions in evidence.final.items()
    }
    for poll in evidence.polls:
        level = poll.get("isolation")
        for partition, offset, value in poll.get("records") or ():
            if level in there and value not in there[level] and value in evidence.writes:
                txn = evidence.transaction_of(value)
                # An aborted read is named as such; that it is gone later is right.
                if level == COMMITTED and txn is not None and txn.commit_requested is None:
                    continue
                yield Anomaly(
                    Kind.LOST_WRITE,
                    f"{value} was read at {partition}@{offset} by {poll.process}",
                    txn.id if txn else None,
                )


def duplicates(evidence: Evidence) -> Iterator[Anomaly]:
    """A value is sent once, so it may be in the log once, however often the client had to try."""
    seen: dict[str, str] = {}
    level = UNCOMMITTED if UNCOMMITTED in evidence.final else COMMITTED
    for partition, spots in evidence.final.get(level, {}).items():
        for offset, value in spots:
            where = f"{partition}@{offset}"
            if value in seen:
                txn = evidence.transaction_of(value)
                yield Anomaly(Kind.DUPLICATE, f"{value} is at {seen[value]} and at {where}", txn.id if txn else None)
            seen[value] = where


def phantoms(evidence: Evidence) -> Iterator[Anomaly]:
    """Everything that anybody reads was sent by somebody, and not refused."""
    found: dict[str, str] = {}
    for partitions in evidence.final.values():
        for partition, spots in partitions.items():
            found |= {value: f"{partition}@{offset}" for offset, value in spots}
    for poll in evidence.polls:
        found |= {value: f"{partition}@{offset}" for partition, offset, value in poll.get("records") or ()}
    for value, where in found.items():
        write = evidence.writes.get(value)
        if write is None:
            yield Anomaly(Kind.PHANTOM, f"{value} at {where} was never sent")
        elif write.outcome == "fail":
            yield Anomaly(Kind.PHANTOM, f"{value} at {where} was refused when it was sent", write.get("txn"))


def moved_records(evidence: Evidence) -> Iterator[Anomaly]:
    """An offset names one record for ever: in acknowledgements, for every reader, at any time."""
    at: dict[tuple[str, int], tuple[str, str]] = {}
    sightings = [
        (write.get("partition"), write.get("offset"), value, f"acknowledged to {write.process}")
        for value, write in evidence.writes.items()
        if write.ok and write.get("offset") is not None
    ]
    for poll in evidence.polls:
        sightings += [(*record, f"read by {poll.process}") for record in poll.get("records") or ()]
    for isolation, partitions in evidence.final.items():
        for partition, spots in partitions.items():
            sightings += [(partition, offset, value, f"final {isolation}") for offset, value in spots]
    reported = set()
    for partition, offset, value, who in sightings:
        before, by = at.setdefault((partition, offset), (value, who))
        if before != value and (partition, offset, value) not in reported:
            reported.add((partition, offset, value))
            yield Anomaly(Kind.MOVED_RECORD, f"{partition}@{offset} is {before} ({by}) and {value} ({who})")
    yield from _not_where_acknowledged(evidence)


def _not_where_acknowledged(evidence: Evidence) -> Iterator[Anomaly]:
    for partition, spots in evidence.final.get(UNCOMMITTED, {}).items():
        acknowledged = {value for _, value in spots}
        held = {(partition, offset, value) for offset, value in spots}
        for value in acknowledged & evidence.writes.keys():
            write = evidence.writes[value]
            if not write.ok or write.get("offset") is None:
                continue
            if (write.get("partition"), write.get("offset"), value) not in held:
                yield Anomaly(
                    Kind.MOVED_RECORD,
                    f"{value} was acknowledged as {write.get('partition')}@{write.get('offset')} and is elsewhere in {partition}",
                )


def reordered_writes(evidence: Evidence) -> Iterator[Anomaly]:
    """What one session of a producer sent to one partition and had acknowledged lies in the order of sending."""
    sessions: dict[tuple[str, str], list[Operation]] = defaultdict(list)
    for write in evidence.writes.values():
        if write.ok and write.get("session") and write.get("offset") is not None:
            sessions[write.get("session"), write.get("partition")].append(write)
    for writes in sessions.values():
        # One process notes its own sends one after the other, so the history's order is the order of sending.
        for before, after in itertools.pairwise(writes):
            if before.get("offset") >= after.get("offset"):
                yield Anomaly(
                    Kind.REORDERED_WRITE,
                    f"{before.get('value')} was sent first and is at {before.get('offset')}, "
                    f"{after.get('value')} at {after.get('offset')} of {after.get('partition')}",
                )


def acknowledged_offsets_back(evidence: Evidence) -> Iterator[Anomaly]:
    """A write that began after another had been acknowledged gets a higher offset, whoever sent it."""
    partitions: dict[str, list[Operation]] = defaultdict(list)
    for write in evidence.writes.values():
        if write.ok and write.get("offset") is not None:
            partitions[write.get("partition")].append(write)
    for partition, writes in partitions.items():
        ended = sorted(writes, key=lambda write: write.ended or 0)
        highest: Operation | None = None
        done = 0
        for write in sorted(writes, key=lambda write: write.began):
            while done < len(ended) and (ended[done].ended or 0) < write.began:
                if highest is None or ended[done].get("offset") > highest.get("offset"):
                    highest = ended[done]
                done += 1
            if highest is not None and write.get("offset") <= highest.get("offset"):
                yield Anomaly(
                    Kind.OFFSET_WENT_BACK,
                    f"{write.get('value')} got {partition}@{write.get('offset')} after {highest.get('value')} "
                    f"had got {highest.get('offset')}",
                )
