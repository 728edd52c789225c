"""What a batch must be before it is appended, with Kafka's error for each way it can fail.

The header is checked for every batch. Records are decoded only where the topic's settings ask about single records
(compaction wants keys, a lower timestamp bound wants every timestamp) or `headrace.validate.records` is on. Not checked
otherwise: that the records inside are well-formed and as many as the header says.
"""

from __future__ import annotations

from collections.abc import Iterator

from crc32c import crc32c

from headrace.storage.batches import CRC_COVERS_FROM, HEADER_SIZE, MIN_BATCH_LENGTH, PREFIX_SIZE
from headrace.storage.config import LogConfig
from headrace.storage.errors import AppendError, RecordError
from headrace.wire import control
from headrace.wire.batch import NO_TIMESTAMP, BatchHeader, Record, iter_records, read_header
from headrace.wire.compression import MAX_DECOMPRESSED
from headrace.wire.errors import ErrorCode, WireError

MAGIC = 2
MOST_IN_PASSING = 500
"""Records of one batch that may be looked at on the way into the log, which everybody else waits for."""
MOST_EXPANDED_IN_PASSING = 16 * 1024 * 1024
MOST_NAMED = 1000
"""Records that an answer names one by one, of however many were wrong."""
_CODEC_MASK = 0x07
_MAX_CODEC = 4
_APPEND_TIME = 0x08
_TRANSACTIONAL = 0x10
_CONTROL = 0x20


class NotOneBatch(AppendError):
    """What was sent is no batch, or more than one: it does not even get as far as the log."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.INVALID_RECORD, message)


def read_one_batch(batch: memoryview) -> BatchHeader:
    """The header of the one batch that `batch` must be, whoever sent it."""
    size = len(batch)
    if size < HEADER_SIZE or batch[16] != MAGIC:
        # Kafka 4 refuses the message formats of 0.11 and before in the same words as an empty batch.
        if size >= HEADER_SIZE and batch[16] > MAGIC:
            raise AppendError(ErrorCode.CORRUPT_MESSAGE, f"there is no message format {batch[16]}")
        raise NotOneBatch("exactly one record batch of message format 2 is needed for each partition")
    header = read_header(batch)
    length = header[1]
    if length < MIN_BATCH_LENGTH:
        raise AppendError(ErrorCode.CORRUPT_MESSAGE, f"a record batch cannot have length {length}")
    if length + PREFIX_SIZE != size:
        raise NotOneBatch(f"{size} bytes of records are not exactly one record batch of {length + PREFIX_SIZE} bytes")
    return header


def check_client_batch(header: BatchHeader, batch: memoryview, config: LogConfig, now_ms: int) -> None:
    """Everything a client can get wrong, cheapest question first."""
    base_offset, _, _, _, crc, attributes, delta, _, max_timestamp, producer_id, epoch, base_sequence, count = header
    size = len(batch)
    if size > config.max_message_bytes:
        raise AppendError(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"the record batch has {size} bytes, more than max.message.bytes={config.max_message_bytes}",
        )
    if crc32c(batch[CRC_COVERS_FROM:]) != crc:
        raise AppendError(ErrorCode.CORRUPT_MESSAGE, "the CRC of the record batch does not match its bytes")
    if base_offset != 0:
        raise _invalid(f"the base offset of a record batch to append must be 0, not {base_offset}")
    if count <= 0 or delta + 1 != count:
        raise _invalid(f"a last offset delta of {delta} contradicts a count of {count} records")
    if attributes & (_CONTROL | _TRANSACTIONAL | _APPEND_TIME) or attributes & _CODEC_MASK > _MAX_CODEC:
        _check_attributes(attributes, producer_id)
    if producer_id >= 0 and base_sequence < 0:
        raise _invalid(f"producer {producer_id} sent sequence {base_sequence} in epoch {epoch}")
    if config.message_timestamp_type != "LogAppendTime":
        ahead = max_timestamp - now_ms
        if ahead > config.message_timestamp_after_max_ms and not config.compact:
            raise _from_the_future(header, batch, config, now_ms)


def read_marker(batch: memoryview) -> control.Marker | None:
    """What a control batch of a producer says; None for one that compaction has emptied."""
    try:
        return control.read_marker(batch)
    except WireError as error:
        raise _invalid(f"the transaction marker cannot be decoded: {error}") from error


def _check_attributes(attributes: int, producer_id: int) -> None:
    if attributes & _CODEC_MASK > _MAX_CODEC:
        raise AppendError(
            ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, f"there is no compression codec {attributes & _CODEC_MASK}"
        )
    if attributes & _CONTROL:
        raise _invalid("clients are not allowed to write control records")
    if attributes & _TRANSACTIONAL and producer_id < 0:
        raise _invalid("a transactional record batch needs a producer id")
    if attributes & _APPEND_TIME:
        raise AppendError(ErrorCode.INVALID_TIMESTAMP, "a producer cannot set the timestamp type to LogAppendTime")


def is_quick_to_check(header: BatchHeader) -> bool:
    """Whether its records can be looked at in passing. What is compressed may be much, whatever its header says."""
    return header.codec == 0 and header.record_count <= MOST_IN_PASSING


def check_records(batch: memoryview, config: LogConfig, now_ms: int) -> None:
    """The record by record checks, for topics that need them. A record without a key is not asked for its time."""
    keyless, late = 0, 0
    errors: list[RecordError] = []
    in_time = _in_time(config, now_ms)
    for index, record in enumerate(_decode(batch)):
        if config.compact and record.key is None:
            keyless += 1
            message = "a compacted topic cannot take a record without a key"
        elif not config.log_append_time and record.timestamp not in in_time and record.timestamp != NO_TIMESTAMP:
            late += 1
            message = _out_of_range(record.timestamp, in_time)
        else:
            continue
        if len(errors) < MOST_NAMED:
            errors.append(RecordError(index, message))
    if late:
        raise _timestamps_out_of_range(errors)
    if keyless:
        raise AppendError(
            ErrorCode.INVALID_RECORD, f"{keyless} records have no key on a compacted topic", tuple(errors)
        )


def _decode(batch: memoryview, limit: int = MAX_DECOMPRESSED) -> Iterator[Record]:
    try:
        yield from iter_records(batch, limit=limit)
    except WireError as error:
        raise _invalid(f"the records cannot be decoded: {error}") from error


def _in_time(config: LogConfig, now_ms: int) -> range:
    """The timestamps that a topic takes now."""
    oldest = now_ms - config.message_timestamp_before_max_ms
    return range(oldest, now_ms + config.message_timestamp_after_max_ms + 1)


def _out_of_range(timestamp: int, in_time: range) -> str:
    return f"timestamp {timestamp} is not within [{in_time.start}, {in_time.stop - 1}]"


def _from_the_future(header: BatchHeader, batch: memoryview, config: LogConfig, now_ms: int) -> AppendError:
    """The header says that a record is: find out which, for the answer, unless that would take long."""
    if header.record_count > MOST_NAMED:
        return _timestamps_out_of_range([])
    in_time = _in_time(config, now_ms)
    errors = [
        RecordError(index, _out_of_range(record.timestamp, in_time))
        for index, record in enumerate(_decode(batch, MOST_EXPANDED_IN_PASSING))
        if record.timestamp not in in_time and record.timestamp != NO_TIMESTAMP
    ]
    return _timestamps_out_of_range(errors)


def _timestamps_out_of_range(errors: list[RecordError]) -> AppendError:
    return AppendError(ErrorCode.INVALID_TIMESTAMP, "one or more records have a timestamp out of range", tuple(errors))


def _invalid(message: str) -> AppendError:
    return AppendError(ErrorCode.INVALID_RECORD, message)
