"""The last offset of every key in the dirty part of a log.

Built over as many dirty segments as there is room for keys; it ends at a batch's end, and what lies behind waits for the
next round. A dictionary takes about 150 bytes a key, more where keys are longer.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable

from headrace.storage.batches import CorruptLog
from headrace.storage.compaction.source import SourceBatch
from headrace.storage.compaction.transactions import PassedTransactions
from headrace.storage.compaction.walking import Latest, note_all_keys, note_keys
from headrace.storage.transaction_index import AbortedTransaction
from headrace.wire.errors import WireError


class OffsetMap:
    def __init__(self, start: int, max_keys: int) -> None:
        self.start = start
        self.max_keys = max_keys
        self.latest: Latest = {}
        # Every batch up to this offset is in the map.
        self.last_mapped = start - 1
        self.offsets = array("q")
        """What of the mapped part survives, in order; after `finish`."""
        self.records = 0

    @property
    def is_full(self) -> bool:
        return len(self.latest) >= self.max_keys

    def add_segment(self, batches: Iterable[SourceBatch], passed: PassedTransactions, next_segment_offset: int) -> bool:
        """Whether all of the segment found room."""
        start = self.start
        for batch in batches:
            header = batch.header
            if header.is_control:
                passed.on_marker(header, batch.view())
            elif not passed.on_batch(header) and header.last_offset >= start:
                # A batch may overshoot the limit; the map must take one at least, or a round would change nothing.
                if self.is_full:
                    return False
                batch.check()
                try:
                    self._note(batch)
                except WireError as error:
                    raise CorruptLog(f"records at offset {header.base_offset} cannot be decoded: {error}") from error
                self.records += header.record_count
            if header.last_offset >= start:
                self.last_mapped = header.last_offset
        # Offsets may be missing at the end of a segment.
        self.last_mapped = max(self.last_mapped, next_segment_offset - 1)
        return True

    def _note(self, batch: SourceBatch) -> None:
        data, position, end = batch.records()
        base_offset, count = batch.header.base_offset, batch.header.record_count
        if base_offset >= self.start and count == batch.header.last_offset_delta + 1:
            note_all_keys(data, position, end, range(base_offset, base_offset + count), self.latest)
        else:
            note_keys(data, position, end, count, base_offset, self.start, self.latest)

    def finish(self) -> None:
        """No more segments: sorts out which offsets survive."""
        self.offsets = array("q", sorted(self.latest.values()))


def build(
    segments: Iterable[tuple[Iterable[SourceBatch], int]],
    start: int,
    max_keys: int,
    aborted: Iterable[AbortedTransaction],
) -> OffsetMap:
    """The map over segments, each with the offset where the next one begins, as far as it goes."""
    found = OffsetMap(start, max_keys)
    passed = PassedTransactions(aborted, start)
    for batches, next_segment_offset in segments:
        if not found.add_segment(batches, passed, next_segment_offset):
            break
    found.finish()
    return found
