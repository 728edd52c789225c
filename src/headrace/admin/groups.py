"""Consumer groups as the cluster describes them: members, committed offsets, lag, and where a reset would move them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from headrace.admin.cluster import Cluster
from headrace.admin.errors import Problem, unknown_group
from headrace.admin.positions import Partition
from headrace.admin.times import counted


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
    return _committed(cluster, [group])[group]


def _committed(cluster: Cluster, groups: Iterable[str]) -> dict[str, dict[Partition, int]]:
    """The same for many groups: one request each, all under way at once."""
    from confluent_kafka import ConsumerGroupTopicPartitions

    admin = cluster.admin()
    futures = {
        group: admin.list_consumer_group_offsets(
            [ConsumerGroupTopicPartitions(group)], request_timeout=cluster.timeout_s
        )
        for group in groups
    }
    offsets = {}
    for group, future in futures.items():
        answer = cluster.result(future[group], f"Cannot read the offsets of group '{group}'")
        offsets[group] = {
            (p.topic, p.partition): p.offset for p in answer.topic_partitions if p.error is None and p.offset >= 0
        }
    return offsets


def progress(cluster: Cluster, descriptions: Mapping[str, Any]) -> dict[str, list[Progress]]:
    """For each of the groups, every partition that it has committed or reads, in order."""
    offsets = _committed(cluster, descriptions)
    readers = {name: _readers(description) for name, description in descriptions.items()}
    ends = end_offsets(cluster, {p for name in descriptions for p in (*offsets[name], *readers[name])})
    return {
        name: [
            _row(partition, offsets[name], ends, readers[name].get(partition))
            for partition in sorted({*offsets[name], *readers[name]})
        ]
        for name in descriptions
    }


def _readers(description: Any) -> dict[Partition, Any]:
    return {
        (p.topic, p.partition): member
        for member in description.members
        if member.assignment
        for p in member.assignment.topic_partitions
    }


def _row(
    partition: Partition, offsets: Mapping[Partition, int], ends: Mapping[Partition, int], member: Any
) -> Progress:
    return Progress(
        *partition,
        offsets.get(partition),
        ends.get(partition),
        member.member_id if member else None,
        member.client_id if member else None,
        member.host if member else None,
    )


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


def delete(cluster: Cluster, names: list[str]) -> None:
    """All that can be, with their committed offsets; the first refusal is raised at the end."""
    failures = []
    for name, future in cluster.admin().delete_consumer_groups(names, request_timeout=cluster.timeout_s).items():
        try:
            cluster.result(future, f"Cannot delete group '{name}'")
        except Problem as error:
            failures.append(error)
    if failures:
        raise failures[0]


def require_inactive(name: str, description: Any) -> None:
    """Offsets of a group move only while nobody reads."""
    if description.members:
        raise Problem(
            f"Group '{name}' has {counted(len(description.members), 'active member')}",
            f"Stop them first; `headrace group describe {name}` shows them",
        )
