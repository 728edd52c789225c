"""Transactions on this broker: a shard over each partition of `__transaction_state`, and what others ask of all of them.

The topic's life is in `internal_topic.py`, the rules of transactions are in `headrace.coordinator.transactions`.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from headrace.broker.internal_topic import InternalTopic
from headrace.broker.markers import write_markers
from headrace.broker.transaction_shard import TransactionShard, replay_log
from headrace.coordinator.transactions.checks import Producer
from headrace.coordinator.transactions.config import TransactionConfig
from headrace.coordinator.transactions.coordinator import TransactionCoordinator
from headrace.coordinator.transactions.result import Markers
from headrace.coordinator.transactions.transaction import TopicPartition
from headrace.replica.features import TRANSACTION_VERSION, effective_level
from headrace.replica.partition import Partition
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
        self._topic = topic = InternalTopic(broker, TRANSACTION_STATE, self._open_shard, self._loader, log)
        self._reserving: asyncio.Task[None] | None = None
        self.is_available = topic.is_available
        self.create_topic = topic.create
        self.now_ms = topic.now_ms
        self.on_clock = topic.tick
        self.start = topic.start

    async def stop(self) -> None:
        """Markers that are not written yet follow at the next start."""
        await self._topic.stop()
        for shard in self._topic.shards:
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
        return self._topic.shard(transactional_id)

    @property
    def has_topic(self) -> bool:
        return self._topic.partition_count > 0

    @property
    def loaded_shards(self) -> list[TransactionShard]:
        return self._topic.loaded_shards

    @property
    def is_loading(self) -> bool:
        return self._topic.is_loading

    # What others ask

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

    # Shards

    def _open_shard(self, partition: Partition) -> TransactionShard:
        return TransactionShard(partition, self._topic.now_ms, self._write_markers)

    def _loader(self, shard: TransactionShard) -> Callable[[], TransactionCoordinator]:
        chunk_bytes = self._broker.settings["transaction.state.log.load.buffer.size"]
        return partial(replay_log, self._coordinator(shard), shard.partition.log, chunk_bytes)

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
