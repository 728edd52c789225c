"""Cutting a log from the end: what a follower does when its leader knows better."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.storage import batches, files, index, transaction_index
from headrace.storage.index import CorruptIndex, SegmentIndex
from headrace.storage.rebuild import choose_snapshot, replay
from headrace.storage.retention import delete_segments, rename_deleted
from headrace.storage.segment import NO_TIMESTAMP, Segment

if TYPE_CHECKING:
    from headrace.storage.log import Log


def truncate_to(log: Log, offset: int, now_ms: int) -> bool:
    if offset < 0:
        raise ValueError(f"a log cannot be truncated to offset {offset}")
    assert not log.outstanding, "a log with writes under way is not truncated"
    with log.io:
        if offset >= log.log_end_offset:
            log.leader_epochs.truncate_from_end(log.log_end_offset)
            return False
        kept = tuple(segment for segment in log.segments if segment.base_offset <= offset)
        _delete(log, kept, log.segments[len(kept) :], now_ms)
        if kept:
            _cut_segment(kept[-1], offset, now_ms)
        else:
            kept = (Segment(log.folder, offset, created_ms=now_ms),)
            kept[0].create()
            kept[0].activate(SegmentIndex())
        log.hints.clear()
        log.log_start_offset = min(log.log_start_offset, offset)
        log.recovery_point = min(log.recovery_point, offset)
        log.leader_epochs.truncate_from_end(offset)
        log.replace_segments(kept, offset)
        _reload_producers(log, offset)
        return True


def _delete(log: Log, kept: tuple[Segment, ...], deleted: tuple[Segment, ...], now_ms: int) -> None:
    """The last one first, and all of them before the cut: a crash on the way leaves a log without a gap."""
    if kept:
        log.keep_segments(kept)
    # At once: the next segment may get the name of one of these.
    rename_deleted(log, delete_segments(log, reversed(deleted)), now_ms)


def _cut_segment(segment: Segment, offset: int, now_ms: int) -> None:
    """Makes it the active segment again, without the batches that reach `offset`."""
    entries = segment.index or _load_index(segment)
    segment.activate(entries)
    read = segment.reader(segment.log.fd)
    found = batches.find(read, offset, entries.position_for(offset - segment.base_offset), segment.size)
    if found is not None:
        segment.folder.fs.truncate(segment.log.fd, found.position)
        segment.size = found.position
    _cut_aborted(segment, offset)
    entries.cut(offset - segment.base_offset)
    segment.max_timestamp, segment.max_timestamp_offset = NO_TIMESTAMP, segment.base_offset
    start = 0
    if entries.timestamps:
        segment.max_timestamp = entries.timestamps[-1]
        segment.max_timestamp_offset = segment.base_offset + entries.time_offsets[-1]
        start = entries.position_for(entries.time_offsets[-1])
    position: int | None = start
    while position is not None:
        later = batches.find(read, 0, position, segment.size, timestamp=segment.max_timestamp + 1)
        position = None
        if later is not None:
            segment.max_timestamp, segment.max_timestamp_offset = later.max_timestamp, later.last_offset
            position = later.position + later.size
    segment.bytes_since_index = segment.size - (entries.positions[-1] if entries.positions else 0)
    if segment.size == 0:
        segment.created_ms = now_ms


def _cut_aborted(segment: Segment, offset: int) -> None:
    """In the file at once: what follows the cut may soon have markers at the same offsets. But not before the log is cut,
    for whose records it speaks: a start drops entries of markers that are not there, it does not look for missing ones."""
    if not segment.has_aborted:
        return
    if segment.aborted is None:
        name = files.file_name(segment.base_offset, files.TXN_INDEX)
        data = segment.folder.fs.read_file(segment.folder.join(name))
        segment.aborted = transaction_index.parse(data, segment.base_offset)
    segment.aborted.cut(offset)
    segment.write_aborted(sync=False)


def _load_index(segment: Segment) -> SegmentIndex:
    fs, join = segment.folder.fs, segment.folder.join
    try:
        return index.parse(
            fs.read_file(join(files.file_name(segment.base_offset, files.OFFSET_INDEX))),
            fs.read_file(join(files.file_name(segment.base_offset, files.TIME_INDEX))),
        )
    except (CorruptIndex, FileNotFoundError):
        # Sparse enough to be empty: the entries to come will do.
        return SegmentIndex()


def _reload_producers(log: Log, offset: int) -> None:
    for base in [base for base in log.pending_snapshots if base > offset]:
        del log.pending_snapshots[base]
    names = log.folder.fs.listdir(log.folder.path)
    for name in names:
        if name.endswith(files.SNAPSHOT) and (files.offset_of(name) or 0) > offset:
            log.folder.fs.unlink(log.folder.join(name))
    producers, log.snapshot_offset = choose_snapshot(log.folder, names, log.log_start_offset, offset)
    replay(log.segments, producers, offset)
    log.producers = producers
