"""Batches take the codec of their topic and nothing else changes."""

from __future__ import annotations

import pytest

from headrace.replica.recompression import recompress
from headrace.storage.errors import AppendError
from headrace.wire.batch import Record, check_crc, decode_records, encode_batch, read_header
from headrace.wire.compression import Codec

RECORDS = [Record(number, 1000 + number, b"key", b"value" * 50, (("h", b"x"),)) for number in range(40)]


@pytest.mark.parametrize("source", Codec)
@pytest.mark.parametrize("target", Codec)
def test_any_codec_into_any(source: Codec, target: Codec) -> None:
    batch = encode_batch(RECORDS, codec=source, producer_id=4, producer_epoch=2, base_sequence=9, is_transactional=True)
    anew = recompress(memoryview(batch), target, None)
    assert check_crc(anew)
    assert decode_records(anew) == RECORDS
    before, after = read_header(batch), read_header(anew)
    assert after.codec == target
    same = {"batch_length": 0, "crc": 0, "attributes": 0}
    assert after._replace(**same) == before._replace(**same)
    assert after.attributes & ~7 == before.attributes & ~7


def test_a_level_counts() -> None:
    batch = memoryview(encode_batch(RECORDS * 1))
    assert len(recompress(batch, Codec.ZSTD, 19)) <= len(recompress(batch, Codec.ZSTD, -100))


def test_what_cannot_be_expanded_is_refused() -> None:
    batch = encode_batch(RECORDS, codec=Codec.ZSTD)
    batch[70:] = bytes(len(batch) - 70)
    with pytest.raises(AppendError, match="decoded"):
        recompress(memoryview(batch), Codec.NONE, None)
