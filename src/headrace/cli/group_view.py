"""Consumer groups as the cluster describes them: members, committed offsets, lag, and where a reset would move them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from headrace.cli.cluster import Cluster
from headrace.cli.errors import CliError, unknown_group
from headrace.cli.positions import Partition


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a group is in one partition, and which member reads it."""

    topic: str
    partition: int
    committed: int | None
    end: int | None
    member: str | None = None
    client_id: str | None = None
    host: str | None = None

    @property
    def lag(self) -> int | None:
        return None if self.committed is None or self.end is None else max(0, self.end - self.committed)


def listed(cluster: Cluster) -> dict[str, Any]:
    """All consumer groups by name."""
    found = cluster.result(
        cluster.admin().list_consumer_groups(request_timeout=cluster.timeout_s), "Cannot list groups"
    )
    return {group.group_id: group for group in sorted(found.valid, key=lambda group: group.group_id)}


def described(cluster: Cluster, groups: Iterable[str]) -> dict[str, Any]:
    """State, members and assignments of groups."""
    futures = cluster.admin().describe_consumer_groups(list(groups), request_timeout=cluster.timeout_s)
    return {name: cluster.result(future, f"Cannot describe group '{name}'") for name, future in futures.items()}


def existing(cluster: Cluster, name: str) -> Any:
    """The description of a group that exists, or the error with similar names."""
    known = listed(cluster)
    if name not in known:
        raise unknown_group(name, known)
    return described(cluster, [name])[name]


def committed(cluster: Cluster, group: str) -> dict[Partition, int]:
    """The offsets a group has committed."""
    from confluent_kafka import ConsumerGroupTopicPartitions

    futures = cluster.admin().list_consumer_group_offsets(
        [ConsumerGroupTopicPartitions(group)], request_timeout=cluster.timeout_s
    )
    answer = cluster.result(futures[group], f"Cannot read the offsets of group '{group}'")
    return {(p.topic, p.partition): p.offset for p in answer.topic_partitions if p.error is None and p.offset >= 0}


def progress(cluster: Cluster, group: str, description: Any) -> list[Progress]:
    """Every partition that the group has committed or reads, in order."""
    offsets = committed(cluster, group)
    readers = {
        (p.topic, p.partition): member
        for member in description.members
        if member.assignment
        for p in member.assignment.topic_partitions
    }
    ends = end_offsets(cluster, {*offsets, *readers})
    rows = []
    for topic, partition in sorted({*offsets, *readers}):
        member = readers.get((topic, partition))
        rows.append(
            Progress(
                topic,
                partition,
                offsets.get((topic, partition)),
                ends.get((topic, partition)),
                member.member_id if member else None,
                member.client_id if member else None,
                member.host if member else None,
            )
        )
    return rows


def end_offsets(cluster: Cluster, partitions: Iterable[Partition]) -> dict[Partition, int]:
    """End offsets of the partitions that still exist: a group may have committed in a topic that is gone."""
    from confluent_kafka import TopicPartition
    from confluent_kafka.admin import OffsetSpec

    topics = cluster.topics(internal=True)
    present = [TopicPartition(topic, p) for topic, p in partitions if topic in topics and p in topics[topic].partitions]
    return cluster.offsets(present, OffsetSpec.latest())


def state_name(description: Any) -> str:
    """`STABLE`, `EMPTY`, ... as Kafka's own words."""
    return {
        "STABLE": "Stable",
        "EMPTY": "Empty",
        "DEAD": "Dead",
        "PREPARING_REBALANCING": "PreparingRebalance",
        "COMPLETING_REBALANCING": "CompletingRebalance",
        "ASSIGNING": "Assigning",
        "RECONCILING": "Reconciling",
    }.get(description.state.name, description.state.name.title())


def require_inactive(name: str, description: Any) -> None:
    """Offsets of a group move only while nobody reads."""
    if description.members:
        raise CliError(
            f"Group '{name}' has {len(description.members)} active member(s)",
            f"Stop them first; `headrace group describe {name}` shows them",
        )
