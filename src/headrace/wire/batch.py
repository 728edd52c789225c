"""Record batches: the records inside, decoded and encoded. The header has its own file and is imported from here as well.

Brokers rarely look at records: for compacted topics, timestamp look-ups and the logs that they write themselves.

    record: varint length | int8 attributes = 0 | varint timestamp delta | varint offset delta
            | varint length, key | varint length, value | varint count, headers (varint length, key | varint length, value)

Varints are zigzag; a length of -1 is null.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import NamedTuple

from headrace.wire.batch_header import (
    CONTROL_BIT,
    DELETE_HORIZON_BIT,
    HEADER,
    HEADER_SIZE,
    LENGTH_OVERHEAD,
    LOG_APPEND_TIME_BIT,
    MAGIC,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    TRANSACTIONAL_BIT,
    BatchHeader,
    TimestampType,
    check_crc,
    iter_batches,
    patch,
    read_header,
    set_append_time,
    write_crc,
)
from headrace.wire.compression import MAX_DECOMPRESSED, compress, decompress
from headrace.wire.errors import WireError
from headrace.wire.fields import Buffer
from headrace.wire.varint import continue_folded, varint

__all__ = [
    "HEADER_SIZE",
    "MAGIC",
    "NO_PRODUCER_ID",
    "NO_SEQUENCE",
    "NO_TIMESTAMP",
    "BatchHeader",
    "Record",
    "TimestampType",
    "check_crc",
    "decode_records",
    "encode_batch",
    "iter_batches",
    "iter_records",
    "patch",
    "read_header",
    "set_append_time",
    "write_crc",
]

# Length, attributes, two deltas, two null lengths and no headers.
SMALLEST_RECORD = 7

Headers = Sequence[tuple[str, bytes | None]]


class Record(NamedTuple):
    """One record. An offset of -1 means, to `encode_batch`, the one after the record before."""

    offset: int = -1
    timestamp: int = NO_TIMESTAMP
    key: bytes | None = None
    value: bytes | None = None
    headers: Headers = ()


def decode_records(view: Buffer, position: int = 0, limit: int = MAX_DECOMPRESSED) -> list[Record]:
    """The records of the batch at `position`; WireError for anything in it that is not as it should be.

    The checksum is not looked at, see `check_crc`. Compressed records may take up to `limit` bytes in the clear.
    """
    return list(iter_records(view, position, limit))


def iter_records(view: Buffer, position: int = 0, limit: int = MAX_DECOMPRESSED) -> Iterator[Record]:
    """The same one by one: a batch of a few hundred bytes can hold millions."""
    header = read_header(view, position)
    end = position + header.size
    if header.magic != MAGIC:
        raise WireError(f"record batch of magic {header.magic}, only {MAGIC} is supported")
    if header.batch_length < HEADER_SIZE - LENGTH_OVERHEAD or end > len(view):
        raise WireError("record batch runs past the end")
    data = bytes(decompress(header.codec, memoryview(view)[position + HEADER_SIZE : end], limit))
    if not 0 <= header.record_count * SMALLEST_RECORD <= len(data):
        raise WireError(f"record batch cannot hold {header.record_count} records")
    try:
        position = yield from _decode_each(data, header)
    except IndexError:
        raise WireError("record runs past the end of its batch") from None
    except UnicodeDecodeError as error:
        raise WireError(f"record header: {error}") from None
    if position != len(data):
        raise WireError(f"record batch has {len(data) - position} bytes behind its last record")


def _decode_each(data: bytes, header: BatchHeader) -> Generator[Record, None, int]:
    """Each record, one-byte varints read inline: this loop is what compaction and validation cost.

    A slice may reach past the end of the data; then the record's end does too, and that is checked.
    """
    base_offset, base_timestamp = header.base_offset, header.base_timestamp
    append_time = header.max_timestamp if header.timestamp_type else None
    p = 0
    for _ in range(header.record_count):
        raw = data[p]
        p += 1
        if raw > 127:
            raw, p = continue_folded(data, p, raw)
        # The byte behind the length holds attributes, of which none is in use.
        end = p + (raw >> 1)
        delta = data[p + 1]
        p += 2
        if delta > 127:
            delta, p = continue_folded(data, p, delta)
        timestamp = base_timestamp + ((delta >> 1) ^ -(delta & 1)) if append_time is None else append_time
        offset = data[p]
        p += 1
        if offset > 127:
            offset, p = continue_folded(data, p, offset)
        key, p = _read_bytes(data, p)
        value, p = _read_bytes(data, p)
        if data[p]:
            headers, p = _read_headers(data, p)
        else:
            headers = ()
            p += 1
        if p != end or end > len(data) or offset & 1:
            raise WireError("record does not have the length or the offset that it says")
        yield _new(Record, (base_offset + (offset >> 1), timestamp, key, value, headers))
    return p


_new = tuple.__new__


def _read_bytes(data: bytes, position: int) -> tuple[bytes | None, int]:
    raw = data[position]
    position += 1
    if raw > 127:
        raw, position = continue_folded(data, position, raw)
    if raw & 1:
        return None, position
    end = position + (raw >> 1)
    return data[position:end], end


def _read_headers(data: bytes, position: int) -> tuple[Headers, int]:
    raw = data[position]
    position += 1
    if raw > 127:
        raw, position = continue_folded(data, position, raw)
    count = raw >> 1
    if raw & 1 or count * 2 > len(data) - position:
        raise WireError(f"record cannot hold {count} headers")
    headers: list[tuple[str, bytes | None]] = []
    for _ in range(count):
        key, position = _read_bytes(data, position)
        value, position = _read_bytes(data, position)
        if key is None:
            raise WireError("record header without a key")
        headers.append((str(key, "utf-8"), value))
    return tuple(headers), position


def encode_batch(
    records: Sequence[Record],
    *,
    base_offset: int = 0,
    codec: int = 0,
    compression_level: int | None = None,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = -1,
    base_sequence: int = NO_SEQUENCE,
    leader_epoch: int = -1,
    is_transactional: bool = False,
    is_control: bool = False,
    timestamp_type: TimestampType | int = TimestampType.CREATE_TIME,
    last_offset_delta: int | None = None,
    delete_horizon_ms: int | None = None,
) -> bytearray:
    """A batch of these records, with its checksum.

    Compaction passes `last_offset_delta`, because a batch keeps the range of offsets of the one it came from even when
    its last records are gone, and `delete_horizon_ms`.
    """
    attributes = codec | LOG_APPEND_TIME_BIT * timestamp_type
    attributes |= TRANSACTIONAL_BIT * is_transactional | CONTROL_BIT * is_control
    base_timestamp = records[0].timestamp if records else NO_TIMESTAMP
    if delete_horizon_ms is not None:
        attributes |= DELETE_HORIZON_BIT
        base_timestamp = delete_horizon_ms
    body, last_delta = _encode_all(records, base_offset, base_timestamp)
    payload = compress(codec, body, compression_level)
    batch = bytearray(HEADER_SIZE)
    HEADER.pack_into(
        batch,
        0,
        base_offset,
        HEADER_SIZE - LENGTH_OVERHEAD + len(payload),
        leader_epoch,
        MAGIC,
        0,
        attributes,
        last_delta if last_offset_delta is None else last_offset_delta,
        base_timestamp,
        max((record.timestamp for record in records), default=NO_TIMESTAMP),
        producer_id,
        producer_epoch,
        base_sequence,
        len(records),
    )
    batch += payload
    write_crc(batch)
    return batch


def _encode_all(records: Iterable[Record], base_offset: int, base_timestamp: int) -> tuple[bytearray, int]:
    """The records one after the other, and the last offset delta."""
    body = bytearray()
    delta = -1
    for offset, timestamp, key, value, headers in records:
        previous, delta = delta, delta + 1 if offset == -1 else offset - base_offset
        if delta <= previous:
            raise ValueError(f"offset {offset} does not come after the one before it")
        record = b"\0" + varint(timestamp - base_timestamp) + varint(delta) + _sized(key) + _sized(value)
        record += varint(len(headers))
        for name, content in headers:
            record += _sized(name.encode()) + _sized(content)
        body += varint(len(record)) + record
    return body, delta


def _sized(data: bytes | None) -> bytes:
    return b"\x01" if data is None else varint(len(data)) + data
