"""A topic's own compression: batches that come in another codec are compressed anew before they are appended.

The records of a batch are the same bytes whatever their codec, so nothing is decoded: they are expanded and compressed, and
the codecs let go of the interpreter meanwhile.
"""

from __future__ import annotations

from headrace.storage.config import LogConfig
from headrace.storage.errors import AppendError
from headrace.wire.batch_header import CODEC_MASK, HEADER, HEADER_SIZE, LENGTH_OVERHEAD, read_header, write_crc
from headrace.wire.compression import Codec, compress, decompress
from headrace.wire.errors import ErrorCode, WireError

PRODUCER = "producer"
_CODECS = {"uncompressed": Codec.NONE, **{codec.name.lower(): codec for codec in Codec if codec}}


def target_codec(config: LogConfig) -> Codec | None:
    """What a topic stores; None if that is what producers send."""
    return _CODECS.get(config.compression_type)


def recompress(batch: memoryview, codec: Codec, level: int | None) -> bytearray:
    """The batch in another codec, with all else as it was. AppendError if its records cannot be expanded."""
    header = read_header(batch)
    try:
        records = decompress(header.codec, batch[HEADER_SIZE:])
    except WireError as error:
        raise AppendError(ErrorCode.INVALID_RECORD, f"the records cannot be decoded: {error}") from error
    payload = compress(codec, records, level)
    fields = header._replace(
        batch_length=HEADER_SIZE - LENGTH_OVERHEAD + len(payload), attributes=header.attributes & ~CODEC_MASK | codec
    )
    anew = bytearray(HEADER_SIZE)
    HEADER.pack_into(anew, 0, *fields)
    anew += payload
    write_crc(anew)
    return anew


def level(config: LogConfig, codec: Codec) -> int | None:
    levels = {
        Codec.GZIP: config.compression_gzip_level,
        Codec.LZ4: config.compression_lz4_level,
        Codec.ZSTD: config.compression_zstd_level,
    }
    return levels.get(codec)
