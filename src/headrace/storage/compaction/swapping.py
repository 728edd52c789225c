"""Putting a cleaned segment in the place of those it replaces, so that a crash leaves the old ones or the new one.

    1. `.cleaned` files become `.swap`: from here on a start would finish the job (see `leftovers`). Before this, it would
       throw the new files away.
    2. The new segment is in the log's list, its files open; readers of the old ones keep the files they have open.
    3. The old files become `.deleted`, the new ones get their names. Where the log's deferred jobs run.

The first two are one step of the log's owner, so that nothing can happen to the old segments between them.
"""

from __future__ import annotations

from headrace.storage import files
from headrace.storage.compaction.target import Cleaned
from headrace.storage.descriptors import Folder, StoredFile
from headrace.storage.log import Log
from headrace.storage.retention import delete_segments, rename_deleted
from headrace.storage.segment import Segment


def swap_in(log: Log, cleaned: Cleaned, now_ms: int) -> bool:
    """Called by the log's owner. False: the log is no longer what was cleaned, and the new files are gone."""
    segments = log.segments
    bases = tuple(segment.base_offset for segment in segments)
    first = bases.index(cleaned.base_offset) if cleaned.base_offset in bases else -1
    after = first + len(cleaned.replaces)
    if log.closed or first < 0 or bases[first:after] != cleaned.replaces or after >= len(segments):
        discard(log.folder)
        return False
    _rename(log.folder, cleaned, files.CLEANED, files.SWAP)
    segment, handles = _open(log, cleaned)
    replaced = segments[first:after]
    log.keep_segments((*segments[:first], segment, *segments[after:]))
    log.hints.clear()
    names = _names_of(log, replaced)
    log.defer(lambda: _finish(log, cleaned, segment, handles, names, now_ms))
    return True


def _open(log: Log, cleaned: Cleaned) -> tuple[Segment, list[StoredFile]]:
    """The segment with all its files pinned: nobody needs to open one of them while it changes its name."""
    segment = Segment(log.folder, cleaned.base_offset, size=cleaned.size)
    segment.max_timestamp, segment.max_timestamp_offset = cleaned.max_timestamp, cleaned.max_timestamp_offset
    segment.has_aborted = cleaned.has_aborted
    handles = [segment.handle(suffix) for suffix in cleaned.suffixes]
    for handle in handles:
        handle.name += files.SWAP
        log.folder.files.pin(handle)
    return segment, handles


def _names_of(log: Log, replaced: tuple[Segment, ...]) -> list[str]:
    """The files to go. The producer snapshot at the start of the new segment stays true."""
    kept = replaced[0].base_offset
    pending = log.pending_snapshots.get(kept)
    names = delete_segments(log, replaced)
    if pending is not None:
        log.pending_snapshots[kept] = pending
    return [name for name in names if name != files.file_name(kept, files.SNAPSHOT)]


def _finish(
    log: Log, cleaned: Cleaned, segment: Segment, handles: list[StoredFile], names: list[str], now_ms: int
) -> None:
    folder = log.folder
    with log.io:
        try:
            if not log.closed:
                # Before the old files go, it must be certain that a start would find the new ones.
                folder.fs.fsync_dir(folder.path)
                rename_deleted(log, names, now_ms)
                _rename(folder, cleaned, files.SWAP, "")
                folder.fs.fsync_dir(folder.path)
        finally:
            for handle in handles:
                handle.name = handle.name.removesuffix(files.SWAP)
                folder.files.unpin(handle)


def _rename(folder: Folder, cleaned: Cleaned, old: str, new: str) -> None:
    """The .log file first: the others do no harm without it, and it would miss them."""
    for suffix in cleaned.suffixes:
        name = folder.join(files.file_name(cleaned.base_offset, suffix))
        folder.fs.rename(name + old, name + new)


def discard(folder: Folder) -> None:
    """Removes what an unfinished round has written."""
    for name in folder.fs.listdir(folder.path):
        if name.endswith(files.CLEANED):
            folder.fs.unlink(folder.join(name))
