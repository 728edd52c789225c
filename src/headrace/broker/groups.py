"""Groups on this broker: a shard over each partition of `__consumer_offsets`, and what others ask about all of them.

The topic's life is in `internal_topic.py`, the rules of groups are in `headrace.coordinator`.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from headrace.broker.group_shard import GroupShard, load
from headrace.broker.internal_topic import InternalTopic, partition_for
from headrace.coordinator.config import GroupConfig
from headrace.coordinator.coordinator import GroupCoordinator
from headrace.replica.partition import Partition
from headrace.replica.topic_names import CONSUMER_OFFSETS

if TYPE_CHECKING:
    from headrace.broker.server import Broker

log = logging.getLogger("headrace.groups")


class Groups:
    """All group coordinators of this node."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._topic = topic = InternalTopic(broker, CONSUMER_OFFSETS, self._open_shard, self._loader, log)
        self.shard = topic.shard
        self.shard_of_partition = topic.shard_of_partition
        self.is_available = topic.is_available
        self.create_topic = topic.create
        self.on_clock = topic.tick
        self.stop_waiting = topic.unload
        self.stop = topic.stop

    async def start(self) -> None:
        await self._topic.start()
        self._broker.metadata.on_topics_deleted.append(self._on_topics_deleted)

    @property
    def has_topic(self) -> bool:
        return self._topic.partition_count > 0

    def partition_of(self, group_id: str) -> int:
        """Where the group's offsets are, in a topic that exists."""
        return partition_for(group_id, self._topic.partition_count)

    @property
    def loaded_shards(self) -> list[GroupShard]:
        return self._topic.loaded_shards

    @property
    def all_loaded(self) -> bool:
        return self._topic.all_loaded

    @property
    def is_loading(self) -> bool:
        return self._topic.is_loading

    # What others ask

    def lag(self) -> Iterator[tuple[str, str, int, int]]:
        """Group, topic, partition, and how many offsets lie between the committed one and the high watermark."""
        replicas = self._broker.replicas
        for shard in self.loaded_shards:
            for group_id, topics in shard.groups.offsets.groups():
                for topic, partitions in topics.items():
                    for index, committed in partitions.items():
                        partition = replicas.get(topic, index)
                        if partition is not None:
                            yield group_id, topic, index, max(partition.high_watermark - committed.offset, 0)

    def count_by_state(self) -> dict[str, int]:
        return Counter(group.state.value for shard in self.loaded_shards for group in shard.groups.groups.values())

    # Shards

    def _open_shard(self, partition: Partition) -> GroupShard:
        return GroupShard(partition, self._broker.settings["offsets.topic.compression.codec"], self._topic.now_ms)

    def _loader(self, shard: GroupShard) -> Callable[[], GroupCoordinator]:
        settings, now_ms = self._broker.settings, self._broker.clock.now_ms()
        config = GroupConfig.from_settings(settings)
        return partial(load, shard.partition.log, config, now_ms, settings["offsets.load.buffer.size"])

    def _on_topics_deleted(self, topics: Sequence[tuple[str, bytes]]) -> None:
        for shard in self._topic.shards:
            shard.on_topics_deleted(topics)
