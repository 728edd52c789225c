"""DescribeLogDirs: the log directories of a broker and what lies in them."""

from headrace.wire.schema import Message, Struct, array, boolean, int16, int32, int64, string


class DescribableLogDirTopic(Struct):
    topic: str = string()
    partitions: list[int] = array(int32())


class DescribeLogDirsRequest(Message, key=35, kind="request", versions="1-5", flexible="2+"):
    topics: list[DescribableLogDirTopic] | None = array(DescribableLogDirTopic, nullable="0+")


class DescribeLogDirsPartition(Struct):
    partition_index: int = int32()
    partition_size: int = int64()
    offset_lag: int = int64()
    is_future_key: bool = boolean()


class DescribeLogDirsTopic(Struct):
    name: str = string()
    partitions: list[DescribeLogDirsPartition] = array(DescribeLogDirsPartition)


class DescribeLogDirsResult(Struct):
    error_code: int = int16()
    log_dir: str = string()
    topics: list[DescribeLogDirsTopic] = array(DescribeLogDirsTopic)
    total_bytes: int = int64(-1, versions="4+")
    usable_bytes: int = int64(-1, versions="4+")
    is_cordoned: bool = boolean(versions="5+")


class DescribeLogDirsResponse(Message, key=35, kind="response", versions="1-5", flexible="2+"):
    throttle_time_ms: int = int32()
    error_code: int = int16(versions="3+")
    results: list[DescribeLogDirsResult] = array(DescribeLogDirsResult)
