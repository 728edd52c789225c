"""The growing end of a log: batches are judged, get their place, and become visible.

An append has three steps: `reserve` judges the batch, gives it offsets and a place; `Reservation.write` puts the bytes
there; `commit` makes it visible. Several may be under way when a disk is slow; after a write that failed, `abandon` takes
all of them back. Reading, deleting and durability are added by `log.Log`, and nobody uses one without the other.
"""

from __future__ import annotations

import random

from headrace.storage import flushing, leftovers, validation
from headrace.storage.errors import AppendError
from headrace.storage.index import SegmentIndex
from headrace.storage.log_state import LogEnd, LogState, View
from headrace.storage.open_transactions import CompletedTransaction, StartedTransaction
from headrace.storage.producers import completed, started
from headrace.storage.reservation import Appended, Reservation
from headrace.storage.segment import MAX_RELATIVE_OFFSET, Segment
from headrace.wire.batch import BatchHeader, check_crc, patch, set_append_time
from headrace.wire.control import Marker
from headrace.wire.errors import ErrorCode

TRANSACTIONAL = 0x10
CONTROL = 0x20
# What a named tuple's own constructor comes down to, at half the price; used where it runs for every batch.
_new = tuple.__new__


class AppendableLog(LogState):
    __slots__ = ()

    def append(
        self,
        batch: memoryview,
        *,
        leader_epoch: int,
        now_ms: int,
        origin: str = "client",
        transaction_version: int = 0,
    ) -> Appended:
        """Reserve, write and commit in one go, when nothing else is under way. AppendError or OSError: nothing changed."""
        reservation = self.reserve(
            batch, leader_epoch=leader_epoch, now_ms=now_ms, origin=origin, transaction_version=transaction_version
        )
        try:
            reservation.write()
        except BaseException:
            self.abandon()
            raise
        return self.commit(reservation)

    def reserve(
        self,
        batch: memoryview,
        *,
        leader_epoch: int,
        now_ms: int,
        origin: str = "client",
        transaction_version: int = 0,
        records_checked: bool = False,
    ) -> Reservation:
        """Judges a batch and gives it offsets and a place in a segment; writes offsets and epoch into its header.

        `transaction_version` is that of the transaction which a marker ends; it decides which epochs are too old.
        `records_checked` says that `validation.check_records` has been asked already, where that takes nobody's time.
        """
        if self.closed:
            raise AppendError(ErrorCode.KAFKA_STORAGE_ERROR, f"{self!r} is closed")
        header = validation.read_one_batch(batch)
        config = self._config
        if origin == "client":
            validation.check_client_batch(header, batch, config, now_ms)
            if self._decodes and not records_checked:
                validation.check_records(batch, config, now_ms)
            if header[9] >= 0:
                duplicate = self.producers.judge(header, self._next_offset)
                if duplicate is not None:
                    return self._reserve_nothing(duplicate.first_offset, duplicate.last_offset, duplicate.timestamp)
        if len(batch) > config.segment_bytes:
            raise AppendError(
                ErrorCode.RECORD_LIST_TOO_LARGE,
                f"the record batch has {len(batch)} bytes, more than segment.bytes={config.segment_bytes}",
            )
        append_time_ms, max_timestamp = -1, header[8]
        if origin == "replication":
            first_offset, leader_epoch = self._check_replicated(header, batch)
        else:
            first_offset = self._next_offset
        marker: Marker | None = None
        if origin != "client" and header[9] >= 0:
            if header[5] & CONTROL:
                marker = validation.read_marker(batch)
                if marker is not None and origin == "coordinator":
                    self.producers.check_marker(header, marker, first_offset, transaction_version)
            elif origin == "coordinator":
                self.producers.check(header, first_offset, sequence=False)
        if origin != "replication":
            if config.message_timestamp_type == "LogAppendTime":
                append_time_ms = max_timestamp = now_ms
                set_append_time(batch, now_ms)
            patch(batch, first_offset, leader_epoch)
        return self._place(header, batch, first_offset, leader_epoch, max_timestamp, append_time_ms, now_ms, marker)

    def _place(
        self,
        header: BatchHeader,
        batch: memoryview,
        first_offset: int,
        leader_epoch: int,
        max_timestamp: int,
        append_time_ms: int,
        now_ms: int,
        marker: Marker | None,
    ) -> Reservation:
        last_offset = first_offset + header[6]
        size = len(batch)
        tail = self._tail
        if self._must_roll(tail, size, last_offset, max_timestamp, now_ms):
            tail = self._reserve_segment(first_offset, now_ms)
        if self._tail_size == 0:
            tail.first_timestamp = max_timestamp
        reservation = Reservation(
            tail, self._tail_size, batch, first_offset, last_offset, leader_epoch, max_timestamp, append_time_ms
        )
        producer_id = header[9]
        if producer_id >= 0:
            reservation.producer_id = producer_id
            if header[5] & CONTROL:
                self._reserve_marker(reservation, header, marker)
            else:
                reservation.producer_before = before = self.producers.update(header, first_offset, max_timestamp)
                if header[5] & TRANSACTIONAL:
                    reservation.transaction = started(before, header, first_offset)
        self._tail_size += size
        self._next_offset = last_offset + 1
        self._outstanding.append(reservation)
        return reservation

    def _reserve_marker(self, reservation: Reservation, header: BatchHeader, marker: Marker | None) -> None:
        if marker is None:
            # Compaction at a leader has emptied it: what it ended is gone.
            reservation.producer_id = -1
            return
        before = self.producers.end_transaction(header, marker, reservation.max_timestamp)
        reservation.producer_before = before
        reservation.transaction = completed(before, header, marker, reservation.first_offset)

    def _check_replicated(self, header: BatchHeader, batch: memoryview) -> tuple[int, int]:
        """A leader's batch keeps its offsets and epoch; it must continue this log."""
        if not check_crc(batch):
            raise AppendError(ErrorCode.CORRUPT_MESSAGE, "the CRC of the replicated batch does not match its bytes")
        if header.base_offset < self._next_offset:
            raise AppendError(
                ErrorCode.INVALID_RECORD,
                f"the replicated batch starts at {header.base_offset}, before the log end offset {self._next_offset}",
            )
        return header.base_offset, header.partition_leader_epoch

    def _reserve_nothing(self, first_offset: int, last_offset: int, timestamp: int) -> Reservation:
        """A duplicate writes nothing, but is answered in its turn: the original may still be on its way to the disk."""
        reservation = Reservation(self._tail, 0, None, first_offset, last_offset, -1, -1, timestamp)
        self._outstanding.append(reservation)
        return reservation

    def _must_roll(self, tail: Segment, size: int, last_offset: int, max_timestamp: int, now_ms: int) -> bool:
        config = self._config
        used = self._tail_size
        if used + size > config.segment_bytes or last_offset - tail.base_offset > MAX_RELATIVE_OFFSET:
            return True
        if used == 0:
            return False
        # Kafka counts segment.ms from the first batch's timestamp to the new one's, and by the clock if it has none.
        first = tail.first_timestamp
        waited = max_timestamp - first if first >= 0 else now_ms - tail.created_ms
        if waited > config.segment_ms - tail.roll_jitter_ms:
            return True
        outstanding = len(self._outstanding)
        due = outstanding or tail.bytes_since_index > config.index_interval_bytes
        return bool(due) and tail.is_index_full(config, outstanding)

    def _reserve_segment(self, base_offset: int, now_ms: int) -> Segment:
        """A segment for the next batch. Its file is made by the first write, and it is seen after the first commit."""
        segment = Segment(self.folder, base_offset, created_ms=now_ms)
        if self._config.segment_jitter_ms:
            jitter = min(self._config.segment_jitter_ms, self._config.segment_ms)
            segment.roll_jitter_ms = random.randrange(jitter + 1)  # noqa: S311 - spreads load, protects nothing
        if self._config.preallocate:
            segment.preallocate = self._config.segment_bytes
        self.pending_snapshots[base_offset] = dict(self.producers.entries)
        self._tail = segment
        self._tail_size = 0
        return segment

    def commit(self, reservation: Reservation) -> Appended:
        """Makes a written batch visible. Reservations are committed in the order they were made."""
        if self._outstanding.pop(0) is not reservation:
            raise AssertionError("reservations are committed in the order they were made")
        last_offset = reservation.last_offset
        rolled = False
        if not reservation.duplicate:
            segment = reservation.segment
            if segment.index is None:
                self._activate(segment)
                rolled = True
            segment.committed(
                reservation.position,
                reservation.size,
                last_offset,
                reservation.max_timestamp,
                self._config.index_interval_bytes,
            )
            if reservation.leader_epoch != self.leader_epochs.latest:
                self.leader_epochs.assign(reservation.leader_epoch, reservation.first_offset)
            self.producers.end_offset = last_offset + 1
            if reservation.transaction is not None:
                self._commit_transaction(reservation.transaction, segment)
            self._end = _new(LogEnd, (last_offset + 1, segment.base_offset, segment.size))
        if rolled:
            # Last, because a job that is run at once may fail: the batch is committed all the same.
            self.defer(self.finish_rolled)
        return _new(
            Appended,
            (
                reservation.first_offset,
                last_offset,
                reservation.append_time_ms,
                self.log_start_offset,
                reservation.duplicate,
                self._end[0] - self.recovery_point >= self._config.flush_messages,
            ),
        )

    def _commit_transaction(self, transaction: StartedTransaction | CompletedTransaction, segment: Segment) -> None:
        """Before the log's end moves, so that no reader takes a record of an open transaction for a stable one; an abort
        is in the index before the last stable offset moves past it."""
        transactions = self.producers.transactions
        if isinstance(transaction, StartedTransaction):
            transactions.start(transaction)
            return
        if transaction.aborted:
            segment.add_aborted(transactions.index_entry(transaction))
        transactions.complete(transaction)

    def _activate(self, segment: Segment) -> None:
        """The first batch of a new segment is written: it becomes the active one, the last one is finished behind it."""
        self.active.add_last_time_entry()
        segment.activate(SegmentIndex())
        self._view = View.of((*self._view.segments, segment))

    def abandon(self) -> None:
        """Takes back every outstanding reservation after a write failed. Writes of them that have not begun never will."""
        unseen: dict[int, Segment] = {}
        for reservation in reversed(self._outstanding):
            reservation.abandoned = True
            if reservation.producer_id >= 0:
                self.producers.undo(reservation.producer_id, reservation.producer_before)
            if reservation.segment.index is None:
                unseen[reservation.segment.base_offset] = reservation.segment
        self._outstanding.clear()
        self._tail = self.active
        self._tail_size = self._tail.size
        self._next_offset = self._end.offset
        for base_offset, segment in unseen.items():
            self.pending_snapshots.pop(base_offset, None)
            # A writer thread may be writing to it right now: its file is closed with the log.
            self._abandoned.append(segment)
            if segment.held:
                leftovers.unlink_abandoned(self.folder, base_offset)

    def roll(self, now_ms: int) -> Segment:
        """Starts a new segment now, unless the active one is empty. Nothing may be outstanding."""
        assert not self._outstanding, "a log with writes under way is not rolled by hand"
        if self._tail_size == 0:
            return self._tail
        segment = self._reserve_segment(self._next_offset, now_ms)
        try:
            segment.create()
        except OSError:
            self.pending_snapshots.pop(segment.base_offset, None)
            self._abandoned.append(segment)
            self._tail, self._tail_size = self.active, self.active.size
            raise
        self._activate(segment)
        self._end = LogEnd(self._next_offset, segment.base_offset, 0)
        self.defer(self.finish_rolled)
        return segment

    def finish_rolled(self) -> None:
        """Makes segments that are no longer written to durable and lets go of their memory. Any thread."""
        flushing.finish_rolled(self)
