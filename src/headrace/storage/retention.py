"""Deleting segments from the front of a log: by age, by size, and below the log start offset.

As in Kafka, whole segments only, never one that reaches beyond the high watermark, and the active one only after a new one
was begun. Files are renamed to .deleted at once and removed after file.delete.delay.ms; a start removes what is left of
them. Called by the owner; the renames run where `defer` runs them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from headrace.storage import files
from headrace.storage.segment import Segment

if TYPE_CHECKING:
    from headrace.storage.log import Log


def apply(log: Log, now_ms: int, high_watermark: int) -> int:
    delete_expired_files(log, now_ms)
    log.producers.expire(now_ms, log.config.producer_id_expiration_ms)
    # A start offset beyond a segment deletes it whatever the policy is.
    count = _delete_while(
        log, now_ms, high_watermark, lambda _, after: after is not None and after <= log.log_start_offset
    )
    if log.config.delete:
        count += _delete_by_size(log, now_ms, high_watermark)
        count += _delete_by_time(log, now_ms, high_watermark)
    return count


def _delete_by_size(log: Log, now_ms: int, high_watermark: int) -> int:
    limit = log.config.retention_bytes
    surplus = log.size - limit
    if limit < 0 or surplus < 0:
        return 0

    def exceeds(segment: Segment, _: int | None) -> bool:
        nonlocal surplus
        if surplus < segment.size:
            return False
        surplus -= segment.size
        return True

    return _delete_while(log, now_ms, high_watermark, exceeds)


def _delete_by_time(log: Log, now_ms: int, high_watermark: int) -> int:
    retention_ms = log.config.retention_ms
    if retention_ms < 0:
        return 0
    return _delete_while(
        log, now_ms, high_watermark, lambda segment, _: now_ms - segment.largest_timestamp() > retention_ms
    )


def _delete_while(log: Log, now_ms: int, high_watermark: int, condition: Callable[[Segment, int | None], bool]) -> int:
    segments = log.segments
    count = 0
    for slot, segment in enumerate(segments):
        is_last = slot == len(segments) - 1
        after = None if is_last else segments[slot + 1].base_offset
        # A segment that is being written to, or that was rolled to and holds nothing, stays.
        if is_last and (segment.size == 0 or log.outstanding):
            break
        if high_watermark < (log.log_end_offset if after is None else after) or not condition(segment, after):
            break
        count += 1
    if count == 0:
        return 0
    if count == len(segments):
        log.roll(now_ms)
    _delete_first(log, count, now_ms)
    return count


def _delete_first(log: Log, count: int, now_ms: int) -> None:
    deleted, kept = log.segments[:count], log.segments[count:]
    # Readers must not look for what is about to go.
    log.advance_log_start(kept[0].base_offset)
    log.keep_segments(kept)
    names = delete_segments(log, deleted)
    log.defer(lambda: rename_deleted(log, names, now_ms))


def delete_segments(log: Log, deleted: Iterable[Segment]) -> list[str]:
    """Lets go of segments that are no longer in the log's list; the names of their files and producer snapshots."""
    names: list[str] = []
    for segment in deleted:
        log.pending_snapshots.pop(segment.base_offset, None)
        segment.forget()
        suffixes = (*files.SEGMENT_SUFFIXES, files.SNAPSHOT)
        names += [files.file_name(segment.base_offset, suffix) for suffix in suffixes]
    return names


def rename_deleted(log: Log, names: list[str], now_ms: int) -> None:
    due_ms = now_ms + log.config.file_delete_delay_ms
    paths: list[str] = []
    with log.io:
        for name in names:
            path = log.folder.join(name)
            try:
                log.folder.fs.rename(path, path + files.DELETED)
            except FileNotFoundError:
                continue
            paths.append(path + files.DELETED)
        log.pending_deletes.append((due_ms, paths))


def delete_expired_files(log: Log, now_ms: int) -> int:
    expired = [entry for entry in log.pending_deletes if entry[0] <= now_ms]
    if not expired:
        return 0
    paths = [path for _, paths in expired for path in paths]
    for entry in expired:
        log.pending_deletes.remove(entry)
    log.defer(lambda: _unlink(log, paths))
    return len(paths)


def _unlink(log: Log, paths: list[str]) -> None:
    for path in paths:
        try:
            log.folder.fs.unlink(path)
        except FileNotFoundError:
            continue
