"""Transaction markers: the control batch that ends a transaction in one partition.

A marker is one control record in a batch of its own, written by a broker for a producer. It has no sequence number. Not
compressed and without headers it always has the same 78 bytes but for its fields:

    61  record: length 16, attributes 0, timestamp delta 0, offset delta 0 | length 4, key | length 6, value | no headers
    66  key:    int16 version = 0 | int16 type, 0 abort, 1 commit
    71  value:  int16 version = 0 | int32 epoch of the transaction coordinator
"""

from __future__ import annotations

from struct import Struct as Layout
from typing import NamedTuple

from headrace.wire.batch import decode_records
from headrace.wire.batch_header import (
    CODEC_MASK,
    CONTROL_BIT,
    HEADER,
    LENGTH_OVERHEAD,
    MAGIC,
    NO_SEQUENCE,
    TRANSACTIONAL_BIT,
    read_header,
    write_crc,
)
from headrace.wire.errors import WireError
from headrace.wire.fields import Buffer
from headrace.wire.records.control import ControlType, EndTxnMarker, decode_control

MARKER_SIZE = 78
_RECORD = Layout(">5shhshis")
_RECORD_AT = 61
# Varints are zigzag: 16, 0, 0, 0 and 4; then 6; then 0.
_BEFORE_KEY, _BEFORE_VALUE, _NO_HEADERS = b"\x20\0\0\0\x08", b"\x0c", b"\0"


class Marker(NamedTuple):
    """The end of a transaction, as far as a log is concerned."""

    commit: bool
    coordinator_epoch: int


def encode_marker(
    producer_id: int, producer_epoch: int, commit: bool, coordinator_epoch: int, now_ms: int
) -> bytearray:
    """The batch that commits or aborts the producer's transaction in the partition it is appended to."""
    batch = bytearray(MARKER_SIZE)
    attributes = TRANSACTIONAL_BIT | CONTROL_BIT
    HEADER.pack_into(
        batch, 0, 0, MARKER_SIZE - LENGTH_OVERHEAD, -1, MAGIC, 0, attributes, 0, now_ms, now_ms,
        producer_id, producer_epoch, NO_SEQUENCE, 1,
    )  # fmt: skip
    _RECORD.pack_into(batch, _RECORD_AT, _BEFORE_KEY, 0, int(commit), _BEFORE_VALUE, 0, coordinator_epoch, _NO_HEADERS)
    write_crc(batch)
    return batch


def read_marker(batch: Buffer) -> Marker | None:
    """What a control batch of a producer says. None for one that compaction has emptied; WireError for anything else."""
    header = read_header(batch)
    if header.record_count == 0:
        return None
    if len(batch) == MARKER_SIZE and not header.attributes & CODEC_MASK:
        before, key_version, kind, between, version, coordinator_epoch, after = _RECORD.unpack_from(batch, _RECORD_AT)
        usual = (before, key_version, between, version, after) == (_BEFORE_KEY, 0, _BEFORE_VALUE, 0, _NO_HEADERS)
        if usual and kind in (ControlType.ABORT, ControlType.COMMIT):
            return Marker(kind == ControlType.COMMIT, coordinator_epoch)
    return _decode_marker(batch)


def _decode_marker(batch: Buffer) -> Marker | None:
    """The general way: a marker that somebody wrote in another form."""
    records = decode_records(batch)
    if not records:
        return None
    record = records[0]
    decoded = decode_control(record.key or b"", record.value or b"")
    if decoded is None or not isinstance(decoded[1], EndTxnMarker):
        raise WireError("control record of a producer that does not end a transaction")
    return Marker(decoded[0] == ControlType.COMMIT, decoded[1].coordinator_epoch)
