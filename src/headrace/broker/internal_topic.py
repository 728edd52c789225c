"""An internal topic at work: a coordinator shard over each of its partitions, and which of them serves a key.

Owns: the topic's creation on first need, the shards, their loading and unloading, and the clock that their deadlines go by.
What a shard does is its own: `group_shard.py`, `transaction_shard.py`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from headrace.replica.internal_topics import on_create_internal_topic
from headrace.replica.partition import Partition
from headrace.wire.errors import ErrorCode

if TYPE_CHECKING:
    from headrace.broker.server import Broker

LOOK_EVERY_MS = 1000
WAIT_FOR_LOADING_SECONDS = 1.0
CLOCK_STEP_MS = 1000
HASHES_KEPT = 4096
"""Keys whose hash is remembered. Clients make them up, and one that reads with a new group id each time must not fill memory."""


@lru_cache(maxsize=HASHES_KEPT)
def java_hash(text: str) -> int:
    """Java's String.hashCode: over UTF-16 units, in 32 bits with a sign."""
    units = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = (31 * value + (high << 8 | low)) & 0xFFFFFFFF
    return value - (1 << 32) if value >= 1 << 31 else value


def partition_for(key: str, partitions: int) -> int:
    """Where Kafka keeps this group or transactional id. The smallest integer has no positive twin and counts as zero."""
    value = java_hash(key)
    return 0 if value == -(1 << 31) else abs(value) % partitions


class CoordinatorShard(Protocol):
    """One partition at work. `state` is NONE while it serves, else what to tell clients."""

    partition: Partition
    state: ErrorCode

    def start(self, coordinator: Any) -> None: ...
    def unload(self) -> None: ...
    def tick(self) -> None: ...
    def on_clock_set(self, delta_ms: int) -> None: ...


Shard = TypeVar("Shard", bound=CoordinatorShard)


class InternalTopic(Generic[Shard]):
    """The shards of one internal topic.

    `open_shard` makes one over a partition. `loader` says what replays a shard's log into a new coordinator: it blocks
    and runs in a thread, unless the log is empty.
    """

    def __init__(
        self,
        broker: Broker,
        name: str,
        open_shard: Callable[[Partition], Shard],
        loader: Callable[[Shard], Callable[[], object]],
        logger: logging.Logger,
    ) -> None:
        self._broker = broker
        self._name = name
        self._open_shard = open_shard
        self._loader = loader
        self._logger = logger
        self._shards: list[Shard | None] = []
        """By partition; None where the log is missing because its directory is offline."""
        self._creating: asyncio.Task[None] | None = None
        self._loading: asyncio.Task[None] | None = None
        self._clock_offset_ms = self._wall_minus_monotonic_ms(broker.clock.now_ms())

    async def start(self) -> None:
        """Load what is there. Small topics are loaded when this returns; clients of a large one are asked to wait."""
        self._broker.metadata.on_topics_deleted.append(self._on_topics_deleted)
        self._broker.timers.every(f"timers of {self._name}", lambda: LOOK_EVERY_MS, self._on_timer)
        self._open()
        if self._loading is not None:
            await asyncio.wait([self._loading], timeout=WAIT_FOR_LOADING_SECONDS)

    def unload(self) -> None:
        """Those who wait for a coordinator look for another one."""
        for shard in self.shards:
            shard.unload()

    async def stop(self) -> None:
        self.unload()
        if self._loading is not None:
            self._loading.cancel()
            await asyncio.wait([self._loading])

    # Finding the coordinator

    def shard(self, key: str) -> Shard | ErrorCode:
        """The shard that serves a key, or why there is none just now."""
        if not self._shards:
            return ErrorCode.NOT_COORDINATOR
        return self.shard_of_partition(partition_for(key, len(self._shards)))

    def shard_of_partition(self, index: int) -> Shard | ErrorCode:
        """The shard over one partition, or why there is none just now."""
        shard = self._shards[index] if index < len(self._shards) else None
        if shard is None or shard.partition.offline:
            return ErrorCode.NOT_COORDINATOR
        return shard if shard.state is ErrorCode.NONE else shard.state

    def is_available(self, key: str) -> bool:
        """Whether this node is a key's coordinator, be it still loading."""
        shard = self._shards[partition_for(key, len(self._shards))] if self._shards else None
        return shard is not None and not shard.partition.offline

    @property
    def partition_count(self) -> int:
        """Zero while there is no topic."""
        return len(self._shards)

    @property
    def shards(self) -> list[Shard]:
        return [shard for shard in self._shards if shard is not None]

    @property
    def loaded_shards(self) -> list[Shard]:
        return [each for each in self.shards if each.state is ErrorCode.NONE and not each.partition.offline]

    @property
    def all_loaded(self) -> bool:
        """Whether everything that this node coordinates is known. So it is, too, while there is no topic to load from."""
        return len(self.loaded_shards) == len(self._shards)

    @property
    def is_loading(self) -> bool:
        return self._loading is not None and not self._loading.done()

    # Time

    def now_ms(self) -> int:
        """The wall clock. When somebody sets it, deadlines move along, so that nothing times out for that."""
        now_ms = self._broker.clock.now_ms()
        offset_ms = self._wall_minus_monotonic_ms(now_ms)
        step_ms = offset_ms - self._clock_offset_ms
        if abs(step_ms) > CLOCK_STEP_MS:
            self._clock_offset_ms = offset_ms
            self._logger.warning("the clock was set by %d ms; the deadlines of %s move along", step_ms, self._name)
            for shard in self.shards:
                shard.on_clock_set(step_ms)
        return now_ms

    def _wall_minus_monotonic_ms(self, now_ms: int) -> int:
        return now_ms - int(self._broker.clock.monotonic() * 1000)

    def tick(self) -> None:
        """Do what is due by the clock."""
        for shard in self.shards:
            shard.tick()

    async def _on_timer(self) -> None:
        self.tick()

    # The topic's life

    async def create(self) -> None:
        """Create the topic, as the first question for a coordinator does. Callers at once share one try."""
        if self._shards:
            return
        if self._creating is None or self._creating.done():
            self._creating = asyncio.ensure_future(self._create())
        await asyncio.shield(self._creating)

    async def _create(self) -> None:
        settings = self._broker.settings
        error, message = await self._broker.metadata.change(
            lambda image: on_create_internal_topic(image, self._name, settings)
        )
        if error is not ErrorCode.NONE:
            self._logger.error("%s cannot be created: %s", self._name, message or error.message)
        self._open()

    def _open(self) -> None:
        topic = self._broker.image.topics.get(self._name)
        if topic is None or self._shards:
            return
        partitions = [self._broker.replicas.get(self._name, index) for index in range(len(topic.partitions))]
        self._shards = [self._open_shard(each) if each is not None else None for each in partitions]
        with_records = []
        for shard in self.shards:
            if shard.partition.log.log_start_offset == shard.partition.log.log_end_offset:
                shard.start(self._loader(shard)())
            else:
                with_records.append(shard)
        if with_records:
            self._loading = asyncio.ensure_future(self._load(with_records))

    async def _load(self, shards: list[Shard]) -> None:
        """One after the other, so that cold reads of clients find a free thread."""
        for shard in shards:
            try:
                coordinator = await self._broker.run_reader(self._loader(shard))
            except Exception:
                # Without its past a group would start over from the wrong offsets, and a transactional id would lose its
                # open transaction: better that they wait for a repair.
                self._logger.exception("%s-%d cannot be loaded", self._name, shard.partition.partition)
                shard.unload()
                continue
            if shard.state is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
                shard.start(coordinator)

    def _on_topics_deleted(self, topics: Sequence[tuple[str, bytes]]) -> None:
        if any(name == self._name for name, _ in topics):
            self.unload()
            self._shards = []
