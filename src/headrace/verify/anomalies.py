"""The kinds of broken promises, and one found case of them."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Kind(enum.StrEnum):
    """What can go wrong; the value is its name for people."""

    LOST_WRITE = "lost write"
    DUPLICATE = "duplicate"
    SKIPPED_INPUT = "skipped input"
    PHANTOM = "phantom record"
    MOVED_RECORD = "moved record"
    REORDERED_WRITE = "reordered write"
    ABORTED_READ = "aborted read"
    DIRTY_READ = "dirty read"
    TORN_TRANSACTION = "torn transaction"
    WRITE_AFTER_FENCING = "write after fencing"
    HANGING_TRANSACTION = "hanging transaction"
    OFFSET_WENT_BACK = "offset went back"
    NON_MONOTONIC_READ = "non-monotonic read"
    SKIPPED_READ = "skipped read"


MEANING = {
    Kind.LOST_WRITE: "acknowledged, committed or read before, and not there at the end",
    Kind.DUPLICATE: "one write in the log twice, or one input transformed twice",
    Kind.SKIPPED_INPUT: "an input below its group's committed offset without an output",
    Kind.PHANTOM: "a record that nobody wrote",
    Kind.MOVED_RECORD: "one record at two offsets, or two records at one offset",
    Kind.REORDERED_WRITE: "acknowledged writes of one producer in another order than sent",
    Kind.ABORTED_READ: "read_committed saw a record whose commit was never asked for",
    Kind.DIRTY_READ: "read_committed saw a record before its commit was asked for",
    Kind.TORN_TRANSACTION: "one part of a transaction is visible without the other",
    Kind.WRITE_AFTER_FENCING: "a producer wrote or committed after its successor had taken over",
    Kind.HANGING_TRANSACTION: "the last stable offset does not reach the end though every transaction has ended",
    Kind.OFFSET_WENT_BACK: "an acknowledged or committed offset lower than an earlier one",
    Kind.NON_MONOTONIC_READ: "a reader saw an offset again, or a lower one",
    Kind.SKIPPED_READ: "a reader went past a record that was there",
}


@dataclass(frozen=True, slots=True)
class Anomaly:
    """One case. `txn` is the transaction it is about; `known_flaw` says that version 1 of transactions allows it here."""

    kind: Kind
    detail: str
    txn: str | None = None
    known_flaw: bool = False
