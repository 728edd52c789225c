"""DescribeLogDirs (key 35): the log directories of this broker, what lies in them and how full their disks are.

Behaviour: all partitions for a null list of topics. A directory that failed is listed with KAFKA_STORAGE_ERROR and without partitions.
Versions: 1-5. Sizes of disks from 4 on.
Not implemented: replicas on their way to another directory, and cordoned directories; there are none.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from headrace.broker.context import RequestContext
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)

if TYPE_CHECKING:
    from headrace.broker.server import Broker
    from headrace.replica.replicas import ReplicaDirectory

REQUEST = DescribeLogDirsRequest


def handle(broker: Broker, request: DescribeLogDirsRequest, context: RequestContext) -> DescribeLogDirsResponse:
    wanted = None
    if request.topics is not None:
        wanted = {(topic.topic, index) for topic in request.topics for index in topic.partitions}
    return DescribeLogDirsResponse(results=[_directory(one, wanted) for one in broker.replicas.directories])


def _directory(directory: ReplicaDirectory, wanted: set[tuple[str, int]] | None) -> DescribeLogDirsResult:
    path = str(directory.files.path)
    if directory.files.offline is not None:
        return DescribeLogDirsResult(error_code=ErrorCode.KAFKA_STORAGE_ERROR, log_dir=path)
    topics: dict[str, list[DescribeLogDirsPartition]] = {}
    for partition in directory.partitions:
        if wanted is None or (partition.topic, partition.partition) in wanted:
            row = DescribeLogDirsPartition(partition_index=partition.partition, partition_size=partition.log.size)
            topics.setdefault(partition.topic, []).append(row)
    disk = shutil.disk_usage(path)
    return DescribeLogDirsResult(
        log_dir=path,
        topics=[
            DescribeLogDirsTopic(name=name, partitions=sorted(rows, key=lambda row: row.partition_index))
            for name, rows in sorted(topics.items())
        ],
        total_bytes=disk.total,
        usable_bytes=disk.free,
    )
