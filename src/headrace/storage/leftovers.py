"""Files in a partition's folder that a crash or an unfinished job left behind, and what becomes of them."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable

from headrace.storage import files
from headrace.storage.descriptors import Folder
from headrace.storage.scan import scan

logger = logging.getLogger("headrace.storage")


def tidy(folder: Folder) -> set[str]:
    """Removes what is unfinished, completes what a compaction had decided, and returns the names that are left."""
    names = set(folder.fs.listdir(folder.path))
    swaps = {name for name in names if name.endswith(files.SWAP)}
    if any(name.endswith(files.CLEANED) for name in names):
        # A compaction that had not finished writing: what it replaces is all still there.
        first = min(files.offset_of(name) or 0 for name in names if name.endswith(files.CLEANED))
        for name in {name for name in swaps if (files.offset_of(name) or 0) >= first}:
            names -= _unlink(folder, {name})
            swaps.discard(name)
    unfinished = {
        name
        for name in names
        if name.endswith((files.CLEANED, files.TEMPORARY))
        or (name.endswith(files.DELETED) and not name.endswith(".checkpoint.deleted"))
    }
    names -= _unlink(folder, unfinished)
    if swaps:
        names = _swap_in(folder, names, swaps)
    logs = {name.removesuffix(files.LOG) for name in names if name.endswith(files.LOG)}
    orphans = {
        name
        for name in names
        if name.endswith((files.OFFSET_INDEX, files.TIME_INDEX, files.TXN_INDEX)) and name.partition(".")[0] not in logs
    }
    return names - _unlink(folder, orphans)


def _swap_in(folder: Folder, names: set[str], swaps: set[str]) -> set[str]:
    """Compacted segments ready to take the place of the old ones: the old ones they cover go, they get their names."""
    bases = sorted(files.offset_of(name) or 0 for name in swaps if name.endswith(files.LOG + files.SWAP))
    if bases:
        # The last compacted segment may cover several old ones; how many, only its last offset tells.
        last = _last_offset(folder, bases[-1])
        covered = {
            name
            for name in names
            if not name.endswith(files.SWAP)
            and (offset := files.offset_of(name)) is not None
            and not name.endswith(files.SNAPSHOT)
            and bases[0] <= offset <= max(last, bases[-1])
        }
        names -= _unlink(folder, covered)
    for name in swaps:
        folder.fs.rename(folder.join(name), folder.join(name.removesuffix(files.SWAP)))
    return {name for name in names if not name.endswith(files.SWAP)} | {n.removesuffix(files.SWAP) for n in swaps}


def _last_offset(folder: Folder, base: int) -> int:
    fs = folder.fs
    fd = fs.open(folder.join(files.file_name(base, files.LOG + files.SWAP)), os.O_RDONLY)
    try:
        last = base
        for _, header in scan(
            lambda length, position: fs.pread(fd, length, position),
            0,
            fs.fstat(fd).st_size,
            base_offset=base,
            first_offset=base,
            checksum=False,
        ):
            last = header.last_offset
        return last
    finally:
        fs.close(fd)


def _unlink(folder: Folder, names: Iterable[str]) -> set[str]:
    gone = set(names)
    for name in gone:
        try:
            folder.fs.unlink(folder.join(name))
        except FileNotFoundError:
            continue
    return gone


def unlink_segment(folder: Folder, base_offset: int) -> None:
    """All files of a segment, with the producer snapshot at its base offset."""
    _unlink(folder, [files.file_name(base_offset, suffix) for suffix in (*files.SEGMENT_SUFFIXES, files.SNAPSHOT)])


def sort_out_snapshots(folder: Folder, names: Iterable[str], bases: Iterable[int], end_offset: int) -> int:
    """Keeps the snapshots at the start of a segment and the newest other one, whose offset is returned (-1: none).

    A snapshot beyond the end speaks of batches that recovery did not bring back. One below it stays true.
    """
    offsets = {files.offset_of(name) or 0 for name in names if name.endswith(files.SNAPSHOT)}
    others = sorted(offset for offset in offsets - set(bases) if offset <= end_offset)
    useless = {offset for offset in offsets if offset > end_offset} | set(others[:-1])
    _unlink(folder, [files.file_name(offset, files.SNAPSHOT) for offset in useless])
    return others[-1] if others else -1


def unlink_abandoned(folder: Folder, base_offset: int) -> None:
    """The .log file of a segment whose first batch could not be written. If it cannot be removed either, the start that
    follows a broken disk finds it without a whole batch and removes it."""
    path = folder.join(files.file_name(base_offset, files.LOG))
    try:
        folder.fs.unlink(path)
    except OSError as error:
        logger.warning("%s is left behind by a failed write: %s", path, error)
