"""Topics of a cluster: what lies in them, making them and deleting them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from headrace.admin.cluster import Cluster
from headrace.admin.positions import Partition


def offset_ranges(cluster: Cluster, topics: Mapping[str, Any]) -> dict[Partition, tuple[int, int]]:
    """The first offset and the one after the last, for every partition of these topics."""
    from confluent_kafka.admin import OffsetSpec

    starts = start_offsets(cluster, topics)
    ends = cluster.offsets(_partitions(topics), OffsetSpec.latest())
    return {partition: (starts[partition], end) for partition, end in ends.items() if partition in starts}


def start_offsets(cluster: Cluster, topics: Mapping[str, Any]) -> dict[Partition, int]:
    from confluent_kafka.admin import OffsetSpec

    return cluster.offsets(_partitions(topics), OffsetSpec.earliest())


def _partitions(topics: Mapping[str, Any]) -> list[Any]:
    from confluent_kafka import TopicPartition

    return [TopicPartition(name, partition) for name, topic in topics.items() for partition in topic.partitions]


def per_topic(amounts: Mapping[Partition, int]) -> Counter[str]:
    """Amounts of partitions, added up."""
    totals: Counter[str] = Counter()
    for (topic, _), amount in amounts.items():
        totals[topic] += amount
    return totals


def create(
    cluster: Cluster, names: Iterable[str], partitions: int, replication_factor: int, settings: Mapping[str, str]
) -> None:
    """-1 for partitions or replicas means the broker's default."""
    from confluent_kafka.admin import NewTopic

    new = [
        NewTopic(name, num_partitions=partitions, replication_factor=replication_factor, config=dict(settings))
        for name in names
    ]
    if not new:
        return
    for name, future in cluster.admin().create_topics(new, operation_timeout=cluster.timeout_s).items():
        cluster.result(future, f"Cannot create '{name}'")


def delete(cluster: Cluster, names: Iterable[str]) -> None:
    """With all their records."""
    for name, future in cluster.admin().delete_topics(list(names), operation_timeout=cluster.timeout_s).items():
        cluster.result(future, f"Cannot delete '{name}'")
