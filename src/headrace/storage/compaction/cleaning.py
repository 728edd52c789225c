"""One round of compaction over a log's closed segments: reads them, writes new ones beside them, changes nothing else.

First the dirty part is walked for the last offset of every key; then every segment up to where that got, in groups that
fit one segment each, is written anew without what has a successor. What it needs to know is in a `Task`, which is plain
data: it travels to the worker process as a line of JSON.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields

from headrace.fs import Fs
from headrace.storage import files
from headrace.storage.compaction import offset_map
from headrace.storage.compaction.filtering import BatchFilter, LastOfProducer
from headrace.storage.compaction.source import Pace, SourceBatch, read_batches
from headrace.storage.compaction.target import Cleaned, CleanedSegment
from headrace.storage.compaction.transactions import PassedTransactions
from headrace.storage.segment import MAX_RELATIVE_OFFSET
from headrace.storage.transaction_index import AbortedTransaction

UNLIMITED = float("inf")


@dataclass(frozen=True, slots=True)
class SourceSegment:
    base_offset: int
    size: int
    offset_index_size: int = 0
    time_index_size: int = 0


@dataclass(frozen=True, slots=True)
class Task:
    folder: str
    # All closed segments below `end`, oldest first.
    segments: tuple[SourceSegment, ...]
    # Dirty is what lies from `start` to before `end`, which is the start of a segment that is not cleaned.
    start: int
    end: int
    now_ms: int
    delete_retention_ms: int
    segment_bytes: int
    segment_index_bytes: int
    index_interval_bytes: int
    max_keys: int
    bytes_per_second: float = UNLIMITED
    producers: tuple[tuple[int, int, int], ...] = ()
    """(producer id, its last offset or -1, its epoch)"""
    aborted: tuple[tuple[int, int, int, int], ...] = ()
    """(producer id, first, last, last stable offset)"""

    def to_json(self) -> str:
        """Not `asdict` of all of it, which takes the better part of a second for many producers."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return json.dumps({**values, "segments": [asdict(segment) for segment in self.segments]})

    @staticmethod
    def from_json(text: str) -> Task:
        values = json.loads(text)
        values["segments"] = tuple(SourceSegment(**segment) for segment in values["segments"])
        for name in ("producers", "aborted"):
            values[name] = tuple(map(tuple, values[name]))
        return Task(**values)


@dataclass(frozen=True, slots=True)
class Finished:
    """The end of a round: the log is clean before `first_dirty_offset`."""

    first_dirty_offset: int
    keys: int
    bytes_read: int
    """Of the dirty part twice: once for its keys."""
    bytes_written: int
    cpu_seconds: float


class Round:
    def __init__(self, task: Task, fs: Fs | None = None) -> None:
        self._task = task
        self._fs = fs or Fs()
        self._pace = Pace(task.bytes_per_second)
        self._aborted = [AbortedTransaction(*fields) for fields in task.aborted]
        self._read = 0
        self._written = 0
        self._began = time.process_time()

    def run(self) -> Iterator[Cleaned | Finished]:
        """Each segment once it is on disk, then the end."""
        task = self._task
        found = self._map_keys()
        segments = [segment for segment in task.segments if segment.base_offset <= found.last_mapped]
        if segments:
            passed = PassedTransactions(self._aborted, segments[0].base_offset)
            batch_filter = BatchFilter(
                found,
                passed,
                {producer_id: LastOfProducer(offset, epoch) for producer_id, offset, epoch in task.producers},
                now_ms=task.now_ms,
                delete_retention_ms=task.delete_retention_ms,
                round_end=task.end,
            )
            for group in group_by_size(segments, task):
                yield self._clean_group(group, batch_filter, passed)
        cpu_seconds = time.process_time() - self._began
        yield Finished(found.last_mapped + 1, len(found.latest), self._read, self._written, cpu_seconds)

    def _map_keys(self) -> offset_map.OffsetMap:
        task = self._task
        ends = [*(segment.base_offset for segment in task.segments), task.end][1:]
        dirty = (
            (self._batches(segment), end) for segment, end in zip(task.segments, ends, strict=True) if end > task.start
        )
        return offset_map.build(dirty, task.start, task.max_keys, self._aborted)

    def _batches(self, segment: SourceSegment) -> Iterator[SourceBatch]:
        self._read += segment.size
        return read_batches(self._fs, self._path(segment), segment.size, self._pace)

    def _path(self, segment: SourceSegment) -> str:
        return f"{self._task.folder}/{files.file_name(segment.base_offset, files.LOG)}"

    def _clean_group(
        self, group: list[SourceSegment], batch_filter: BatchFilter, passed: PassedTransactions
    ) -> Cleaned:
        replaces = tuple(segment.base_offset for segment in group)
        target = CleanedSegment(self._fs, self._task.folder, replaces, self._task.index_interval_bytes, self._pace)
        try:
            for segment in group:
                for batch in self._batches(segment):
                    kept = batch_filter.apply(batch)
                    if kept is not None:
                        target.append(kept.data, batch.header.last_offset, kept.max_timestamp)
            modified_ns = self._fs.stat(self._path(group[-1])).st_mtime_ns
            self._written += target.size
            return target.finish(passed.take_retained(), modified_ns)
        finally:
            target.close()


def group_by_size(segments: list[SourceSegment], task: Task) -> list[list[SourceSegment]]:
    """Neighbours that fit into one segment together, whatever is left of them."""
    groups: list[list[SourceSegment]] = []
    size = offsets = times = 0
    for slot, segment in enumerate(segments):
        after = segments[slot + 1].base_offset if slot + 1 < len(segments) else task.end
        size += segment.size
        offsets += segment.offset_index_size
        times += segment.time_index_size
        fits = (
            groups
            and size <= task.segment_bytes
            and max(offsets, times) <= task.segment_index_bytes
            and (segment.size == 0 or after - 1 - groups[-1][0].base_offset <= MAX_RELATIVE_OFFSET)
        )
        if fits:
            groups[-1].append(segment)
        else:
            groups.append([segment])
            size, offsets, times = segment.size, segment.offset_index_size, segment.time_index_size
    return groups
