"""EndTxn: commit or abort a transaction. From version 5 on the answer brings the producer's next epoch (KIP-890)."""

from headrace.wire.schema import Message, boolean, int16, int32, int64, string


class EndTxnRequest(Message, key=26, kind="request", versions="0-5", flexible="3+"):
    transactional_id: str = string()
    producer_id: int = int64()
    producer_epoch: int = int16()
    committed: bool = boolean()


class EndTxnResponse(Message, key=26, kind="response", versions="0-5", flexible="3+"):
    throttle_time_ms: int = int32()
    error_code: int = int16()
    producer_id: int = int64(-1, versions="5+")
    producer_epoch: int = int16(-1, versions="5+")
