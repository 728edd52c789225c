"""What a log with transactions must look like to readers, computed the slow and simple way from the list of its batches."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from headrace.storage.log import Log
from headrace.storage.transaction_index import AbortedTransaction
from headrace.wire.batch import BatchHeader, iter_batches
from headrace.wire.control import read_marker


class Entry(NamedTuple):
    """One batch that was appended."""

    first_offset: int
    last_offset: int
    producer_id: int = -1
    transactional: bool = False
    commit: bool | None = None
    """Of a marker; None for records."""


class Readable(NamedTuple):
    last_stable_offset: int
    open: list[tuple[int, int]]
    aborted: list[AbortedTransaction]
    visible: list[int]
    """First offsets of the batches that a read_committed reader sees, up to the last stable offset."""


def readable(entries: Iterable[Entry], end: int) -> Readable:
    opened: dict[int, int] = {}
    aborted: list[AbortedTransaction] = []
    hidden: set[int] = set()
    written: dict[int, list[int]] = {}
    entries = list(entries)
    for entry in entries:
        if entry.commit is None:
            if entry.transactional:
                opened.setdefault(entry.producer_id, entry.first_offset)
                written.setdefault(entry.producer_id, []).append(entry.first_offset)
            continue
        first = opened.pop(entry.producer_id, None)
        records = written.pop(entry.producer_id, [])
        if first is not None and not entry.commit:
            stable = min(opened.values(), default=entry.last_offset + 1)
            aborted.append(AbortedTransaction(entry.producer_id, first, entry.last_offset, stable))
            hidden.update(records)
    stable = min(opened.values(), default=end)
    visible = [e.first_offset for e in entries if e.commit is None and e.first_offset < stable]
    return Readable(
        stable,
        sorted(((producer_id, first) for producer_id, first in opened.items()), key=lambda one: one[1]),
        aborted,
        [offset for offset in visible if offset not in hidden],
    )


def read_committed(log: Log, offset: int, max_bytes: int) -> list[int]:
    """First offsets of the batches that a consumer shows, which fetches and filters as Kafka's do."""
    seen: list[int] = []
    stable = log.last_stable_offset
    while offset < stable:
        data = log.read(offset, max_bytes, upper_offset=stable).data
        if not data:
            break
        batches = list(iter_batches(data))
        following = batches[-1][1].last_offset + 1
        coming = sorted(log.aborted_transactions(offset, following), key=lambda one: one[1])
        seen += [h.base_offset for h in _filter(data, batches, coming) if h.last_offset >= offset]
        offset = following
    return seen


def _filter(
    data: memoryview, batches: list[tuple[int, BatchHeader]], coming: list[tuple[int, int]]
) -> Iterable[BatchHeader]:
    aborted: set[int] = set()
    for position, header in batches:
        while coming and coming[0][1] <= header.last_offset:
            aborted.add(coming.pop(0)[0])
        if header.is_control:
            marker = read_marker(data[position : position + header.size])
            if marker is not None and not marker.commit:
                aborted.discard(header.producer_id)
        elif not (header.is_transactional and header.producer_id in aborted):
            yield header
