"""Where a group's offsets would move, and moving them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.admin.cluster import Cluster
from headrace.admin.errors import Problem, UsageMistake
from headrace.admin.positions import Partition, Position, ranges
from headrace.admin.times import parse_time_ms


@dataclass(frozen=True, slots=True)
class Target:
    """What the user asked for; exactly one of these is given."""

    earliest: bool = False
    latest: bool = False
    offset: int | None = None
    datetime: str | None = None
    shift_by: int | None = None

    def position(self) -> Position:
        if self.offset is not None:
            return Position("offset", self.offset)
        if self.datetime is not None:
            return Position("time", parse_time_ms(self.datetime))
        return Position("end" if self.latest else "beginning")


@dataclass(frozen=True, slots=True)
class Move:
    """One partition's old and new offset."""

    topic: str
    partition: int
    old: int | None
    new: int

    def document(self) -> dict[str, Any]:
        return {"topic": self.topic, "partition": self.partition, "from": self.old, "to": self.new}


def plan(
    cluster: Cluster, group: str, committed: Mapping[Partition, int], topics: Sequence[str], target: Target
) -> list[Move]:
    """The moves, within what the partitions hold. Nothing is changed."""
    wanted = _chosen(cluster, topics) if topics else sorted(committed)
    if not wanted:
        raise Problem(f"Group '{group}' has committed nothing", "Name what it shall read: --topic TOPIC")
    if target.shift_by is None:
        spans = ranges(cluster, wanted, target.position(), None)
        return [
            Move(topic, index, committed.get((topic, index)), spans[topic, index].start)
            for topic, index in wanted
            if (topic, index) in spans
        ]
    missing = [partition for partition in wanted if partition not in committed]
    if missing:
        raise Problem(
            f"Group '{group}' has committed nothing in {missing[0][0]}, partition {missing[0][1]}, so it cannot be shifted",
            "Use --to-earliest or --to-offset",
        )
    spans = ranges(cluster, wanted, Position("beginning"), None)
    return [
        Move(
            *partition,
            committed[partition],
            min(max(committed[partition] + target.shift_by, spans[partition].start), spans[partition].end),
        )
        for partition in wanted
        if partition in spans
    ]


def _chosen(cluster: Cluster, topics: Sequence[str]) -> list[Partition]:
    """`orders` means all its partitions, `orders:0,2` those two."""
    wanted: list[Partition] = []
    for text in topics:
        name, _, numbers = text.partition(":")
        known = cluster.topic(name).partitions
        if not numbers:
            wanted += [(name, partition) for partition in sorted(known)]
            continue
        for part in numbers.split(","):
            if not part.isdigit():
                raise UsageMistake(f"'{text}' does not name partitions", "Write it like orders:0,2")
            if int(part) not in known:
                raise Problem(f"'{name}' has no partition {part}", f"It has 0 to {len(known) - 1}")
            wanted.append((name, int(part)))
    return wanted


def apply(cluster: Cluster, group: str, moves: Sequence[Move]) -> None:
    """Commit the new offsets for the group, which must not have members."""
    from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition

    from headrace.admin import groups as group_view

    if group in group_view.listed(cluster):
        group_view.require_inactive(group, group_view.described(cluster, [group])[group])
    request = ConsumerGroupTopicPartitions(group, [TopicPartition(m.topic, m.partition, m.new) for m in moves])
    futures = cluster.admin().alter_consumer_group_offsets([request], request_timeout=cluster.timeout_s)
    answer = cluster.result(futures[group], f"Cannot move group '{group}'")
    for partition in answer.topic_partitions:
        if partition.error is not None:
            raise Problem(f"Cannot move {partition.topic}, partition {partition.partition}: {partition.error.str()}")
