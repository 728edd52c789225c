"""Going through a .log file from a position to its end, as long as what is there is record batches.

With `checksum` every byte is read and checked, as recovery does; without it only headers are, and large batches are
hopped over. The walk ends quietly at the first thing that is not the next batch: zeros, garbage, a batch that is cut off,
offsets that go backwards. What was yielded until then is sound.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from crc32c import crc32c

from headrace.storage.batches import CRC_COVERS_FROM, HEADER_SIZE, MIN_BATCH_LENGTH, PREFIX_SIZE, ReadAt
from headrace.storage.errors import LogError
from headrace.storage.segment import MAX_RELATIVE_OFFSET
from headrace.wire.batch import MAGIC, BatchHeader, read_header
from headrace.wire.errors import ErrorCode

_CHECKED_CHUNK = 1024 * 1024
_HOPPED_CHUNK = 4096


def scan(
    read: ReadAt, start: int, end: int, *, base_offset: int, first_offset: int, checksum: bool
) -> Iterator[tuple[int, BatchHeader]]:
    """Position and header of the batches from `start` on, whose offsets are at least `first_offset` and fit a segment at `base_offset`."""
    position, next_offset, wanted, size = start, first_offset, 0, 0
    limit = base_offset + MAX_RELATIVE_OFFSET
    usual = _CHECKED_CHUNK if checksum else _HOPPED_CHUNK
    while position + HEADER_SIZE <= end:
        # Where batches are large, only their headers are read.
        chunk_size = HEADER_SIZE if size > usual and not checksum else max(usual, wanted)
        asked = min(chunk_size, end - position)
        chunk = memoryview(read(asked, position))
        if len(chunk) < asked:
            return
        at = wanted = 0
        while at + HEADER_SIZE <= asked:
            header = read_header(chunk, at)
            offset, length, _, magic, crc, _, delta, _, _, _, _, _, _ = header
            size = length + PREFIX_SIZE
            if (
                magic != MAGIC
                or length < MIN_BATCH_LENGTH
                or offset < next_offset
                or not 0 <= delta <= limit - offset
                or position + at + size > end
            ):
                _refuse_old_format(read, position + at, end)
                return
            if checksum:
                if at + size > asked:
                    wanted = size
                    break
                if crc32c(chunk[at + CRC_COVERS_FROM : at + size]) != crc:
                    return
            yield position + at, header
            next_offset = offset + delta + 1
            at += size
        position += at
    _refuse_old_format(read, position, end)


def _refuse_old_format(read: ReadAt, position: int, end: int) -> None:
    """A sound message of format 0 or 1 is somebody's data, not damage: nothing may be cut off there."""
    prefix = bytes(read(min(HEADER_SIZE, max(0, end - position)), position))
    if len(prefix) < 17 or prefix[16] not in (0, 1):
        return
    size = int.from_bytes(prefix[8:12], "big") + PREFIX_SIZE
    if not 26 <= size <= end - position:
        return
    message = bytes(read(size, position))
    if zlib.crc32(message[16:]) == int.from_bytes(message[12:16], "big"):
        raise LogError(
            ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT,
            f"message format {prefix[16]} at position {position}: only format 2 (Kafka 0.11 and later) can be read",
        )
