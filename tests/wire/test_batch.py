"""Record batches: against kafka-python's in both directions, and against any bytes."""

from __future__ import annotations

import contextlib
import random
import tracemalloc

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kafka.record import MemoryRecords, MemoryRecordsBuilder

from headrace.wire import batch
from headrace.wire.batch import Record, TimestampType
from headrace.wire.compression import Codec
from headrace.wire.errors import WireError

FEW = settings(max_examples=25, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck))
MANY = settings(FEW, max_examples=1500)
CODECS = pytest.mark.parametrize("codec", list(Codec))

BYTES = st.none() | st.binary(max_size=20) | st.integers(100, 3000).map(lambda size: b"ab" * size)
HEADERS = st.lists(st.tuples(st.text(max_size=5), st.none() | st.binary(max_size=5)), max_size=3).map(tuple)
RECORDS = st.lists(
    st.builds(Record, offset=st.just(-1), timestamp=st.integers(0, 1 << 42), key=BYTES, value=BYTES, headers=HEADERS),
    min_size=1,
    max_size=8,
)
SAMPLE = [Record(-1, 1000 + i, b"key-%d" % i, b"value" * i, (("h", b"x"), ("null", None))) for i in range(20)]


def numbered(records: list[Record], base_offset: int) -> list[Record]:
    return [record._replace(offset=base_offset + i) for i, record in enumerate(records)]


@CODECS
def test_kafka_python_reads_what_we_write(codec: int) -> None:
    @FEW
    @given(RECORDS, st.integers(0, 1 << 50))
    def check(records: list[Record], base_offset: int) -> None:
        data = batch.encode_batch(
            records, base_offset=base_offset, codec=codec, producer_id=5, producer_epoch=1, base_sequence=9
        )
        theirs = MemoryRecords(bytes(data)).next_batch()
        assert theirs.validate_crc()
        assert (theirs.base_offset, theirs.producer_id, theirs.base_sequence) == (base_offset, 5, 9)
        found = [Record(r.offset, r.timestamp, r.key, r.value, tuple(r.headers)) for r in theirs]
        assert found == numbered(records, base_offset)

    check()


@CODECS
def test_we_read_what_kafka_python_writes(codec: int) -> None:
    @FEW
    @given(RECORDS)
    def check(records: list[Record]) -> None:
        builder = MemoryRecordsBuilder(magic=2, compression_type=codec, batch_size=1 << 20)
        for record in records:
            builder.append(timestamp=record.timestamp, key=record.key, value=record.value, headers=list(record.headers))
        builder.close()
        data = bytes(builder.buffer())
        header = batch.read_header(data)
        assert header.size == len(data) and batch.check_crc(data)
        assert header.codec in (codec, Codec.NONE)
        assert header.max_timestamp == max(record.timestamp for record in records)
        assert batch.decode_records(data) == numbered(records, 0)

    check()


@CODECS
def test_round_trip(codec: int) -> None:
    data = batch.encode_batch(SAMPLE, base_offset=7, codec=codec)
    assert batch.check_crc(data)
    assert batch.decode_records(memoryview(data)) == numbered(SAMPLE, 7)
    assert batch.decode_records(b"padding" + data, 7) == numbered(SAMPLE, 7)


def test_header_byte_by_byte() -> None:
    data = batch.encode_batch(
        [Record(timestamp=5, value=b"v")],
        base_offset=1,
        producer_id=2,
        producer_epoch=3,
        base_sequence=4,
        leader_epoch=6,
        is_transactional=True,
        is_control=True,
        timestamp_type=TimestampType.LOG_APPEND_TIME,
    )
    assert data.hex(" ") == (
        "00 00 00 00 00 00 00 01 00 00 00 39 00 00 00 06 02 "
        + data[17:21].hex(" ")
        + " 00 38 00 00 00 00 00 00 00 00 00 00 00 05 00 00 00 00 00 00 00 05 "
        "00 00 00 00 00 00 00 02 00 03 00 00 00 04 00 00 00 01 "
        "0e 00 00 00 01 02 76 00"
    )
    header = batch.read_header(data)
    assert (header.is_transactional, header.is_control, header.timestamp_type) == (True, True, 1)
    assert header.partition_leader_epoch == 6


def test_patching_leaves_the_checksum_alone() -> None:
    data = batch.encode_batch(SAMPLE)
    batch.patch(data, 12345, 7)
    header = batch.read_header(data)
    assert (header.base_offset, header.partition_leader_epoch, header.last_offset) == (12345, 7, 12364)
    assert batch.check_crc(data)


def test_append_time_counts_for_every_record() -> None:
    data = batch.encode_batch(SAMPLE)
    batch.set_append_time(memoryview(data), 99999)
    header = batch.read_header(data)
    assert header.timestamp_type is TimestampType.LOG_APPEND_TIME
    assert header.max_timestamp == 99999
    assert batch.check_crc(data)
    assert {record.timestamp for record in batch.decode_records(data)} == {99999}


def test_every_changed_byte_breaks_the_checksum() -> None:
    data = batch.encode_batch(SAMPLE)
    for position in range(batch.HEADER_SIZE - 44, len(data)):
        changed = bytearray(data)
        changed[position] ^= 0x10
        assert not batch.check_crc(changed)
    assert not any(batch.check_crc(data[:end]) for end in range(len(data)))


def test_sequence_numbers_wrap() -> None:
    header = batch.read_header(batch.encode_batch(SAMPLE[:3], producer_id=1, base_sequence=0x7FFFFFFE))
    assert header.last_sequence == 0
    assert batch.read_header(batch.encode_batch(SAMPLE)).last_sequence == batch.NO_SEQUENCE


def test_what_compaction_needs() -> None:
    kept = [Record(offset=12, timestamp=50, key=b"k"), Record(offset=15, timestamp=40, key=b"l", value=b"v")]
    data = batch.encode_batch(kept, base_offset=10, last_offset_delta=9, delete_horizon_ms=1000)
    header = batch.read_header(data)
    assert (header.last_offset, header.delete_horizon_ms, header.max_timestamp) == (19, 1000, 50)
    assert batch.decode_records(data) == kept
    empty = batch.encode_batch([], base_offset=10, last_offset_delta=9, codec=Codec.ZSTD)
    assert batch.read_header(empty).last_offset == 19
    assert batch.decode_records(empty) == []
    with pytest.raises(ValueError, match="does not come after"):
        batch.encode_batch([Record(offset=3), Record(offset=3)])


def test_several_batches_one_after_the_other() -> None:
    first, second = batch.encode_batch(SAMPLE), batch.encode_batch(SAMPLE, base_offset=20)
    found = list(batch.iter_batches(memoryview(first + second)))
    assert [(position, header.base_offset) for position, header in found] == [(0, 0), (len(first), 20)]
    with pytest.raises(WireError, match="are left"):
        list(batch.iter_batches(first + second[:-1]))
    with pytest.raises(WireError, match="shorter than its header"):
        list(batch.iter_batches(first + b"\0"))


def decodes_or_refuses(data: bytes) -> None:
    with contextlib.suppress(WireError):
        batch.decode_records(data)


@MANY
@given(st.sampled_from(Codec), st.integers(0, 1 << 32), st.integers(0, 61))
def test_changed_batches(codec: int, seed: int, start: int) -> None:
    chance = random.Random(seed)
    data = batch.encode_batch(SAMPLE[:5], codec=codec)
    for _ in range(chance.randint(1, 3)):
        data[chance.randrange(start, len(data))] = chance.choice((0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)))
    decodes_or_refuses(bytes(data))


@MANY
@given(st.integers(0, 7), st.integers(-3, 300), st.binary(max_size=120))
def test_any_records(codec: int, count: int, body: bytes) -> None:
    data = batch.encode_batch([])
    data[8:12] = (49 + len(body)).to_bytes(4, "big")
    data[22] = codec
    data[57:61] = count.to_bytes(4, "big", signed=True)
    decodes_or_refuses(bytes(data) + body)


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_bombs_are_not_inflated(codec: int) -> None:
    bomb = bytes(batch.encode_batch([Record(value=bytes(20 << 20))], codec=codec))
    tracemalloc.start()
    try:
        with pytest.raises(WireError):
            batch.decode_records(bomb, limit=1 << 20)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 3 << 20


def test_counts_are_bounded_by_the_bytes() -> None:
    data = batch.encode_batch(SAMPLE)
    data[57:61] = (0x7FFFFFFF).to_bytes(4, "big")
    with pytest.raises(WireError, match="cannot hold 2147483647 records"):
        batch.decode_records(data)


@pytest.mark.parametrize("magic", [0, 1, 3])
def test_other_formats_are_refused(magic: int) -> None:
    data = batch.encode_batch(SAMPLE)
    data[16] = magic
    with pytest.raises(WireError, match=f"magic {magic}"):
        batch.decode_records(data)
