"""Producer state from a snapshot and the batches after it, and the index of aborted transactions that follows from both."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence

from headrace.storage import files, producer_snapshot
from headrace.storage.descriptors import Folder
from headrace.storage.producers import TRANSACTIONAL, Producers, completed, started
from headrace.storage.scan import scan
from headrace.storage.segment import Segment
from headrace.storage.transaction_index import AbortedTransaction
from headrace.wire.batch import BatchHeader
from headrace.wire.control import read_marker
from headrace.wire.errors import WireError

logger = logging.getLogger("headrace.storage")


def choose_snapshot(
    folder: Folder, names: Iterable[str], log_start_offset: int, not_above: int | None
) -> tuple[Producers, int]:
    """State from the newest sound snapshot in range and its offset; empty state at the log's start without one."""
    offsets = sorted(
        offset for name in names if name.endswith(files.SNAPSHOT) and (offset := files.offset_of(name)) is not None
    )
    for offset in reversed(offsets):
        if offset <= log_start_offset or (not_above is not None and offset > not_above):
            continue
        path = folder.join(files.file_name(offset, files.SNAPSHOT))
        producers = Producers()
        try:
            producers.load(producer_snapshot.decode(folder.fs.read_file(path)), offset)
        except producer_snapshot.CorruptSnapshot as error:
            logger.warning("%s is not used and removed: %s", path, error)
            folder.fs.unlink(path)
            continue
        except FileNotFoundError:
            continue
        return producers, offset
    return Producers(log_start_offset), -1


def replay(segments: Sequence[Segment], producers: Producers, up_to: int) -> list[AbortedTransaction]:
    """Brings state from where it is up to an offset, by the headers of the batches between; what was aborted there."""
    aborted: list[AbortedTransaction] = []
    for slot, segment in enumerate(segments):
        after = segments[slot + 1].base_offset if slot + 1 < len(segments) else None
        if segment.base_offset >= up_to or (after is not None and after <= producers.end_offset):
            continue
        pool = segment.folder.files
        fd = pool.pin(segment.log)
        try:
            base, size = segment.base_offset, segment.size
            for position, header in scan(
                segment.reader(fd), 0, size, base_offset=base, first_offset=base, checksum=False
            ):
                if header.base_offset >= up_to:
                    break
                if header.last_offset >= producers.end_offset:
                    entry = replay_batch(producers, header, position, segment, fd)
                    aborted += [] if entry is None else [entry]
        finally:
            pool.unpin(segment.log)
    producers.end_offset = up_to
    return aborted


def replay_batch(
    producers: Producers, header: BatchHeader, position: int, segment: Segment, fd: int | None = None
) -> AbortedTransaction | None:
    """One batch that is in the log already: nothing is checked, it counts. Returns the transaction that it aborted."""
    aborted = None
    if header.producer_id >= 0:
        if header.is_control:
            aborted = _replay_marker(producers, header, position, segment, segment.log.fd if fd is None else fd)
        else:
            before = producers.update(header, header.base_offset, header.max_timestamp)
            if header.attributes & TRANSACTIONAL and (transaction := started(before, header, header.base_offset)):
                producers.transactions.start(transaction)
    producers.end_offset = header.last_offset + 1
    return aborted


def _replay_marker(
    producers: Producers, header: BatchHeader, position: int, segment: Segment, fd: int
) -> AbortedTransaction | None:
    try:
        marker = read_marker(segment.reader(fd)(header.size, position))
    except WireError as error:
        logger.warning("%s: unreadable transaction marker at position %d: %s", segment.log.path, position, error)
        return None
    # A marker batch that compaction has emptied says nothing any more.
    if marker is None:
        return None
    before = producers.end_transaction(header, marker, header.max_timestamp)
    transaction = completed(before, header, marker, header.base_offset)
    if transaction is None:
        return None
    entry = producers.transactions.index_entry(transaction) if transaction.aborted else None
    producers.transactions.complete(transaction)
    return entry
