"""Making a log durable: fsync, index files, producer snapshots, the leader epoch file, and only then the recovery point.

Runs in any thread under the log's `io` lock. It looks at the end of the log first and at the segments after that, so
whatever it calls flushed is in the segments it flushed.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from headrace.storage import checkpoint, files, producer_snapshot
from headrace.storage.producer_entry import ProducerEntry
from headrace.storage.segment import Segment

if TYPE_CHECKING:
    from headrace.storage.log import Log
    from headrace.storage.log_state import LogState

_SMALL_LOG = 64 * 1024


def flush(log: Log, now_ms: int | None) -> None:
    with log.io:
        if log.closed:
            return
        end = log.end.offset
        if end > log.recovery_point or log.leader_epochs.dirty:
            segments = log.segments
            _finish(log, segments[:-1])
            _flush_active(segments[-1])
            write_leader_epochs(log, sync=True)
            _sync_folder(log)
            log.recovery_point = max(log.recovery_point, end)
        if now_ms is not None:
            log.last_flush_ms = now_ms


def finish_rolled(log: LogState) -> None:
    with log.io:
        if log.closed:
            return
        segments = log.segments
        _finish(log, segments[:-1])
        write_leader_epochs(log, sync=True)
        _sync_folder(log)
        log.recovery_point = max(log.recovery_point, segments[-1].base_offset)


def _sync_folder(log: LogState) -> None:
    """The names of the files; the first time also what was not synced when the log was made: its id and its folder."""
    fs, path = log.folder.fs, log.folder.path
    fs.fsync_dir(path)
    if log.is_new:
        with contextlib.suppress(FileNotFoundError):
            fd = fs.open(log.folder.join(files.PARTITION_METADATA), os.O_RDONLY)
            try:
                fs.fsync(fd)
            finally:
                fs.close(fd)
        fs.fsync_dir(os.path.dirname(path))
        log.is_new = False


def _finish(log: LogState, inactive: tuple[Segment, ...]) -> None:
    for slot, segment in enumerate(inactive):
        if segment.held:
            _finish_segment(segment)
        elif log.recovery_point < (inactive[slot + 1] if slot + 1 < len(inactive) else log.active).base_offset:
            _sync_recovered(segment)
    for offset in sorted(log.pending_snapshots):
        entries = log.pending_snapshots.get(offset)
        if entries is not None and offset <= log.end.offset:
            write_snapshot(log, offset, entries, sync=True)
            log.pending_snapshots.pop(offset, None)


def _finish_segment(segment: Segment) -> None:
    """The pin keeps the file open even if the owner deletes the segment meanwhile."""
    fs, pool = segment.folder.fs, segment.folder.files
    try:
        fd = pool.pin(segment.log)
    except FileNotFoundError:
        return
    try:
        _cut_after_end(segment, fd)
        fs.fsync(fd)
        segment.write_indexes(sync=True)
        segment.deactivate()
    finally:
        pool.unpin(segment.log)


def _sync_recovered(segment: Segment) -> None:
    """Written by the process before this one, which did not live to flush it."""
    fs = segment.folder.fs
    for suffix in files.SEGMENT_SUFFIXES:
        with contextlib.suppress(FileNotFoundError):
            fd = fs.open(segment.folder.join(files.file_name(segment.base_offset, suffix)), os.O_RDONLY)
            try:
                fs.fsync(fd)
            finally:
                fs.close(fd)


def _flush_active(segment: Segment) -> None:
    fs, pool = segment.folder.fs, segment.folder.files
    try:
        fd = pool.pin(segment.log)
    except FileNotFoundError:
        return
    try:
        fs.fsync(fd)
        segment.write_indexes(sync=True)
    finally:
        pool.unpin(segment.log)


def _cut_after_end(segment: Segment, fd: int) -> None:
    """A finished file ends with its last batch: no space set aside, nothing left of a write that failed."""
    fs = segment.folder.fs
    if fs.fstat(fd).st_size != segment.size:
        fs.truncate(fd, segment.size)


def write_snapshot(log: LogState, offset: int, entries: dict[int, ProducerEntry], *, sync: bool) -> None:
    path = log.folder.join(files.file_name(offset, files.SNAPSHOT))
    log.folder.fs.write_file(path, producer_snapshot.encode(entries), sync=sync)
    log.snapshot_offset = max(log.snapshot_offset, offset)


def _write_last_snapshot(log: Log, sync: bool) -> None:
    """Producer state at the end of the log, in place of the one at its last end.

    A small log without producers needs none: its batches tell as much at the next start as quickly as a file would.
    """
    end, entries = log.end.offset, log.producers.entries
    if end <= max(log.snapshot_offset, log.log_start_offset):
        return
    if not entries and len(log.segments) == 1 and log.active.size < _SMALL_LOG:
        return
    stray = log.stray_snapshot
    recycle = log.folder.join(files.file_name(stray, files.SNAPSHOT)) if stray >= 0 else None
    path = log.folder.join(files.file_name(end, files.SNAPSHOT))
    log.folder.fs.write_file(path, producer_snapshot.encode(entries), sync=sync, recycle=recycle)


def write_leader_epochs(log: LogState, *, sync: bool) -> None:
    epochs = log.leader_epochs
    if not epochs.dirty:
        return
    # Cleared first: what the owner adds from here on makes it dirty again.
    epochs.dirty = False
    try:
        data = checkpoint.encode_lines(f"{epoch} {offset}" for epoch, offset in epochs.entries)
        log.folder.fs.write_file(log.folder.join(files.LEADER_EPOCHS), data, sync=sync)
    except BaseException:
        epochs.dirty = True
        raise


def close(log: Log, sync: bool) -> None:
    """Leaves the files as a clean start wants them: no bytes after the last batch, whole indexes, a snapshot at the end."""
    with log.io:
        segments = log.segments
        try:
            for segment in segments:
                if segment.held:
                    _close_segment(log, segment, sync)
            for offset, entries in sorted(log.pending_snapshots.items()):
                write_snapshot(log, offset, entries, sync=sync)
            _write_last_snapshot(log, sync)
            write_leader_epochs(log, sync=sync)
            if sync:
                _sync_folder(log)
        finally:
            log.drop()
        log.recovery_point = log.end.offset


def _close_segment(log: Log, segment: Segment, sync: bool) -> None:
    _cut_after_end(segment, segment.log.fd)
    segment.add_last_time_entry()
    segment.write_indexes(sync=sync)
    if sync and log.end.offset > log.recovery_point:
        log.folder.fs.fsync(segment.log.fd)
