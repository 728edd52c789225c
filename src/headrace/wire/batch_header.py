"""The header of a record batch of magic 2, which a broker checks and patches in place for every batch.

    position  size  field                     position  size  field
           0     8  base offset                     27     8  base timestamp
           8     4  batch length (from 12 on)       35     8  max timestamp
          12     4  partition leader epoch          43     8  producer id
          16     1  magic                           51     2  producer epoch
          17     4  crc-32c (from 21 on)            53     4  base sequence
          21     2  attributes                      57     4  record count
          23     4  last offset delta               61        records, compressed as one

Attributes: bits 0-2 codec, 3 timestamp type, 4 transactional, 5 control, 6 base timestamp is the delete horizon.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from struct import Struct as Layout
from struct import error as LayoutError
from typing import NamedTuple

from crc32c import crc32c

from headrace.wire.errors import WireError
from headrace.wire.fields import Buffer

HEADER_SIZE = 61
MAGIC = 2
# A batch's size is its length field plus what stands before it and it itself.
LENGTH_OVERHEAD = 12
NO_TIMESTAMP = -1
NO_PRODUCER_ID = -1
NO_SEQUENCE = -1
MAX_SEQUENCE = 0x7FFFFFFF

CODEC_MASK = 0x07
LOG_APPEND_TIME_BIT = 0x08
TRANSACTIONAL_BIT = 0x10
CONTROL_BIT = 0x20
DELETE_HORIZON_BIT = 0x40

HEADER = Layout(">qiibIhiqqqhii")
_LENGTH = Layout(">i")
_BASE_OFFSET = Layout(">q")
_CRC = Layout(">I")
_ATTRIBUTES = Layout(">h")
_LENGTH_AT, _EPOCH_AT, _CRC_AT, _ATTRIBUTES_AT, _MAX_TIMESTAMP_AT = 8, 12, 17, 21, 35


class TimestampType(IntEnum):
    CREATE_TIME = 0
    LOG_APPEND_TIME = 1


class BatchHeader(NamedTuple):
    """The header of one batch, field by field."""

    base_offset: int
    batch_length: int
    partition_leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def size(self) -> int:
        return self.batch_length + LENGTH_OVERHEAD

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def codec(self) -> int:
        return self.attributes & CODEC_MASK

    @property
    def timestamp_type(self) -> TimestampType:
        return TimestampType.LOG_APPEND_TIME if self.attributes & LOG_APPEND_TIME_BIT else TimestampType.CREATE_TIME

    @property
    def is_transactional(self) -> bool:
        return self.attributes & TRANSACTIONAL_BIT != 0

    @property
    def is_control(self) -> bool:
        return self.attributes & CONTROL_BIT != 0

    @property
    def delete_horizon_ms(self) -> int | None:
        """When the tombstones in a compacted batch may go; such a batch counts its timestamps from there."""
        return self.base_timestamp if self.attributes & DELETE_HORIZON_BIT else None

    @property
    def last_sequence(self) -> int:
        """The sequence number of the last record; after 2^31 - 1 comes 0."""
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        last = self.base_sequence + self.last_offset_delta
        return last if last <= MAX_SEQUENCE else last - MAX_SEQUENCE - 1


_new = tuple.__new__


def read_header(buffer: Buffer, position: int = 0) -> BatchHeader:
    """The header at `position`. Nothing in it is checked but that it is all there."""
    try:
        return _new(BatchHeader, HEADER.unpack_from(buffer, position))
    except LayoutError:
        raise WireError("record batch is shorter than its header") from None


def iter_batches(buffer: Buffer, position: int = 0) -> Iterator[tuple[int, BatchHeader]]:
    """Position and header of each batch; WireError at one that is not whole."""
    end = len(buffer)
    while position < end:
        header = read_header(buffer, position)
        if header.batch_length < HEADER_SIZE - LENGTH_OVERHEAD or position + header.size > end:
            raise WireError(f"record batch of {header.size} bytes where {end - position} are left")
        yield position, header
        position += header.size


def check_crc(view: Buffer, position: int = 0) -> bool:
    """Whether the batch at `position` is all there and matches its checksum."""
    left = len(view) - position
    if left < HEADER_SIZE:
        return False
    size = _LENGTH.unpack_from(view, position + _LENGTH_AT)[0] + LENGTH_OVERHEAD
    if size < HEADER_SIZE or size > left:
        return False
    stored: int = _CRC.unpack_from(view, position + _CRC_AT)[0]
    return stored == crc32c(memoryview(view)[position + _ATTRIBUTES_AT : position + size])


def patch(view: bytearray | memoryview, base_offset: int, leader_epoch: int, position: int = 0) -> None:
    """Writes what a leader assigns. The checksum does not cover these two, so it stays."""
    _BASE_OFFSET.pack_into(view, position, base_offset)
    _LENGTH.pack_into(view, position + _EPOCH_AT, leader_epoch)


def set_append_time(view: bytearray | memoryview, timestamp_ms: int, position: int = 0) -> None:
    """Makes the batch at `position` one of log append time: attribute, max timestamp and a new checksum."""
    attributes: int = _ATTRIBUTES.unpack_from(view, position + _ATTRIBUTES_AT)[0]
    _ATTRIBUTES.pack_into(view, position + _ATTRIBUTES_AT, attributes | LOG_APPEND_TIME_BIT)
    _BASE_OFFSET.pack_into(view, position + _MAX_TIMESTAMP_AT, timestamp_ms)
    write_crc(view, position)


def write_crc(view: bytearray | memoryview, position: int = 0) -> None:
    """Writes the checksum of the batch at `position`, whose length must be right."""
    size = _LENGTH.unpack_from(view, position + _LENGTH_AT)[0] + LENGTH_OVERHEAD
    _CRC.pack_into(view, position + _CRC_AT, crc32c(memoryview(view)[position + _ATTRIBUTES_AT : position + size]))
