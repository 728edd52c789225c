"""Records of `__transaction_state`: one per change of a transactional id.

key:   int16 version, 0 | message
value: int16 version    | message        a null value is a tombstone
"""

from struct import Struct as Layout

from headrace.wire.errors import WireError
from headrace.wire.schema import Buffer, Message, Struct, array, int8, int16, int32, int64, string


class TransactionLogKey(Message, key=0, kind="key", versions="0", flexible="none"):
    transactional_id: str = string()


class PartitionsSchema(Struct):
    topic: str = string()
    partition_ids: list[int] = array(int32())


class TransactionLogValue(Message, key=0, kind="value", versions="0-1", flexible="1+"):
    producer_id: int = int64()
    previous_producer_id: int = int64(-1, versions="1+", tag=0)
    next_producer_id: int = int64(-1, versions="1+", tag=1)
    producer_epoch: int = int16()
    next_producer_epoch: int = int16(-1, versions="1+", tag=3)
    transaction_timeout_ms: int = int32()
    transaction_status: int = int8()
    transaction_partitions: list[PartitionsSchema] | None = array(PartitionsSchema, nullable="0+")
    transaction_last_update_timestamp_ms: int = int64()
    transaction_start_timestamp_ms: int = int64()
    client_transaction_version: int = int16(0, versions="1+", tag=2)


_PREFIX = Layout(">h")


class UnknownKey(WireError):
    """A key of a version that this Headrace does not know."""


def encode_key(key: TransactionLogKey) -> bytes:
    return _PREFIX.pack(key.KEY) + key.encode(0)


def decode_key(data: Buffer) -> TransactionLogKey:
    version = _prefix(data)
    if version != TransactionLogKey.KEY:
        raise UnknownKey(f"transaction record of unknown type {version}")
    return TransactionLogKey.decode(data, 0, _PREFIX.size)


def encode_value(value: TransactionLogValue, version: int) -> bytes:
    return _PREFIX.pack(version) + value.encode(version)


def decode_value(data: Buffer) -> TransactionLogValue:
    return TransactionLogValue.decode(data, _prefix(data), _PREFIX.size)


def _prefix(data: Buffer) -> int:
    if len(data) < _PREFIX.size:
        raise WireError("transaction record is shorter than its prefix")
    prefix: int = _PREFIX.unpack_from(data)[0]
    return prefix
