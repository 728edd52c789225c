"""Reading records for `headrace consume`: partitions as they come, merged by timestamp, or as a member of a group.

Each reader is a generator of messages that ends by itself, or never when following. It yields None when nothing came for a
moment, so that whoever writes can flush.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Any

from headrace.admin.cluster import Cluster
from headrace.admin.errors import Problem, from_kafka
from headrace.admin.merge import Merge
from headrace.admin.positions import Partition, Range

Messages = Generator[Any, None, None]

_BATCH = 500
_POLL_S = 0.2
_PAUSE_ABOVE = 5_000
_RESUME_BELOW = 500
_FAST = {"fetch.wait.max.ms": 100, "enable.partition.eof": True}


def read_partitions(cluster: Cluster, ranges: Mapping[Partition, Range], *, follow: bool) -> Messages:
    """Records of the given ranges, each partition in order, in no order among them."""
    left = set(ranges) if follow else {partition for partition, span in ranges.items() if span.start < span.end}
    if not left:
        return
    consumer = _assigned(cluster, ranges, left)
    try:
        while left:
            yield from _arrived(consumer, ranges, left, follow)
    finally:
        consumer.close()


def _arrived(consumer: Any, ranges: Mapping[Partition, Range], left: set[Partition], follow: bool) -> Messages:
    messages = consumer.consume(_BATCH, timeout=_POLL_S)
    for message in messages:
        partition = (message.topic(), message.partition())
        at_end = is_end(message)
        if not at_end and (follow or message.offset() < ranges[partition].end):
            yield message
        if not follow and (at_end or message.offset() >= ranges[partition].end - 1):
            left.discard(partition)
    if not messages or is_end(messages[-1]):
        yield None


def read_merged(cluster: Cluster, ranges: Mapping[Partition, Range], *, follow: bool) -> Messages:
    """The same records by timestamp across partitions. Following, a partition without news holds up nobody."""
    active = set(ranges) if follow else {partition for partition, span in ranges.items() if span.start < span.end}
    if not active:
        return
    merge: Merge[Any] = Merge(active)
    for partition, span in ranges.items():
        if partition in active and span.start >= span.end:
            merge.idle(partition)
    consumer = _assigned(cluster, ranges, active)
    flow = _Flow(consumer, merge)
    try:
        left = set(active)
        ended: set[Partition] = set()
        while left:
            _take(consumer, merge, ranges, left, ended, follow)
            for message in merge.ready():
                yield message
                _still_idle(merge, ended)
            flow.adjust(left)
            yield None
        yield from _drain(merge, ended)
    finally:
        consumer.close()


def _take(
    consumer: Any,
    merge: Merge[Any],
    ranges: Mapping[Partition, Range],
    left: set[Partition],
    ended: set[Partition],
    follow: bool,
) -> None:
    for message in consumer.consume(_BATCH, timeout=_POLL_S):
        partition = (message.topic(), message.partition())
        span = ranges[partition]
        if is_end(message):
            ended.add(partition)
            merge.idle(partition)
        elif follow or message.offset() < span.end:
            ended.discard(partition)
            merge.push(partition, message.timestamp()[1], message)
        if not follow and (is_end(message) or message.offset() >= span.end - 1):
            left.discard(partition)
            ended.add(partition)
            merge.idle(partition)


def _still_idle(merge: Merge[Any], ended: set[Partition]) -> None:
    """A partition whose last record just left is silent to the merge, but there is no more to wait for."""
    for partition in merge.exhausted():
        if partition in ended:
            merge.idle(partition)


def _drain(merge: Merge[Any], ended: set[Partition]) -> Messages:
    _still_idle(merge, ended)
    for message in merge.ready():
        yield message
        _still_idle(merge, ended)


class _Flow:
    """Pauses partitions that are far ahead of the others, so that memory stays bounded however uneven they are."""

    def __init__(self, consumer: Any, merge: Merge[Any]) -> None:
        self._consumer = consumer
        self._merge = merge
        self._paused: set[Partition] = set()

    def adjust(self, partitions: set[Partition]) -> None:
        from confluent_kafka import TopicPartition

        full = {p for p in partitions - self._paused if self._merge.depth(p) > _PAUSE_ABOVE}
        hungry = {p for p in self._paused if self._merge.depth(p) < _RESUME_BELOW}
        if full:
            self._consumer.pause([TopicPartition(*partition) for partition in full])
        if hungry:
            self._consumer.resume([TopicPartition(*partition) for partition in hungry])
        self._paused = (self._paused | full) - hungry


def limited(messages: Messages, limit: int | None) -> Messages:
    """At most so many of them; the reader is closed when they are through."""
    read = 0
    try:
        for message in messages:
            yield message
            read += message is not None
            if read == limit:
                return
    finally:
        messages.close()


def _assigned(cluster: Cluster, ranges: Mapping[Partition, Range], partitions: set[Partition]) -> Any:
    from confluent_kafka import TopicPartition

    consumer = cluster.consumer(None, _FAST)
    consumer.assign([TopicPartition(topic, index, ranges[topic, index].start) for topic, index in sorted(partitions)])
    return consumer


def read_group(
    cluster: Cluster, group: str, topics: Sequence[str], *, follow: bool, reset: str, limit: int | None
) -> Messages:
    """Records as a member of a group, from where the group stands. What was yielded counts as consumed and is committed."""
    overrides = {
        **_FAST,
        "auto.offset.reset": reset,
        "enable.auto.offset.store": False,
        "auto.commit.interval.ms": 1000,
    }
    consumer = cluster.consumer(group, overrides)
    waiting: set[Partition] = set()
    assigned: list[bool] = []
    read = 0

    def on_assign(_consumer: Any, partitions: Sequence[Any]) -> None:
        assigned.append(True)
        waiting.update((partition.topic, partition.partition) for partition in partitions)

    def on_revoke(_consumer: Any, partitions: Sequence[Any]) -> None:
        waiting.difference_update((partition.topic, partition.partition) for partition in partitions)

    consumer.subscribe(list(topics), on_assign=on_assign, on_revoke=on_revoke)
    try:
        while follow or waiting or not assigned:
            for message in consumer.consume(_BATCH, timeout=_POLL_S):
                if is_end(message):
                    waiting.discard((message.topic(), message.partition()))
                    continue
                yield message
                # Only now has the caller done its part with it.
                consumer.store_offsets(message)
                read += 1
                if read == limit:
                    return
            yield None
    finally:
        consumer.close()


def is_end(message: Any) -> bool:
    """Whether this is the note that a partition is read to its end; any other error ends the command."""
    from confluent_kafka import KafkaError

    error = message.error()
    if error is None:
        return False
    if error.code() == KafkaError._PARTITION_EOF:
        return True
    if error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
        raise Problem(f"Topic '{message.topic()}' is gone: {error.str()}", "See the topics with `headrace topic list`")
    raise from_kafka(error)
