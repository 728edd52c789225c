"""What transactions promise: all or nothing, nothing before the commit, nothing after the end of a producer's time."""

from __future__ import annotations

from collections.abc import Iterator

from headrace.verify.anomalies import Anomaly, Kind
from headrace.verify.evidence import COMMITTED, Evidence, Transaction


def aborted_reads(evidence: Evidence) -> Iterator[Anomaly]:
    """read_committed, now or at the end, never shows what nobody asked to commit."""
    reported = set()
    for value, where, _ in _committed_sightings(evidence):
        txn = evidence.transaction_of(value)
        if txn is not None and txn.commit_requested is None and value not in reported:
            reported.add(value)
            yield Anomaly(Kind.ABORTED_READ, f"{value} of transaction {txn.id} seen {where}", txn.id)


def dirty_reads(evidence: Evidence) -> Iterator[Anomaly]:
    """A reader that had its answer before the commit was asked for cannot have seen the result of the commit."""
    for value, where, ended in _committed_sightings(evidence):
        txn = evidence.transaction_of(value)
        if txn is None or txn.commit_requested is None or ended is None:
            continue
        if ended < txn.commit_requested:
            yield Anomaly(Kind.DIRTY_READ, f"{value} of transaction {txn.id} seen {where} before its commit", txn.id)


def _committed_sightings(evidence: Evidence) -> Iterator[tuple[str, str, int | None]]:
    for poll in evidence.polls:
        if poll.get("isolation") == COMMITTED:
            for partition, offset, value in poll.get("records") or ():
                yield value, f"at {partition}@{offset} by {poll.process}", poll.ended
    for partition, spots in evidence.final.get(COMMITTED, {}).items():
        for offset, value in spots:
            yield value, f"at {partition}@{offset} in the final read", None


def torn_transactions(evidence: Evidence) -> Iterator[Anomaly]:
    """Whatever became of a transaction, it became of all its records and offsets alike."""
    if COMMITTED not in evidence.final:
        return
    for txn in evidence.transactions.values():
        values = [send.get("value") for send in txn.sends if send.ok]
        shown = [value for value in values if value in evidence.visible]
        # Without a request to commit every visible record is an aborted read already.
        if txn.commit_requested is not None and shown and len(shown) < len(values):
            missing = next(value for value in values if value not in evidence.visible)
            yield Anomaly(
                Kind.TORN_TRANSACTION,
                f"transaction {txn.id} shows {len(shown)} of {len(values)} records, not {missing}",
                txn.id,
            )
    yield from _records_without_offsets(evidence)


def _records_without_offsets(evidence: Evidence) -> Iterator[Anomaly]:
    """Visible records of a transaction whose offsets were not committed: the group's last word is below them."""
    last = {operation.get("group"): operation.get("offsets") for operation in evidence.committed if operation.ok}
    for txn in evidence.transactions.values():
        if not any(send.get("value") in evidence.visible for send in txn.sends):
            continue
        for operation in txn.offsets:
            held = last.get(operation.get("group"))
            for partition, offset in (operation.get("offsets") or {}).items():
                if operation.ok and held is not None and held.get(partition, 0) < offset:
                    yield Anomaly(
                        Kind.TORN_TRANSACTION,
                        f"transaction {txn.id} shows records, its offset {offset} of {partition} is not committed",
                        txn.id,
                    )


def writes_after_fencing(evidence: Evidence) -> Iterator[Anomaly]:
    """Once a new session has taken a producer over, nothing that an older one begins may succeed or become visible."""
    for txn in evidence.transactions.values():
        fenced = _fenced_at(evidence, txn)
        if fenced is None:
            continue
        late_end = next((end for end in txn.ends if end.ok and end.get("commit") and end.began > fenced), None)
        if late_end is not None:
            yield Anomaly(Kind.WRITE_AFTER_FENCING, f"transaction {txn.id} of {txn.session} was committed", txn.id)
            continue
        for send in txn.sends:
            if send.began > fenced and (send.ok or send.get("value") in evidence.visible):
                yield Anomaly(
                    Kind.WRITE_AFTER_FENCING, f"{send.get('value')} of {txn.session} in transaction {txn.id}", txn.id
                )


def _fenced_at(evidence: Evidence, txn: Transaction) -> int | None:
    """When a later session had certainly taken over from the one of this transaction."""
    inits = evidence.inits.get(txn.producer, [])
    own = next((init for init in inits if init.get("session") == txn.session), None)
    if own is None or own.ended is None:
        return None
    return min((init.ended for init in inits if init.ok and init.began > own.ended and init.ended), default=None)


def hanging_transactions(evidence: Evidence) -> Iterator[Anomaly]:
    """Every producer was taken over before the final read, so nothing may be open any more."""
    for where in evidence.unstable:
        yield Anomaly(Kind.HANGING_TRANSACTION, f"{where} behind its end")


# Either end splits the transaction that it meets: records without their offsets, or offsets without their records.
_SPLIT = (Kind.TORN_TRANSACTION, Kind.DUPLICATE, Kind.SKIPPED_INPUT)
_BY_LATE_COMMIT = frozenset((*_SPLIT, Kind.ABORTED_READ, Kind.DIRTY_READ))
_BY_LATE_ABORT = frozenset((*_SPLIT, Kind.LOST_WRITE, Kind.OFFSET_WENT_BACK))


def is_known_flaw(evidence: Evidence, anomaly: Anomaly) -> bool:
    """Whether an EndTxn that its sender had given up reached the broker during another, later transaction of its producer.

    Version 1 of transactions cannot tell the two apart, because the epoch stays (KIP-890); version 2 can. Only anomalies of the
    very transaction that was open then count, and only those that such an end can make.
    """
    txn = evidence.transactions.get(anomaly.txn or "")
    if txn is None:
        return False
    versions = {init.get("version") for init in evidence.inits.get(txn.producer, [])}
    if versions != {1}:
        return False
    return any(
        late.get("producer") == txn.producer
        and anomaly.kind in (_BY_LATE_COMMIT if late.get("commit") else _BY_LATE_ABORT)
        and late.get("received") < txn.began
        and late.began <= txn.ended
        and (late.ended or float("inf")) >= txn.began
        for late in evidence.late
    )
