"""Groups on this broker: which partition of `__consumer_offsets` a group belongs to, and that topic's whole life.

Owns: the shards, their loading, and the topic's creation on first need. The rules of groups are in `headrace.coordinator`.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from headrace.broker.group_shard import GroupShard, load
from headrace.coordinator.config import GroupConfig
from headrace.coordinator.coordinator import GroupCoordinator
from headrace.replica.internal_topics import on_create_internal_topic
from headrace.replica.topic_names import CONSUMER_OFFSETS
from headrace.wire.errors import ErrorCode

if TYPE_CHECKING:
    from headrace.broker.server import Broker

log = logging.getLogger("headrace.groups")

LOOK_EVERY_MS = 1000
WAIT_FOR_LOADING_SECONDS = 1.0
CLOCK_STEP_MS = 1000
HASHES_KEPT = 4096
"""Group ids whose hash is remembered. Clients make them up, and one that reads with a new id each time must not fill memory."""


@lru_cache(maxsize=HASHES_KEPT)
def java_hash(text: str) -> int:
    """Java's String.hashCode: over UTF-16 units, in 32 bits with a sign."""
    units = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = (31 * value + (high << 8 | low)) & 0xFFFFFFFF
    return value - (1 << 32) if value >= 1 << 31 else value


def partition_for(key: str, partitions: int) -> int:
    """Where Kafka keeps this group. The smallest integer has no positive twin and counts as zero."""
    value = java_hash(key)
    return 0 if value == -(1 << 31) else abs(value) % partitions


class Groups:
    """All group coordinators of this node."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._shards: list[GroupShard | None] = []
        """By partition; None where the log is missing because its directory is offline."""
        self._creating: asyncio.Task[None] | None = None
        self._loading: asyncio.Task[None] | None = None
        self._clock_offset_ms = self._wall_minus_monotonic_ms(broker.clock.now_ms())

    async def start(self) -> None:
        """Load what is there. Small topics are loaded when this returns; clients of a large one are asked to wait."""
        self._broker.metadata.on_topics_deleted.append(self._on_topics_deleted)
        self._broker.timers.every("group timers", lambda: LOOK_EVERY_MS, self._tick)
        self._open_shards()
        if self._loading is not None:
            await asyncio.wait([self._loading], timeout=WAIT_FOR_LOADING_SECONDS)

    def stop_waiting(self) -> None:
        """The broker shuts down: members that wait for their group look for another coordinator."""
        for shard in self._present_shards:
            shard.unload()

    async def stop(self) -> None:
        self.stop_waiting()
        if self._loading is not None:
            self._loading.cancel()
            await asyncio.wait([self._loading])

    # Finding the coordinator

    def shard(self, group_id: str) -> GroupShard | ErrorCode:
        """The shard that serves a group, or why there is none just now."""
        shards = self._shards
        if not shards:
            return ErrorCode.NOT_COORDINATOR
        shard = shards[partition_for(group_id, len(shards))]
        if shard is None or shard.partition.offline:
            return ErrorCode.NOT_COORDINATOR
        return shard if shard.coordinator is not None else shard.state

    def shard_of_partition(self, index: int) -> GroupShard | ErrorCode:
        """The shard over one partition of `__consumer_offsets`, or why there is none just now."""
        shard = self._shards[index] if index < len(self._shards) else None
        if shard is None or shard.partition.offline:
            return ErrorCode.NOT_COORDINATOR
        return shard if shard.coordinator is not None else shard.state

    def partition_of(self, group_id: str) -> int:
        """Where the group's offsets are, in a topic that exists."""
        return partition_for(group_id, len(self._shards))

    def is_available(self, group_id: str) -> bool:
        """Whether this node is a group's coordinator, be it still loading."""
        shards = self._shards
        shard = shards[partition_for(group_id, len(shards))] if shards else None
        return shard is not None and not shard.partition.offline

    @property
    def has_topic(self) -> bool:
        return bool(self._shards)

    @property
    def _present_shards(self) -> list[GroupShard]:
        return [shard for shard in self._shards if shard is not None]

    @property
    def loaded_shards(self) -> list[GroupShard]:
        return [each for each in self._present_shards if each.coordinator is not None and not each.partition.offline]

    @property
    def all_loaded(self) -> bool:
        """Whether every group of this node is known. So it is, too, while there is no topic to load any from."""
        return len(self.loaded_shards) == len(self._shards)

    @property
    def is_loading(self) -> bool:
        return self._loading is not None and not self._loading.done()

    async def create_topic(self) -> None:
        """Create `__consumer_offsets`, as the first question for a coordinator does. Callers at once share one try."""
        if self._shards:
            return
        if self._creating is None or self._creating.done():
            self._creating = asyncio.ensure_future(self._create_topic())
        await asyncio.shield(self._creating)

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

    # Time

    def now_ms(self) -> int:
        """The wall clock. When somebody sets it, deadlines move along, so that no session ends for that."""
        now_ms = self._broker.clock.now_ms()
        offset_ms = self._wall_minus_monotonic_ms(now_ms)
        step_ms = offset_ms - self._clock_offset_ms
        if abs(step_ms) > CLOCK_STEP_MS:
            self._clock_offset_ms = offset_ms
            log.warning("the clock was set by %d ms; group deadlines move along", step_ms)
            for shard in self._present_shards:
                shard.on_clock_set(step_ms)
        return now_ms

    def _wall_minus_monotonic_ms(self, now_ms: int) -> int:
        return now_ms - int(self._broker.clock.monotonic() * 1000)

    def on_clock(self) -> None:
        """The clock was moved by hand: do what is due."""
        for shard in self._present_shards:
            shard.tick()

    async def _tick(self) -> None:
        self.on_clock()

    # The topic's life

    async def _create_topic(self) -> None:
        settings = self._broker.settings
        error, message = await self._broker.metadata.change(
            lambda image: on_create_internal_topic(image, CONSUMER_OFFSETS, settings)
        )
        if error is not ErrorCode.NONE:
            log.error("%s cannot be created: %s", CONSUMER_OFFSETS, message or error.message)
        self._open_shards()

    def _open_shards(self) -> None:
        topic = self._broker.image.topics.get(CONSUMER_OFFSETS)
        if topic is None or self._shards:
            return
        codec = self._broker.settings["offsets.topic.compression.codec"]
        replicas = [self._broker.replicas.get(CONSUMER_OFFSETS, index) for index in range(len(topic.partitions))]
        self._shards = [GroupShard(each, codec, self.now_ms) if each is not None else None for each in replicas]
        config = GroupConfig.from_settings(self._broker.settings)
        with_records = []
        for shard in self._present_shards:
            if shard.partition.log.log_start_offset == shard.partition.log.log_end_offset:
                shard.start(GroupCoordinator(config))
            else:
                with_records.append(shard)
        if with_records:
            self._loading = asyncio.ensure_future(self._load(with_records, config))

    async def _load(self, shards: list[GroupShard], config: GroupConfig) -> None:
        """One after the other, so that cold reads of clients find a free thread."""
        broker = self._broker
        chunk_bytes = broker.settings["offsets.load.buffer.size"]
        for shard in shards:
            arguments = (shard.partition.log, config, broker.clock.now_ms(), chunk_bytes)
            try:
                coordinator = await broker.run_reader(load, *arguments)
            except Exception:
                # Without its past a group would start over from the wrong offsets: better that it waits for a repair.
                log.exception("the groups of %s-%d cannot be loaded", shard.partition.topic, shard.partition.partition)
                shard.unload()
                continue
            if shard.state is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
                shard.start(coordinator)

    def _on_topics_deleted(self, topics: Sequence[tuple[str, bytes]]) -> None:
        if any(name == CONSUMER_OFFSETS for name, _ in topics):
            self.stop_waiting()
            self._shards = []
        for shard in self._present_shards:
            shard.on_topics_deleted(topics)
