"""How many bytes a partition takes on disk, which librdkafka cannot ask (DescribeLogDirs).

Where brokers take no plaintext connections the answer is "unknown", and commands show a dash. It must never be the reason
for a command to fail.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, NamedTuple

from headrace.admin import direct

if TYPE_CHECKING:
    from headrace.admin.cluster import Cluster

_VERSION = 1
_VERSION_WITH_SPACE = 4
_TIMEOUT_S = 5.0


def partition_sizes(cluster: Cluster) -> dict[tuple[str, int], int]:
    """Bytes per (topic, partition), the largest replica of each; empty when the cluster does not let us ask."""
    if not direct.is_possible(cluster):
        return {}
    sizes: dict[tuple[str, int], int] = {}
    for address in direct.brokers(cluster, "DescribeLogDirs"):
        with contextlib.suppress(OSError, ValueError):
            for partition, size in _ask(address).items():
                sizes[partition] = max(size, sizes.get(partition, 0))
    return sizes


class Space(NamedTuple):
    """Bytes of the file systems that hold the logs."""

    total: int
    usable: int


def space(cluster: Cluster) -> Space | None:
    """Of all brokers together; None when the cluster does not let us ask, or is older than Kafka 3.3."""
    from headrace.wire.messages.describe_log_dirs import DescribeLogDirsRequest

    if not direct.is_possible(cluster):
        return None
    total = usable = 0
    for address in direct.brokers(cluster, "DescribeLogDirs"):
        with contextlib.suppress(OSError, ValueError):
            # Directories only: the sizes of no topic are asked for.
            answer = direct.ask(address, DescribeLogDirsRequest(topics=[]), _VERSION_WITH_SPACE, _TIMEOUT_S)
            total += sum(max(0, each.total_bytes) for each in answer.results)
            usable += sum(max(0, each.usable_bytes) for each in answer.results)
    return Space(total, usable) if total else None


def _ask(address: direct.Address) -> dict[tuple[str, int], int]:
    from headrace.wire.messages.describe_log_dirs import DescribeLogDirsRequest

    response = direct.ask(address, DescribeLogDirsRequest(topics=None), _VERSION, _TIMEOUT_S)
    return {
        (topic.name, partition.partition_index): partition.partition_size
        for directory in response.results
        for topic in directory.topics
        for partition in topic.partitions
        if not partition.is_future_key
    }
