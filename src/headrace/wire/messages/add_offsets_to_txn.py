"""AddOffsetsToTxn: a group whose offsets a transaction is about to commit."""

from headrace.wire.schema import Message, int16, int32, int64, string


class AddOffsetsToTxnRequest(Message, key=25, kind="request", versions="0-4", flexible="3+"):
    transactional_id: str = string()
    producer_id: int = int64()
    producer_epoch: int = int16()
    group_id: str = string()


class AddOffsetsToTxnResponse(Message, key=25, kind="response", versions="0-4", flexible="3+"):
    throttle_time_ms: int = int32()
    error_code: int = int16()
