"""Reading whole batches out of a log.

Stateless but for the log's hints. Runs in any thread: takes the log's end first, then its segments, pins the file it
reads, and never looks past what was committed when it began.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

from headrace.storage import batches
from headrace.storage.batches import CorruptLog, Found, ReadAt
from headrace.storage.errors import LogError, OffsetOutOfRange
from headrace.storage.segment import Segment
from headrace.wire.errors import ErrorCode

if TYPE_CHECKING:
    from headrace.storage.log import Log, LogEnd

MAX_HINTS = 64
# Below this a walk from the first batch is as quick as asking the index where the last one starts.
_WORTH_A_SEARCH = 16 * 1024


class Slice(NamedTuple):
    """Whole batches, back to back, as they are in the file."""

    data: memoryview
    segment_base_offset: int = -1
    position: int = -1

    @property
    def buffers(self) -> list[memoryview]:
        return [self.data] if self.data else []


EMPTY = Slice(memoryview(b""))


def read_slice(
    log: Log, offset: int, max_bytes: int, upper_offset: int | None, min_one_batch: bool, nowait: bool
) -> Slice:
    end = log.end
    if offset < log.log_start_offset or offset > end.offset:
        raise _out_of_range(log, offset, end)
    upper = end.offset if upper_offset is None or upper_offset > end.offset else upper_offset
    if offset >= upper or (max_bytes <= 0 and not min_one_batch):
        return EMPTY
    view = log.view
    slot = bisect_right(view.bases, offset) - 1
    if slot < 0:
        raise _out_of_range(log, offset, end)
    for segment in view.segments[slot:] if slot < len(view.bases) - 1 else (view.segments[slot],):
        if segment.base_offset > end.segment_base or segment.base_offset >= upper:
            break
        try:
            found = _read_segment(log, segment, offset, max_bytes, upper, end, min_one_batch, nowait)
        except FileNotFoundError:
            if log.closed:
                raise LogError(ErrorCode.KAFKA_STORAGE_ERROR, f"{log!r} is closed") from None
            if segment in log.segments:
                raise
            # Deleted, truncated away or compacted since we looked: look again.
            return read_slice(log, offset, max_bytes, upper_offset, min_one_batch, nowait)
        if found is not None:
            return found
    # Everything from the offset on was compacted away.
    return EMPTY


def aborted_transactions(log: Log, first_offset: int, upper_offset: int, nowait: bool) -> list[tuple[int, int]]:
    """Taken after the records were read: an abort is in the index before the last stable offset moves past its records."""
    view = log.view
    slot = max(bisect_right(view.bases, first_offset) - 1, 0)
    found: list[tuple[int, int]] = []
    for segment in view.segments[slot:]:
        if not segment.has_aborted:
            continue
        try:
            aborted, complete = segment.collect_aborted(first_offset, upper_offset, nowait=nowait)
        except FileNotFoundError:
            if log.closed:
                raise LogError(ErrorCode.KAFKA_STORAGE_ERROR, f"{log!r} is closed") from None
            if segment in log.segments:
                raise
            if first_offset >= log.log_start_offset:
                # Compacted since we looked.
                return aborted_transactions(log, first_offset, upper_offset, nowait)
            raise _out_of_range(log, first_offset, log.end) from None
        found += [(producer_id, first) for producer_id, first, _, _ in aborted]
        if complete:
            break
    return found


def _out_of_range(log: Log, offset: int, end: LogEnd) -> OffsetOutOfRange:
    return OffsetOutOfRange(
        f"offset {offset} of {log.topic}-{log.partition} is not within {log.log_start_offset}..{end.offset}"
    )


def _read_segment(
    log: Log,
    segment: Segment,
    offset: int,
    max_bytes: int,
    upper: int,
    end: LogEnd,
    min_one_batch: bool,
    nowait: bool,
) -> Slice | None:
    pool = segment.folder.files
    fd = pool.pin(segment.log)
    try:
        read = segment.reader(fd, nowait=nowait)
        limit = end.position if segment.base_offset == end.segment_base else segment.size
        first = locate(log, segment, offset, limit, read, nowait)
        if first is None:
            return None
        if upper < end.offset:
            limit = _limit_for(segment, upper, limit, read, nowait)
        position = first.position
        length = min(max_bytes, limit - position)
        if length < first.size:
            if not min_one_batch or limit <= position:
                return EMPTY
            length = first.size
        data = memoryview(read(length, position))
        next_offset = -1
        if position + length < limit and length != first.size:
            whole = _trim(segment, data, position, upper, nowait)
            data, next_offset = data[: whole.size], whole.next_offset
        elif length == first.size:
            next_offset = first.last_offset + 1
        elif limit == end.position and segment.base_offset == end.segment_base:
            next_offset = end.offset
        if next_offset >= 0:
            _remember(log, next_offset, segment, position + len(data))
        return Slice(data, segment.base_offset, position)
    finally:
        pool.unpin(segment.log)


def locate(log: Log, segment: Segment, offset: int, limit: int, read: ReadAt, nowait: bool) -> Found | None:
    """The batch that holds `offset`, or the first one after it in this segment."""
    hint = log.hints.get(offset)
    if hint is not None and hint[0] is segment:
        found = _find_from(read, offset, hint[1], limit)
        if found is not None:
            return found
    start = segment.position_for(offset, nowait=nowait)
    if 0 < start < limit:
        found = _find_from(read, offset, start, limit)
        if found is not None:
            return found
    # No index entry before it, or an index that is damaged, or nothing there any more: the log itself knows.
    return batches.find(read, offset, 0, limit)


def _find_from(read: ReadAt, offset: int, start: int, limit: int) -> Found | None:
    """A hint or an index entry is believed only if a batch is there and none before it could hold the offset."""
    try:
        found = batches.find(read, offset, start, limit)
    except CorruptLog:
        return None
    if found is None or (found.position == start and found.base_offset > offset):
        return None
    return found


def _limit_for(segment: Segment, upper: int, limit: int, read: ReadAt, nowait: bool) -> int:
    """The position of the first batch that reaches `upper`."""
    start = min(segment.position_for(upper, nowait=nowait), limit)
    found = batches.find(read, upper, start, limit)
    return limit if found is None else found.position


def _trim(segment: Segment, data: memoryview, position: int, upper: int, nowait: bool) -> batches.Whole:
    """Cuts the batch that did not fit off the end."""
    start = 0
    if len(data) > _WORTH_A_SEARCH:
        start = max(0, segment.position_at_or_before(position + len(data), nowait=nowait) - position)
        if start + batches.HEADER_SIZE > len(data):
            start = 0
    return batches.whole_batches(data, start, len(data), upper)


def _remember(log: Log, offset: int, segment: Segment, position: int) -> None:
    hints = log.hints
    if len(hints) >= MAX_HINTS and offset not in hints:
        hints.clear()
    hints[offset] = (segment, position)
