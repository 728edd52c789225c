"""Transactions on this broker: which partition of `__transaction_state` a transactional id belongs to, and that topic's life.

Owns: the shards, their loading, and the topic's creation on first need. The rules of transactions are in
`headrace.coordinator.transactions`.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Sequence
from typing import TYPE_CHECKING

from headrace.broker.groups import CLOCK_STEP_MS, LOOK_EVERY_MS, WAIT_FOR_LOADING_SECONDS, partition_for
from headrace.broker.markers import write_markers
from headrace.broker.transaction_shard import TransactionShard, replay_log
from headrace.coordinator.transactions.checks import Producer
from headrace.coordinator.transactions.config import TransactionConfig
from headrace.coordinator.transactions.coordinator import TransactionCoordinator
from headrace.coordinator.transactions.result import Markers
from headrace.coordinator.transactions.transaction import TopicPartition
from headrace.replica.features import TRANSACTION_VERSION, effective_level
from headrace.replica.internal_topics import on_create_internal_topic
from headrace.replica.topic_names import TRANSACTION_STATE
from headrace.wire.errors import ErrorCode

if TYPE_CHECKING:
    from headrace.broker.server import Broker

log = logging.getLogger("headrace.transactions")

EPOCH_PER_TRANSACTION = 2
"""The transaction version of clients that add partitions by writing to them."""

Answers = dict[TopicPartition, ErrorCode]


class Transactions:
    """All transaction coordinators of this node."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._shards: list[TransactionShard | None] = []
        """By partition; None where the log is missing because its directory is offline."""
        self._creating: asyncio.Task[None] | None = None
        self._loading: asyncio.Task[None] | None = None
        self._reserving: asyncio.Task[None] | None = None
        self._clock_offset_ms = self._wall_minus_monotonic_ms(broker.clock.now_ms())

    async def start(self) -> None:
        """Load what is there. Small topics are loaded when this returns; clients of a large one are asked to wait."""
        self._broker.metadata.on_topics_deleted.append(self._on_topics_deleted)
        self._broker.timers.every("transaction timers", lambda: LOOK_EVERY_MS, self._tick)
        self._open_shards()
        if self._loading is not None:
            await asyncio.wait([self._loading], timeout=WAIT_FOR_LOADING_SECONDS)

    async def stop(self) -> None:
        """Markers that are not written yet follow at the next start."""
        if self._loading is not None:
            self._loading.cancel()
            await asyncio.wait([self._loading])
        for shard in self._present_shards:
            await shard.stop()

    # What partition leaders ask

    def add_partitions(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: Sequence[TopicPartition],
        *,
        verify_only: bool,
    ) -> Answers | Awaitable[Answers]:
        """What the leader of partitions asks before a transaction writes to them.

        Verified, a partition must be in the transaction (TRANSACTION_ABORTABLE if not). Otherwise it is added, as a
        client of transaction version 2 has it; CONCURRENT_TRANSACTIONS is tried again for a short while before it is
        an answer. Answers are the coordinator's own: what a client hears of them is the caller's to decide.
        """
        producer = Producer(producer_id, producer_epoch)
        if verify_only:
            shard = self.shard(transactional_id)
            if isinstance(shard, ErrorCode):
                return dict.fromkeys(partitions, shard)
            return shard.transactions.verify_partitions(transactional_id, producer, partitions)
        answer = self.add(transactional_id, producer, partitions, EPOCH_PER_TRANSACTION)
        if isinstance(answer, ErrorCode) and answer is not ErrorCode.CONCURRENT_TRANSACTIONS:
            return dict.fromkeys(partitions, answer)
        return self._add_patiently(answer, transactional_id, producer, partitions)

    def add(
        self, transactional_id: str, producer: Producer, partitions: Sequence[TopicPartition], client_version: int
    ) -> ErrorCode | Awaitable[ErrorCode]:
        """Add partitions to a transaction: one answer for all of them."""
        shard = self.shard(transactional_id)
        if isinstance(shard, ErrorCode):
            return shard
        answer: ErrorCode | Awaitable[ErrorCode] = shard.submit(
            lambda token, now_ms: shard.transactions.on_add_partitions(
                transactional_id, producer, partitions, client_version, token, now_ms
            )
        )
        return answer

    async def _add_patiently(
        self,
        answer: ErrorCode | Awaitable[ErrorCode],
        transactional_id: str,
        producer: Producer,
        partitions: Sequence[TopicPartition],
    ) -> Answers:
        """The last transaction may still be writing its markers, which takes milliseconds: shorter than a client's retry."""
        settings, now = self._broker.settings, self._broker.loop.time
        give_up = now() + settings["add.partitions.to.txn.retry.backoff.max.ms"] / 1000
        backoff = settings["add.partitions.to.txn.retry.backoff.ms"] / 1000
        while True:
            error = answer if isinstance(answer, ErrorCode) else await answer
            if error is not ErrorCode.CONCURRENT_TRANSACTIONS or now() + backoff > give_up:
                return dict.fromkeys(partitions, error)
            await asyncio.sleep(backoff)
            answer = self.add(transactional_id, producer, partitions, EPOCH_PER_TRANSACTION)

    # Finding the coordinator

    def shard(self, transactional_id: str) -> TransactionShard | ErrorCode:
        """The shard that serves a transactional id, or why there is none just now."""
        if not transactional_id:
            return ErrorCode.INVALID_REQUEST
        shards = self._shards
        if not shards:
            return ErrorCode.NOT_COORDINATOR
        shard = shards[partition_for(transactional_id, len(shards))]
        if shard is None or shard.partition.offline:
            return ErrorCode.NOT_COORDINATOR
        return shard if shard.coordinator is not None else shard.state

    def is_available(self, transactional_id: str) -> bool:
        """Whether this node is an id's coordinator, be it still loading."""
        shards = self._shards
        shard = shards[partition_for(transactional_id, len(shards))] if shards else None
        return shard is not None and not shard.partition.offline

    @property
    def has_topic(self) -> bool:
        return bool(self._shards)

    @property
    def _present_shards(self) -> list[TransactionShard]:
        return [shard for shard in self._shards if shard is not None]

    @property
    def loaded_shards(self) -> list[TransactionShard]:
        return [each for each in self._present_shards if each.coordinator is not None and not each.partition.offline]

    @property
    def is_loading(self) -> bool:
        return self._loading is not None and not self._loading.done()

    def count_by_state(self) -> dict[str, int]:
        return Counter(
            entry.current.state.label
            for shard in self.loaded_shards
            for entry in shard.transactions.transactional_ids.values()
        )

    @property
    def markers_under_way(self) -> int:
        """Transactions whose markers are being written."""
        return sum(shard.markers_under_way for shard in self.loaded_shards)

    def count_ended(self) -> dict[str, int]:
        """Transactions that have ended since the start, by outcome."""
        coordinators = [shard.transactions for shard in self.loaded_shards]
        return {"commit": sum(c.committed for c in coordinators), "abort": sum(c.aborted for c in coordinators)}

    async def create_topic(self) -> None:
        """Create `__transaction_state`, as the first question for a coordinator does. Callers at once share one try."""
        if self._shards:
            return
        if self._creating is None or self._creating.done():
            self._creating = asyncio.ensure_future(self._create_topic())
        await asyncio.shield(self._creating)

    # Time

    def now_ms(self) -> int:
        """The wall clock. When somebody sets it, the next checks move along."""
        now_ms = self._broker.clock.now_ms()
        offset_ms = self._wall_minus_monotonic_ms(now_ms)
        step_ms = offset_ms - self._clock_offset_ms
        if abs(step_ms) > CLOCK_STEP_MS:
            self._clock_offset_ms = offset_ms
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

    # Markers

    async def _write_markers(self, markers: Markers) -> Answers:
        """Write markers where the partitions still are; those of deleted topics need none."""
        topics = self._broker.image.topics
        there = [
            (name, index)
            for name, index in markers.partitions
            if (topic := topics.get(name)) is not None and index < len(topic.partitions)
        ]
        answers = await write_markers(
            self._broker,
            markers.producer_id,
            markers.producer_epoch,
            markers.commit,
            markers.coordinator_epoch,
            markers.transaction_version,
            there,
        )
        return {each: answers.get(each, ErrorCode.NONE) for each in markers.partitions}

    # The topic's life

    async def _create_topic(self) -> None:
        settings = self._broker.settings
        error, message = await self._broker.metadata.change(
            lambda image: on_create_internal_topic(image, TRANSACTION_STATE, settings)
        )
        if error is not ErrorCode.NONE:
            log.error("%s cannot be created: %s", TRANSACTION_STATE, message or error.message)
        self._open_shards()

    def _open_shards(self) -> None:
        topic = self._broker.image.topics.get(TRANSACTION_STATE)
        if topic is None or self._shards:
            return
        replicas = [self._broker.replicas.get(TRANSACTION_STATE, index) for index in range(len(topic.partitions))]
        self._shards = [
            TransactionShard(each, self.now_ms, self._write_markers) if each is not None else None for each in replicas
        ]
        with_records = []
        for shard in self._present_shards:
            if shard.partition.log.log_start_offset == shard.partition.log.log_end_offset:
                shard.start(self._coordinator(shard))
            else:
                with_records.append(shard)
        if with_records:
            self._loading = asyncio.ensure_future(self._load(with_records))

    def _coordinator(self, shard: TransactionShard) -> TransactionCoordinator:
        broker = self._broker
        return TransactionCoordinator(
            TransactionConfig.from_settings(broker.settings),
            new_producer_id=self._new_producer_id,
            coordinator_epoch=shard.partition.leader_epoch,
            server_version=lambda: effective_level(broker.image.features, TRANSACTION_VERSION),
        )

    def _new_producer_id(self) -> int | None:
        """An id from the block in hand. When that is used up the next one is reserved behind the answer."""
        producer_ids = self._broker.producer_ids
        producer_id = producer_ids.take()
        if producer_id is None and (self._reserving is None or self._reserving.done()):
            self._reserving = asyncio.ensure_future(producer_ids.ensure())
        return producer_id

    async def _load(self, shards: list[TransactionShard]) -> None:
        """One after the other, so that cold reads of clients find a free thread."""
        chunk_bytes = self._broker.settings["transaction.state.log.load.buffer.size"]
        for shard in shards:
            coordinator = self._coordinator(shard)
            try:
                await self._broker.run_reader(replay_log, coordinator, shard.partition.log, chunk_bytes)
            except Exception:
                # Without its past an id would lose open transactions: better that it waits for a repair.
                log.exception("%s-%d cannot be loaded", shard.partition.topic, shard.partition.partition)
                shard.unload()
                continue
            if shard.state is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
                shard.start(coordinator)

    def _on_topics_deleted(self, topics: Sequence[tuple[str, bytes]]) -> None:
        if any(name == TRANSACTION_STATE for name, _ in topics):
            for shard in self._present_shards:
                shard.unload()
            self._shards = []
