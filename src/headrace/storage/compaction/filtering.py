"""What becomes of one batch: copied as it is, written anew with fewer records, emptied, or gone.

A batch keeps its base offset, its last offset and its sequence numbers whatever happens to its records. Tombstones that are
met for the first time, and markers of transactions of which nothing is left, give their batch a delete horizon: bit 6 of the
attributes is set and the base timestamp, from which the records count theirs, is the time when they may go.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from typing import NamedTuple

from headrace.fs import Buffer
from headrace.storage.batches import CorruptLog
from headrace.storage.compaction.offset_map import OffsetMap
from headrace.storage.compaction.source import SourceBatch
from headrace.storage.compaction.transactions import PassedTransactions
from headrace.storage.compaction.walking import Span, select_by_key, select_by_offset, timestamp_delta
from headrace.wire.batch import HEADER_SIZE, NO_TIMESTAMP, BatchHeader, write_crc
from headrace.wire.batch_header import (
    CODEC_MASK,
    CONTROL_BIT,
    DELETE_HORIZON_BIT,
    HEADER,
    LENGTH_OVERHEAD,
    LOG_APPEND_TIME_BIT,
    TRANSACTIONAL_BIT,
)
from headrace.wire.compression import compress
from headrace.wire.errors import WireError
from headrace.wire.varint import varint

_KEPT_WHEN_EMPTY = LOG_APPEND_TIME_BIT | TRANSACTIONAL_BIT | CONTROL_BIT


class LastOfProducer(NamedTuple):
    """The newest batch of a producer that may still write: -1 if only its marker's epoch is known."""

    last_offset: int
    epoch: int


class Kept(NamedTuple):
    """A batch for the new segment: a copy, so that it does not hold on to the piece of the file it was in."""

    data: Buffer
    max_timestamp: int


class BatchFilter:
    def __init__(
        self,
        offset_map: OffsetMap,
        passed: PassedTransactions,
        producers: Mapping[int, LastOfProducer],
        *,
        now_ms: int,
        delete_retention_ms: int,
        round_end: int,
    ) -> None:
        self._map = offset_map
        self._passed = passed
        self._producers = producers
        self._now_ms = now_ms
        self._new_horizon_ms = now_ms + delete_retention_ms
        self._round_end = round_end

    def apply(self, batch: SourceBatch) -> Kept | None:
        header = batch.header
        if header.is_control:
            return self._apply_to_marker(batch)
        discard = self._passed.on_batch(header)
        spans: list[Span] = []
        if not discard and header.record_count:
            try:
                selected = self._select(batch)
            except WireError as error:
                raise CorruptLog(f"records at offset {header.base_offset} cannot be decoded: {error}") from error
            if selected is not None:
                data, spans, has_tombstone = selected
                if spans:
                    return self._keep(batch, data, spans, has_tombstone)
        return self._empty(header) if self._stays_when_empty(header) else None

    def _apply_to_marker(self, batch: SourceBatch) -> Kept | None:
        header = batch.header
        nothing_left = self._passed.on_marker(header, batch.view())
        horizon = header.delete_horizon_ms
        if (nothing_left and horizon is not None and horizon <= self._now_ms) or not header.record_count:
            return self._empty(header) if self._stays_when_empty(header) else None
        if nothing_left and horizon is None:
            batch.check()
            data, begin, end = batch.records()
            return self._write_anew(header, data, [(begin, end)], self._new_horizon_ms)
        return Kept(bytes(batch.view()), header.max_timestamp)

    def _select(self, batch: SourceBatch) -> tuple[bytes, list[Span], bool] | None:
        """The records that stay; None if none does and nobody had to look at them."""
        header, offset_map = batch.header, self._map
        base_offset, last_offset, count = header.base_offset, header.last_offset, header.record_count
        in_map = offset_map.start <= base_offset and last_offset <= offset_map.last_mapped
        horizon = header.delete_horizon_ms
        if in_map and horizon is None:
            low = bisect_left(offset_map.offsets, base_offset)
            high = bisect_right(offset_map.offsets, last_offset, low)
            if low == high:
                return None
            if count == header.last_offset_delta + 1:
                data, begin, end = batch.records()
                return data, *select_by_offset(data, begin, end, base_offset, offset_map.offsets[low:high])
        data, begin, end = batch.records()
        keep_tombstones = horizon is None or self._now_ms < horizon
        spans, found = select_by_key(
            data, begin, end, count, base_offset, offset_map.latest, offset_map.last_mapped, keep_tombstones
        )
        return data, spans, found

    def _keep(self, batch: SourceBatch, data: bytes, spans: list[Span], has_tombstone: bool) -> Kept:
        header = batch.header
        new_horizon = self._new_horizon_ms if has_tombstone and header.delete_horizon_ms is None else None
        if len(spans) == header.record_count and new_horizon is None:
            return Kept(bytes(batch.view()), header.max_timestamp)
        batch.check()
        return self._write_anew(header, data, spans, new_horizon)

    def _stays_when_empty(self, header: BatchHeader) -> bool:
        if header.last_offset + 1 == self._round_end:
            # Otherwise nobody could tell any more up to where the log was.
            return True
        last = self._producers.get(header.producer_id) if header.producer_id >= 0 else None
        if last is None:
            return False
        if last.last_offset >= 0:
            return header.last_offset == last.last_offset
        return header.is_control and header.producer_epoch == last.epoch

    def _empty(self, header: BatchHeader) -> Kept:
        attributes = header.attributes & _KEPT_WHEN_EMPTY
        batch = _assemble(header, attributes, NO_TIMESTAMP, header.max_timestamp, 0, b"")
        return Kept(batch, header.max_timestamp)

    def _write_anew(self, header: BatchHeader, data: bytes, spans: list[Span], new_horizon: int | None) -> Kept:
        attributes, base_timestamp = header.attributes, header.base_timestamp
        if header.attributes & LOG_APPEND_TIME_BIT:
            max_timestamp = header.max_timestamp
        else:
            max_timestamp = base_timestamp + max(timestamp_delta(data, span)[0] for span in spans)
        if new_horizon is None:
            body = b"".join([data[begin:end] for begin, end in spans])
        else:
            body = b"".join([_shifted(data, span, base_timestamp - new_horizon) for span in spans])
            attributes |= DELETE_HORIZON_BIT
            base_timestamp = new_horizon
        payload = compress(attributes & CODEC_MASK, body)
        batch = _assemble(header, attributes, base_timestamp, max_timestamp, len(spans), payload)
        return Kept(batch, max_timestamp)


def _shifted(data: bytes, span: Span, shift: int) -> bytes:
    """The record with its timestamp delta moved."""
    delta, attributes_at, after = timestamp_delta(data, span)
    record = data[attributes_at : attributes_at + 1] + varint(delta + shift) + data[after : span[1]]
    return varint(len(record)) + record


def _assemble(
    header: BatchHeader, attributes: int, base_timestamp: int, max_timestamp: int, count: int, payload: bytes
) -> bytearray:
    batch = bytearray(HEADER_SIZE)
    HEADER.pack_into(
        batch,
        0,
        header.base_offset,
        HEADER_SIZE - LENGTH_OVERHEAD + len(payload),
        header.partition_leader_epoch,
        header.magic,
        0,
        attributes,
        header.last_offset_delta,
        base_timestamp,
        max_timestamp,
        header.producer_id,
        header.producer_epoch,
        header.base_sequence,
        count,
    )
    batch += payload
    write_crc(batch)
    return batch
