"""Walking over record batches in a file by their headers, without decoding or copying them.

    0  base offset     int64        23  last offset delta  int32
    8  batch length    int32        27  base timestamp     int64
   12  leader epoch    int32        35  max timestamp      int64
   16  magic (2)       int8         43  producer id        int64
   17  crc-32c         uint32       51  producer epoch     int16
   21  attributes      int16        53  base sequence      int32
                                    57  record count       int32

The length counts what follows it, so a batch takes 12 bytes more. The CRC covers everything after itself; base offset and
leader epoch lie before it, which is why a broker can set them without touching the rest.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import NamedTuple

from headrace.fs import Buffer
from headrace.storage.errors import LogError
from headrace.wire.errors import ErrorCode

PREFIX_SIZE = 12
HEADER_SIZE = 61
CRC_COVERS_FROM = 21
MIN_BATCH_LENGTH = HEADER_SIZE - PREFIX_SIZE

_OFFSETS = struct.Struct(">qi11xi")  # base offset, batch length, last offset delta
_TIMES = struct.Struct(">qi11xi8xq")  # the same and the max timestamp
_CHUNK = 4096

# (length, position) -> that many bytes of the log file
ReadAt = Callable[[int, int], Buffer]


class CorruptLog(LogError):
    """Bytes in the log that are no record batch, where there must be one."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.CORRUPT_MESSAGE, message)


class Found(NamedTuple):
    """A batch in a segment's file."""

    position: int
    size: int
    base_offset: int
    last_offset: int
    max_timestamp: int


def find(read: ReadAt, offset: int, position: int, end: int, *, timestamp: int | None = None) -> Found | None:
    """The first batch from `position` on that reaches `offset` and, if one is given, `timestamp`."""
    while position + HEADER_SIZE <= end:
        chunk = read(min(_CHUNK, end - position), position)
        at = 0
        last = len(chunk) - HEADER_SIZE
        while at <= last:
            base_offset, length, delta, max_timestamp = _TIMES.unpack_from(chunk, at)
            if length < MIN_BATCH_LENGTH or delta < 0:
                raise CorruptLog(f"no record batch at position {position + at}")
            if base_offset + delta >= offset and (timestamp is None or max_timestamp >= timestamp):
                return Found(position + at, length + PREFIX_SIZE, base_offset, base_offset + delta, max_timestamp)
            at += length + PREFIX_SIZE
        position += at
    return None


class Whole(NamedTuple):
    """How much of a buffer is whole batches."""

    size: int
    next_offset: int


def whole_batches(data: Buffer, start: int, limit: int, upper_offset: int) -> Whole:
    """How far whole batches below `upper_offset` reach, from the batch at `start` to at most `limit`."""
    at, next_offset = start, -1
    unpack_from = _OFFSETS.unpack_from
    while at + HEADER_SIZE <= limit:
        base_offset, length, delta = unpack_from(data, at)
        end = at + length + PREFIX_SIZE
        if end > limit or base_offset + delta >= upper_offset:
            break
        if length < MIN_BATCH_LENGTH:
            raise CorruptLog("no record batch where one must be")
        at, next_offset = end, base_offset + delta + 1
    return Whole(at, next_offset)


def batch_size(data: Buffer, at: int = 0) -> int:
    """The size of the batch whose header starts at `at`."""
    return int.from_bytes(data[at + 8 : at + 12], "big") + PREFIX_SIZE
