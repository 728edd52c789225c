"""The four codecs of record batches: gzip 1, snappy 2, lz4 3, zstd 4.

Decompression never writes more than the limit it is given, whatever the data claims about itself. Compression writes what
Kafka's own readers accept: snappy in the blocks of the xerial library, lz4 in frames of independent blocks.
"""

from __future__ import annotations

from enum import IntEnum
from struct import Struct as Layout

import cramjam

from headrace.wire.errors import WireError
from headrace.wire.fields import Buffer

# More than any client puts into a batch, and little enough for one to be held in memory.
MAX_DECOMPRESSED = 128 << 20

_FIRST_GUESS = 64 << 10
_BLOCK = 64 << 10
_XERIAL_MAGIC = b"\x82SNAPPY\0"
_XERIAL_HEADER = _XERIAL_MAGIC + b"\0\0\0\1\0\0\0\1"
_XERIAL_BLOCK = 32 << 10
# No element of a snappy stream produces more than 64 bytes, and none is shorter than 2.
_SNAPPY_RATIO = 64
# Magic; flags: version 1, independent blocks; blocks of 64 KiB; the checksum of these flags.
_LZ4_HEADER = b"\x04\x22\x4d\x18\x60\x40\x82"
_LZ4_STORED = 0x80000000
_LZ4_SIZE = Layout("<I")
_SIZE = Layout(">i")


class Codec(IntEnum):
    """The low three bits of a batch's attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


_STREAMS = {
    Codec.GZIP: cramjam.gzip.decompress_into,
    Codec.LZ4: cramjam.lz4.decompress_into,
    Codec.ZSTD: cramjam.zstd.decompress_into,
}


def decompress(codec: int, data: Buffer, limit: int = MAX_DECOMPRESSED) -> Buffer:
    """The data in the clear; WireError if it is damaged, larger than `limit` bytes or of an unknown codec."""
    if codec == Codec.NONE:
        return data
    if codec == Codec.SNAPPY:
        return _decompress_snappy(data, limit)
    if codec not in _STREAMS:
        raise WireError(f"unknown compression codec {codec}")
    return _decompress_stream(Codec(codec), data, limit)


def compress(codec: int, data: Buffer, level: int | None = None) -> bytes:
    """The data compressed; levels as the codec counts them, None for Kafka's default. Snappy has none."""
    if codec == Codec.NONE:
        return bytes(data)
    if codec == Codec.GZIP:
        return bytes(cramjam.gzip.compress(data, 6 if level is None or level < 0 else level))
    if codec == Codec.SNAPPY:
        return _compress_snappy(data)
    if codec == Codec.LZ4:
        return _compress_lz4(data, 9 if level is None else level)
    if codec == Codec.ZSTD:
        return bytes(cramjam.zstd.compress(data, 3 if level is None else level))
    raise ValueError(f"unknown compression codec {codec}")


def _decompress_stream(codec: Codec, data: Buffer, limit: int) -> Buffer:
    """Decompresses into a buffer of a guessed size, and into a larger one up to the limit when that was too small."""
    size = min(limit, max(_FIRST_GUESS, 4 * len(data)))
    while True:
        output = bytearray(size)
        try:
            written = _STREAMS[codec](data, output)
        except cramjam.DecompressionError as error:
            if "failed to write whole buffer" not in str(error):
                raise WireError(f"{codec.name.lower()}: {error}") from None
            if size == limit:
                raise WireError(f"{codec.name.lower()}: more than {limit} bytes decompressed") from None
            size = min(limit, 8 * size)
        else:
            return memoryview(output)[:written]


def _decompress_snappy(data: Buffer, limit: int) -> Buffer:
    if bytes(data[: len(_XERIAL_MAGIC)]) != _XERIAL_MAGIC:
        return _decompress_snappy_block(data, limit)
    output = bytearray()
    position = len(_XERIAL_HEADER)
    while position < len(data):
        if position + _SIZE.size > len(data):
            raise WireError("snappy: a block's size runs past the end")
        (size,) = _SIZE.unpack_from(data, position)
        position += _SIZE.size
        if not 0 < size <= len(data) - position:
            raise WireError("snappy: a block runs past the end")
        output += _decompress_snappy_block(data[position : position + size], limit - len(output))
        position += size
    return output


def _decompress_snappy_block(data: Buffer, limit: int) -> bytes:
    try:
        size = cramjam.snappy.decompress_raw_len(data)
        if size > limit or size > _SNAPPY_RATIO * len(data):
            raise WireError(f"snappy: {size} bytes announced, which is too much")
        return bytes(cramjam.snappy.decompress_raw(data))
    except cramjam.DecompressionError as error:
        raise WireError(f"snappy: {error}") from None


def _compress_snappy(data: Buffer) -> bytes:
    view = memoryview(data)
    output = bytearray(_XERIAL_HEADER)
    # One block at least: some readers take a header alone for a raw snappy stream.
    for position in range(0, len(view) or 1, _XERIAL_BLOCK):
        block = bytes(cramjam.snappy.compress_raw(view[position : position + _XERIAL_BLOCK]))
        output += _SIZE.pack(len(block)) + block
    return bytes(output)


def _compress_lz4(data: Buffer, level: int) -> bytes:
    """An lz4 frame. Kafka's Java reader refuses blocks that refer to earlier ones, which the library's frames have."""
    view = memoryview(data)
    output = bytearray(_LZ4_HEADER)
    for position in range(0, len(view), _BLOCK):
        plain = view[position : position + _BLOCK]
        block = bytes(cramjam.lz4.compress_block(plain, mode="high_compression", compression=level, store_size=False))
        if len(block) < len(plain):
            output += _LZ4_SIZE.pack(len(block)) + block
        else:
            output += _LZ4_SIZE.pack(len(plain) | _LZ4_STORED) + plain
    output += _LZ4_SIZE.pack(0)
    return bytes(output)
