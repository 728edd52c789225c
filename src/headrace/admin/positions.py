"""Where reading starts and ends: `beginning`, `end`, an offset, the last N, or a point in time, for every partition."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from headrace.admin.cluster import Cluster
from headrace.admin.errors import UsageMistake
from headrace.admin.times import parse_time_ms

Partition = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Position:
    """A place in every partition; `amount` is an offset, a count or milliseconds, as `kind` says."""

    kind: Literal["beginning", "end", "offset", "last", "time"]
    amount: int = 0


def parse_position(text: str) -> Position:
    """`beginning`, `end`, `1200` (offset), `-10` (the last ten), or a time: `-5m`, `2026-01-31T12:00`, `@MILLISECONDS`."""
    if text in ("beginning", "start", "earliest"):
        return Position("beginning")
    if text in ("end", "latest"):
        return Position("end")
    if text.isdigit():
        return Position("offset", int(text))
    if re.fullmatch(r"-\d+", text):
        return Position("last", int(text[1:]))
    try:
        return Position("time", parse_time_ms(text))
    except UsageMistake:
        raise UsageMistake(
            f"'{text}' is no place to read from",
            "Write beginning, end, 1200 (an offset), -10 (the last ten), -5m or 2026-01-31T12:00",
        ) from None


@dataclass(frozen=True, slots=True)
class Range:
    """Offsets of one partition: read from `start`, and up to `end` unless following."""

    start: int
    end: int


def ranges(
    cluster: Cluster, partitions: Iterable[Partition], begin: Position, until: Position | None
) -> dict[Partition, Range]:
    """What to read of every partition. Offsets that are not there any more, or not yet, become the nearest that are."""
    from confluent_kafka import TopicPartition
    from confluent_kafka.admin import OffsetSpec

    wanted = [TopicPartition(topic, partition) for topic, partition in partitions]
    low = cluster.offsets(wanted, OffsetSpec.earliest())
    high = cluster.offsets(wanted, OffsetSpec.latest())
    starts = _resolve(cluster, wanted, begin, low, high)
    ends = _resolve(cluster, wanted, until, low, high) if until else high
    return {partition: Range(starts[partition], ends[partition]) for partition in high if partition in low}


def _resolve(
    cluster: Cluster, wanted: list[Any], position: Position, low: dict[Partition, int], high: dict[Partition, int]
) -> dict[Partition, int]:
    from confluent_kafka.admin import OffsetSpec

    if position.kind == "time":
        found = cluster.offsets(wanted, OffsetSpec.for_timestamp(position.amount))
        # No record that late: everything is before it.
        return {partition: found.get(partition, high[partition]) for partition in high}
    return {partition: _offset(position, low.get(partition, 0), end) for partition, end in high.items()}


def _offset(position: Position, low: int, high: int) -> int:
    if position.kind == "beginning":
        return low
    if position.kind == "end":
        return high
    if position.kind == "offset":
        return min(max(position.amount, low), high)
    return max(low, high - position.amount)
