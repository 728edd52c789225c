"""One partition's log: a row of segments, of which the last is written to.

What it knows is in `log_state`, how it grows in `appending`; here is what else can be asked of it. It knows no high
watermark: callers say up to where a read may go. Threads: see the package's docstring.
"""

from __future__ import annotations

from bisect import bisect_right
from pathlib import Path

from headrace.storage import files, flushing, reading, retention, search, truncation
from headrace.storage.appending import AppendableLog
from headrace.storage.errors import OffsetOutOfRange
from headrace.storage.log_state import Defer, LogEnd, View, run_now
from headrace.storage.reservation import Appended, Reservation
from headrace.storage.segment import Segment


class Log(AppendableLog):
    __slots__ = ()

    @property
    def last_stable_offset(self) -> int:
        """Every transaction with records below it is decided: the first offset of the oldest open one, else the log's end.

        It knows no high watermark either: see the partition's, which is what readers are told.
        """
        end = self._end.offset
        first = self.producers.transactions.first_offset
        return end if first is None or first > end else max(first, self.log_start_offset)

    @property
    def size(self) -> int:
        """Bytes of record batches in all segments."""
        return sum(segment.size for segment in self._view.segments)

    @property
    def path(self) -> Path:
        return Path(self.folder.path)

    # Reading

    def read(
        self,
        offset: int,
        max_bytes: int,
        *,
        upper_offset: int | None = None,
        min_one_batch: bool = True,
        nowait: bool = False,
    ) -> reading.Slice:
        """Whole batches from the one that holds `offset` on, at most `max_bytes` of them, all below `upper_offset`."""
        return reading.read_slice(self, offset, max_bytes, upper_offset, min_one_batch, nowait)

    def aborted_transactions(
        self, first_offset: int, upper_offset: int, *, nowait: bool = False
    ) -> list[tuple[int, int]]:
        """(producer id, first offset) of the aborted transactions that have records in [first_offset, upper_offset).

        The list may hold some that only overlap the range. `nowait` as in `read`: BlockingIOError when it is not cached.
        """
        return reading.aborted_transactions(self, first_offset, upper_offset, nowait)

    def segment_for(self, offset: int) -> Segment:
        """The segment that holds `offset` if any does."""
        view = self._view
        slot = bisect_right(view.bases, offset) - 1
        if slot < 0:
            raise OffsetOutOfRange(f"{self!r} has no segment for offset {offset}")
        return view.segments[slot]

    def offset_for_timestamp(self, timestamp: int, upper_offset: int | None = None) -> search.TimestampOffset | None:
        """The first record that is not older than `timestamp`."""
        return search.offset_for_timestamp(self, timestamp, upper_offset)

    def max_timestamp(self, upper_offset: int | None = None) -> search.TimestampOffset | None:
        """The record with the largest timestamp."""
        return search.max_timestamp(self, upper_offset)

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        return self.leader_epochs.end_offset_for(epoch, self._end.offset)

    # Deleting

    def advance_log_start(self, offset: int, high_watermark: int | None = None) -> bool:
        """Records below `offset` are gone for every reader; their segments go with the next `apply_retention`."""
        limit = self._end.offset if high_watermark is None else high_watermark
        if offset > limit:
            raise OffsetOutOfRange(f"{self!r} cannot start at {offset}, beyond the high watermark {limit}")
        if offset <= self.log_start_offset:
            return False
        self.log_start_offset = offset
        self.leader_epochs.truncate_from_start(offset)
        return True

    def delete_records(self, offset: int, high_watermark: int) -> int:
        """DeleteRecords: -1 means everything. Returns the new log start offset."""
        if offset < -1:
            raise OffsetOutOfRange(f"{offset} is no offset to delete records before")
        self.advance_log_start(high_watermark if offset == -1 else offset, high_watermark)
        return self.log_start_offset

    def apply_retention(self, now_ms: int, high_watermark: int | None = None) -> int:
        """Deletes what retention.ms, retention.bytes and the log start offset give up; how many segments went."""
        return retention.apply(self, now_ms, self._end.offset if high_watermark is None else high_watermark)

    def delete_expired_files(self, now_ms: int) -> int:
        """Removes files renamed to .deleted more than file.delete.delay.ms ago; how many."""
        return retention.delete_expired_files(self, now_ms)

    def truncate_to(self, offset: int, now_ms: int = 0) -> bool:
        """Drops every batch that reaches `offset` or lies above it."""
        return truncation.truncate_to(self, offset, now_ms)

    # Durability

    def flush_due(self, now_ms: int) -> bool:
        """Whether flush.ms has passed with something unflushed."""
        return self._end.offset > self.recovery_point and now_ms - self.last_flush_ms >= self._config.flush_ms

    def flush(self, now_ms: int | None = None) -> None:
        """Makes everything written so far durable and moves the recovery point there. Blocks; any thread."""
        if now_ms is None and self._clock is not None:
            now_ms = self._clock.now_ms()
        flushing.flush(self, now_ms)

    def close(self, *, sync: bool = True) -> None:
        """Writes indexes and the producer snapshot and closes all files. With `sync=False` the caller syncs the disk."""
        if not self.closed:
            assert not self._outstanding, "a log with writes under way cannot be closed"
            self.closed = True
            flushing.close(self, sync)

    def drop(self) -> None:
        """Closes all files and writes nothing: the log is being deleted, or its disk has failed."""
        self.closed = True
        self._outstanding.clear()
        for segment in (*self._view.segments, *self._abandoned):
            segment.forget()


__all__ = ["Appended", "Defer", "Log", "LogEnd", "Reservation", "View", "files", "run_now"]
