"""What a batch must be before it is appended, with Kafka's error for each way it can fail.

The header is checked for every batch. Records are decoded only where the topic's settings ask about single records
(compaction wants keys, a lower timestamp bound wants every timestamp) or `headrace.validate.records` is on. Not checked
otherwise: that the records inside are well-formed and as many as the header says.
"""

from __future__ import annotations

from crc32c import crc32c

from headrace.storage.batches import CRC_COVERS_FROM, HEADER_SIZE, MIN_BATCH_LENGTH, PREFIX_SIZE
from headrace.storage.config import LogConfig
from headrace.storage.errors import AppendError, RecordError
from headrace.wire import control
from headrace.wire.batch import BatchHeader, Record, decode_records, read_header
from headrace.wire.errors import ErrorCode, WireError

MAGIC = 2
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
            raise _timestamps_out_of_range(batch, config, now_ms)


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


def check_records(batch: memoryview, config: LogConfig, now_ms: int) -> None:
    """The record by record checks, for topics that need them. A record without a key is not asked for its time."""
    records = _decode(batch)
    errors: list[RecordError] = []
    if config.compact:
        errors = [
            RecordError(index, "a compacted topic cannot take a record without a key")
            for index, record in enumerate(records)
            if record.key is None
        ]
    keyless = {error.batch_index for error in errors}
    late = [] if config.log_append_time else _timestamp_errors(records, config, now_ms)
    late = [error for error in late if error.batch_index not in keyless]
    if late:
        raise AppendError(
            ErrorCode.INVALID_TIMESTAMP,
            "one or more records have a timestamp out of range",
            tuple(sorted(errors + late)),
        )
    if errors:
        raise AppendError(
            ErrorCode.INVALID_RECORD, f"{len(errors)} records have no key on a compacted topic", tuple(errors)
        )


def _decode(batch: memoryview) -> list[Record]:
    try:
        return decode_records(batch)
    except WireError as error:
        raise _invalid(f"the records cannot be decoded: {error}") from error


def _timestamp_errors(records: list[Record], config: LogConfig, now_ms: int) -> list[RecordError]:
    oldest = now_ms - config.message_timestamp_before_max_ms
    newest = now_ms + config.message_timestamp_after_max_ms
    return [
        RecordError(index, f"timestamp {record.timestamp} is not within [{oldest}, {newest}]")
        for index, record in enumerate(records)
        if record.timestamp != -1 and not oldest <= record.timestamp <= newest
    ]


def _timestamps_out_of_range(batch: memoryview, config: LogConfig, now_ms: int) -> AppendError:
    """The header says a record is from the future: find out which, for the answer."""
    return AppendError(
        ErrorCode.INVALID_TIMESTAMP,
        "one or more records have a timestamp out of range",
        tuple(_timestamp_errors(_decode(batch), config, now_ms)),
    )


def _invalid(message: str) -> AppendError:
    return AppendError(ErrorCode.INVALID_RECORD, message)
