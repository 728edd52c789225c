"""AlterReplicaLogDirs (key 34): move replicas to other log directories of this broker.

Behaviour: a replica that is in the directory already stays there, without an error. A directory that is not in log.dirs is
LOG_DIR_NOT_FOUND, one that failed KAFKA_STORAGE_ERROR. Of several directories for one partition the last counts.
Versions: 1-2.
Not implemented: the move itself, which is refused with UNSUPPORTED_VERSION; and to remember the directory for a partition that
does not exist yet, which Kafka does until it is restarted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker.context import RequestContext
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)

if TYPE_CHECKING:
    from headrace.broker.server import Broker

REQUEST = AlterReplicaLogDirsRequest
LONGEST_FOLDER_NAME = 255
FUTURE_SUFFIX = len(".0123456789abcdef0123456789abcdef-future")
"""What Kafka appends to the name of a log's folder while the log is on its way: a long name of a topic leaves no room for it."""


def handle(broker: Broker, request: AlterReplicaLogDirsRequest, context: RequestContext) -> AlterReplicaLogDirsResponse:
    wanted = {
        (topic.name, index): one.path for one in request.dirs for topic in one.topics for index in topic.partitions
    }
    results: dict[str, AlterReplicaLogDirTopicResult] = {}
    for (topic, index), path in wanted.items():
        row = AlterReplicaLogDirPartitionResult(partition_index=index, error_code=_move(broker, topic, index, path))
        results.setdefault(topic, AlterReplicaLogDirTopicResult(topic_name=topic)).partitions.append(row)
    return AlterReplicaLogDirsResponse(results=list(results.values()))


def _move(broker: Broker, topic: str, index: int, path: str) -> ErrorCode:
    """Kafka's errors in Kafka's order."""
    if len(f"{topic}-{index}") + FUTURE_SUFFIX > LONGEST_FOLDER_NAME:
        return ErrorCode.INVALID_TOPIC_EXCEPTION
    directory = next((one for one in broker.replicas.directories if str(one.files.path) == path), None)
    if directory is None:
        return ErrorCode.LOG_DIR_NOT_FOUND
    if directory.files.offline is not None:
        return ErrorCode.KAFKA_STORAGE_ERROR
    partition = broker.replicas.get(topic, index)
    if partition is None:
        known = broker.image.partition(topic, index) is not None
        return ErrorCode.REPLICA_NOT_AVAILABLE if known else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if partition.offline:
        return ErrorCode.KAFKA_STORAGE_ERROR
    return ErrorCode.NONE if partition.directory is directory else ErrorCode.UNSUPPORTED_VERSION
