"""The four codecs against other libraries, in both directions."""

from __future__ import annotations

import contextlib
import gzip
import random

import kafka.codec
import lz4.frame
import pytest
import snappy
import zstandard

from headrace.wire.compression import Codec, compress, decompress
from headrace.wire.errors import WireError

COMPRESSIBLE = b"the same words again and again, " * 10_000
RANDOM = random.Random(5).randbytes(200_000)
SAMPLES = pytest.mark.parametrize("data", [b"", b"x", COMPRESSIBLE, RANDOM], ids=["empty", "one", "words", "random"])
COMPRESSING = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD]

THEIR_READERS = {
    Codec.GZIP: gzip.decompress,
    Codec.SNAPPY: kafka.codec.snappy_decode,
    Codec.LZ4: lz4.frame.decompress,
    Codec.ZSTD: lambda data: zstandard.ZstdDecompressor().decompressobj().decompress(data),
}
THEIR_WRITERS = {
    "gzip": (Codec.GZIP, gzip.compress),
    "snappy raw": (Codec.SNAPPY, snappy.compress),
    "snappy xerial": (Codec.SNAPPY, kafka.codec.snappy_encode),
    "lz4 linked blocks": (Codec.LZ4, lambda data: lz4.frame.compress(data, block_linked=True)),
    "lz4 with checksums": (
        Codec.LZ4,
        lambda data: lz4.frame.compress(data, content_checksum=True, block_checksum=True),
    ),
    "zstd": (Codec.ZSTD, zstandard.ZstdCompressor().compress),
    "zstd without size": (Codec.ZSTD, zstandard.ZstdCompressor(write_content_size=False).compress),
}


@SAMPLES
@pytest.mark.parametrize("codec", list(Codec))
def test_round_trip(codec: Codec, data: bytes) -> None:
    assert decompress(codec, compress(codec, data)) == data
    assert decompress(codec, memoryview(compress(codec, memoryview(data)))) == data


@SAMPLES
@pytest.mark.parametrize("codec", COMPRESSING)
def test_others_read_ours(codec: Codec, data: bytes) -> None:
    assert THEIR_READERS[codec](compress(codec, data)) == data


@SAMPLES
@pytest.mark.parametrize("writer", THEIR_WRITERS)
def test_we_read_theirs(writer: str, data: bytes) -> None:
    codec, write = THEIR_WRITERS[writer]
    assert decompress(codec, write(data)) == data


def test_lz4_blocks_are_independent() -> None:
    """Kafka's Java reader refuses frames whose blocks refer to earlier ones."""
    info = lz4.frame.get_frame_info(compress(Codec.LZ4, COMPRESSIBLE))
    assert info["block_linked"] is False
    assert info["block_size"] == 64 << 10


@pytest.mark.parametrize("codec", COMPRESSING)
def test_levels(codec: Codec) -> None:
    for level in (1, 9):
        assert decompress(codec, compress(codec, COMPRESSIBLE, level)) == COMPRESSIBLE


@pytest.mark.parametrize("codec", COMPRESSING)
def test_the_limit_holds_to_the_byte(codec: Codec) -> None:
    data = compress(codec, COMPRESSIBLE)
    assert decompress(codec, data, limit=len(COMPRESSIBLE)) == COMPRESSIBLE
    with pytest.raises(WireError):
        decompress(codec, data, limit=len(COMPRESSIBLE) - 1)


@pytest.mark.parametrize("codec", COMPRESSING)
def test_damaged_data(codec: Codec) -> None:
    chance = random.Random(codec)
    data = compress(codec, COMPRESSIBLE[:5000])
    for _ in range(500):
        changed = bytearray(data)
        changed[chance.randrange(len(changed))] = chance.randrange(256)
        del changed[chance.randrange(len(changed)) + 1 :]
        with contextlib.suppress(WireError):
            decompress(codec, changed, limit=1 << 20)


@pytest.mark.parametrize("codec", [5, 6, 7])
def test_unknown_codecs(codec: int) -> None:
    with pytest.raises(WireError, match=f"unknown compression codec {codec}"):
        decompress(codec, b"")
    with pytest.raises(ValueError, match="unknown"):
        compress(codec, b"")


def test_snappy_that_announces_too_much() -> None:
    with pytest.raises(WireError, match="too much"):
        decompress(Codec.SNAPPY, b"\xff\xff\xff\xff\x07" + bytes(10))
    with pytest.raises(WireError, match="runs past the end"):
        decompress(Codec.SNAPPY, b"\x82SNAPPY\0\0\0\0\1\0\0\0\1\x7f\xff\xff\xff")
