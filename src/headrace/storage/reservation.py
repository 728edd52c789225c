"""A batch on its way into a log: judged and given its place, not yet visible to anyone."""

from __future__ import annotations

from typing import NamedTuple

from headrace.storage.open_transactions import CompletedTransaction, StartedTransaction
from headrace.storage.producer_entry import ProducerEntry
from headrace.storage.segment import Segment


class Appended(NamedTuple):
    """What the producer is told."""

    first_offset: int
    last_offset: int
    append_time_ms: int
    log_start_offset: int
    duplicate: bool
    flush_due: bool


class Reservation:
    """Made by `Log.reserve`; `write` it, then give it to `Log.commit`, in the order of reserving."""

    __slots__ = (
        "abandoned",
        "append_time_ms",
        "batch",
        "duplicate",
        "first_offset",
        "last_offset",
        "leader_epoch",
        "max_timestamp",
        "position",
        "producer_before",
        "producer_id",
        "segment",
        "size",
        "transaction",
    )

    def __init__(
        self,
        segment: Segment,
        position: int,
        batch: memoryview | None,
        first_offset: int,
        last_offset: int,
        leader_epoch: int,
        max_timestamp: int,
        append_time_ms: int,
    ) -> None:
        self.segment = segment
        self.position = position
        self.batch = batch
        self.size = 0 if batch is None else len(batch)
        self.first_offset = first_offset
        self.last_offset = last_offset
        self.leader_epoch = leader_epoch
        self.max_timestamp = max_timestamp
        self.append_time_ms = append_time_ms
        self.duplicate = batch is None
        self.abandoned = False
        self.producer_id = -1
        self.producer_before: ProducerEntry | None = None
        # What the batch begins or ends, once it is committed.
        self.transaction: StartedTransaction | CompletedTransaction | None = None

    def write(self) -> None:
        """Puts the bytes into the page cache. Safe in a writer thread: nobody else writes to these positions, and the
        segment's file stays open until every reservation in it is committed or abandoned. OSError is the disk's."""
        if self.abandoned:
            raise OSError("an earlier write to this log failed")
        if self.batch is not None:
            segment = self.segment
            if not segment.held:
                segment.create()
            segment.write(self.batch, self.position)
