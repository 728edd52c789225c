"""What of a log may be cleaned now, and whether it is worth it. Asked by the log's owner.

Cleaned is up to the first segment that is written to or not yet durable, that holds something beyond the last stable
offset, or that has records younger than min.compaction.lag.ms. A log is due once the dirty share of what may be cleaned
is above min.cleanable.dirty.ratio, or once something dirty is older than max.compaction.lag.ms.
"""

from __future__ import annotations

import logging
from typing import NamedTuple

from headrace.storage import batches, files
from headrace.storage.compaction.cleaning import SourceSegment, Task
from headrace.storage.config import MAX_LONG
from headrace.storage.log import Log
from headrace.storage.segment import UNKNOWN_TIMESTAMP, Segment
from headrace.wire.batch import read_header

LastOfProducers = tuple[tuple[int, int, int], ...]
logger = logging.getLogger("headrace.storage")


class Cleanable(NamedTuple):
    """The clean part lies before `start`, the part that may be cleaned from there to before `end`."""

    start: int
    end: int
    clean_bytes: int
    dirty_bytes: int
    overdue_ms: int

    @property
    def dirty_ratio(self) -> float:
        total = self.clean_bytes + self.dirty_bytes
        return self.dirty_bytes / total if total else 0.0

    def is_due(self, min_dirty_ratio: float) -> bool:
        return (self.overdue_ms > 0 and self.dirty_bytes > 0) or self.dirty_ratio > min_dirty_ratio


def assess(log: Log, cleaned_to: int | None, now_ms: int, last_stable_offset: int) -> Cleanable:
    """What may be cleaned of a log that was cleaned up to `cleaned_to`, if it ever was."""
    start = _first_dirty_offset(log, cleaned_to)
    segments = log.segments
    end = max(start, _end(log, segments, start, now_ms, last_stable_offset))
    # The start of the segment that holds the first offset not to be cleaned, as far as it has been begun.
    end = max((segment.base_offset for segment in segments if segment.base_offset <= end), default=end)
    clean = dirty = 0
    for slot, segment in enumerate(segments[:-1]):
        after = segments[slot + 1].base_offset
        if segment.base_offset < start:
            clean += segment.size
        if after > start and segment.base_offset < end:
            dirty += segment.size
    return Cleanable(start, end, clean, dirty, _overdue_ms(log, segments, start, now_ms))


def _first_dirty_offset(log: Log, cleaned_to: int | None) -> int:
    start = log.log_start_offset
    if cleaned_to is None or cleaned_to < start:
        return start
    if cleaned_to > log.log_end_offset:
        logger.warning("%r was clean up to %d, which is beyond its end: all of it is dirty now", log, cleaned_to)
        return start
    return cleaned_to


def _end(log: Log, segments: tuple[Segment, ...], start: int, now_ms: int, last_stable_offset: int) -> int:
    end = min(last_stable_offset, log.active.base_offset)
    lag_ms = log.config.min_compaction_lag_ms
    for slot, segment in enumerate(segments[:-1]):
        if segment.base_offset >= end:
            break
        is_young = lag_ms > 0 and segments[slot + 1].base_offset > start
        if segment.held or (is_young and segment.largest_timestamp() > now_ms - lag_ms):
            return segment.base_offset
    return end


def _overdue_ms(log: Log, segments: tuple[Segment, ...], start: int, now_ms: int) -> int:
    """By how much the oldest dirty segment exceeds max.compaction.lag.ms. A segment is as old as its first batch."""
    lag_ms = log.config.max_compaction_lag_ms
    if lag_ms >= MAX_LONG:
        return 0
    dirty = [segment for slot, segment in enumerate(segments[:-1]) if segments[slot + 1].base_offset > start]
    oldest = min((time for segment in dirty if (time := _first_timestamp(segment)) > 0), default=now_ms)
    return max(0, now_ms - lag_ms - oldest)


def _first_timestamp(segment: Segment) -> int:
    if segment.first_timestamp == UNKNOWN_TIMESTAMP and segment.size:
        pool = segment.folder.files
        fd = pool.pin(segment.log)
        try:
            first = segment.folder.fs.pread(fd, batches.HEADER_SIZE, 0)
        finally:
            pool.unpin(segment.log)
        segment.first_timestamp = read_header(first).max_timestamp
    return segment.first_timestamp


def last_of_producers(log: Log) -> LastOfProducers:
    """Where each producer has got to: what the round must keep of it."""
    return tuple((key, entry.last_offset, entry.epoch) for key, entry in log.producers.entries.items())


def make_task(
    log: Log,
    cleanable: Cleanable,
    producers: LastOfProducers,
    now_ms: int,
    max_keys: int,
    bytes_per_second: float,
) -> Task:
    """Everything that the worker needs to know. Asks the disk for it, so that the log's owner may want a thread to do it."""
    config = log.config
    stat, join = log.folder.fs.stat, log.folder.join

    def source(segment: Segment) -> SourceSegment:
        names = (files.file_name(segment.base_offset, suffix) for suffix in (files.OFFSET_INDEX, files.TIME_INDEX))
        return SourceSegment(segment.base_offset, segment.size, *(stat(join(name)).st_size for name in names))

    return Task(
        folder=log.folder.path,
        segments=tuple(source(segment) for segment in log.segments if segment.base_offset < cleanable.end),
        start=cleanable.start,
        end=cleanable.end,
        now_ms=now_ms,
        delete_retention_ms=config.delete_retention_ms,
        segment_bytes=config.segment_bytes,
        segment_index_bytes=config.segment_index_bytes,
        index_interval_bytes=config.index_interval_bytes,
        max_keys=max_keys,
        bytes_per_second=bytes_per_second,
        producers=producers,
        aborted=tuple(_aborted(log)),
    )


def _aborted(log: Log) -> list[tuple[int, int, int, int]]:
    """All of them: a transaction may begin in a segment that is cleaned and end in one that is not."""
    found: list[tuple[int, int, int, int]] = []
    for segment in log.segments:
        if segment.has_aborted:
            found += segment.collect_aborted(0, MAX_LONG)[0]
    return found
