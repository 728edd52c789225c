"""AddPartitionsToTxn: partitions that a transaction is about to write. Clients send versions 0-3, brokers 4 and up."""

from headrace.wire.schema import Message, Struct, array, boolean, int16, int32, int64, string


class AddPartitionsToTxnTopic(Struct):
    name: str = string()
    partitions: list[int] = array(int32())


class AddPartitionsToTxnTransaction(Struct):
    transactional_id: str = string(versions="4+")
    producer_id: int = int64(versions="4+")
    producer_epoch: int = int16(versions="4+")
    verify_only: bool = boolean(versions="4+")
    topics: list[AddPartitionsToTxnTopic] = array(AddPartitionsToTxnTopic, versions="4+")


class AddPartitionsToTxnRequest(Message, key=24, kind="request", versions="0-5", flexible="3+"):
    transactions: list[AddPartitionsToTxnTransaction] = array(AddPartitionsToTxnTransaction, versions="4+")
    v3_and_below_transactional_id: str = string(versions="0-3")
    v3_and_below_producer_id: int = int64(versions="0-3")
    v3_and_below_producer_epoch: int = int16(versions="0-3")
    v3_and_below_topics: list[AddPartitionsToTxnTopic] = array(AddPartitionsToTxnTopic, versions="0-3")


class AddPartitionsToTxnPartitionResult(Struct):
    partition_index: int = int32()
    partition_error_code: int = int16()


class AddPartitionsToTxnTopicResult(Struct):
    name: str = string()
    results_by_partition: list[AddPartitionsToTxnPartitionResult] = array(AddPartitionsToTxnPartitionResult)


class AddPartitionsToTxnResult(Struct):
    transactional_id: str = string(versions="4+")
    topic_results: list[AddPartitionsToTxnTopicResult] = array(AddPartitionsToTxnTopicResult, versions="4+")


class AddPartitionsToTxnResponse(Message, key=24, kind="response", versions="0-5", flexible="3+"):
    throttle_time_ms: int = int32()
    error_code: int = int16(versions="4+")
    results_by_transaction: list[AddPartitionsToTxnResult] = array(AddPartitionsToTxnResult, versions="4+")
    results_by_topic_v3_and_below: list[AddPartitionsToTxnTopicResult] = array(
        AddPartitionsToTxnTopicResult, versions="0-3"
    )
