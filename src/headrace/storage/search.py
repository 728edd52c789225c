"""Finding records by time: ListOffsets with a timestamp or with "the largest".

The time index says where to begin; from there batches are walked by their headers, and only the one that has the answer
is decoded. Runs in reader threads, under the same rules as `reading`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from headrace.fs import Buffer
from headrace.storage import batches
from headrace.storage.batches import CorruptLog, Found
from headrace.storage.errors import LogError
from headrace.storage.segment import UNKNOWN_TIMESTAMP, Segment
from headrace.wire.batch import Record, decode_records, read_header
from headrace.wire.errors import ErrorCode, WireError

if TYPE_CHECKING:
    from headrace.storage.log import Log, LogEnd


class TimestampOffset(NamedTuple):
    timestamp: int
    offset: int
    leader_epoch: int


def offset_for_timestamp(log: Log, timestamp: int, upper_offset: int | None) -> TimestampOffset | None:
    """The first record at or after the log's start whose timestamp is not smaller; None if it is not below `upper_offset`."""
    end = log.end
    start_offset = log.log_start_offset
    upper = end.offset if upper_offset is None else min(upper_offset, end.offset)
    for segment in log.segments:
        if segment.base_offset >= upper:
            break
        try:
            if segment.largest_timestamp() < timestamp and not segment.log.doomed:
                continue
            found = _search_segment(segment, timestamp, start_offset, end)
        except FileNotFoundError as error:
            _check_gone(log, segment, error)
            # Its records may be in another segment now.
            return offset_for_timestamp(log, timestamp, upper_offset)
        if found is not None:
            return found if found.offset < upper else None
    return None


def _check_gone(log: Log, segment: Segment, error: FileNotFoundError) -> None:
    """A file that is missing is no error if its segment was deleted since we looked."""
    if log.closed:
        raise LogError(ErrorCode.KAFKA_STORAGE_ERROR, f"{log!r} is closed") from error
    if segment in log.segments:
        raise error


def _search_segment(segment: Segment, timestamp: int, start_offset: int, end: LogEnd) -> TimestampOffset | None:
    pool = segment.folder.files
    fd = pool.pin(segment.log)
    try:
        read = segment.reader(fd)
        limit = end.position if segment.base_offset == end.segment_base else segment.size
        position = segment.position_for(max(segment.offset_for_time(timestamp), start_offset))
        while (batch := batches.find(read, start_offset, position, limit, timestamp=timestamp)) is not None:
            epoch, records = _decode(read(batch.size, batch.position))
            for record in records:
                if record.timestamp >= timestamp and record.offset >= start_offset:
                    return TimestampOffset(record.timestamp, record.offset, epoch)
            position = batch.position + batch.size
        return None
    finally:
        pool.unpin(segment.log)


def max_timestamp(log: Log, upper_offset: int | None) -> TimestampOffset | None:
    """The first record that has the largest timestamp in the log; None for a log without timestamps."""
    end = log.end
    upper = end.offset if upper_offset is None else min(upper_offset, end.offset)
    best: Segment | None = None
    for segment in log.segments:
        if segment.max_timestamp == UNKNOWN_TIMESTAMP:
            segment.largest_timestamp()
        if segment.base_offset < upper and (best is None or segment.max_timestamp > best.max_timestamp):
            best = segment
    if best is None or best.max_timestamp < 0:
        return None
    try:
        found = _first_with(best, best.max_timestamp, best.max_timestamp_offset, end)
    except FileNotFoundError as error:
        _check_gone(log, best, error)
        return max_timestamp(log, upper_offset)
    return found if found is not None and log.log_start_offset <= found.offset < upper else None


def _first_with(segment: Segment, timestamp: int, offset: int, end: LogEnd) -> TimestampOffset | None:
    pool = segment.folder.files
    fd = pool.pin(segment.log)
    try:
        read = segment.reader(fd)
        limit = end.position if segment.base_offset == end.segment_base else segment.size
        batch: Found | None = batches.find(read, offset, segment.position_for(offset), limit)
        if batch is None:
            return None
        epoch, records = _decode(read(batch.size, batch.position))
        return next((TimestampOffset(r.timestamp, r.offset, epoch) for r in records if r.timestamp == timestamp), None)
    finally:
        pool.unpin(segment.log)


def _decode(data: Buffer) -> tuple[int, list[Record]]:
    try:
        return read_header(data).partition_leader_epoch, decode_records(data)
    except WireError as error:
        raise CorruptLog(f"records cannot be decoded: {error}") from error
