"""Committed offsets of the groups of one coordinator, and the records that change them.

Offsets of open transactions wait in `pending` until `end_transaction`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from headrace.coordinator import records
from headrace.coordinator.pending_offsets import PendingOffsets
from headrace.coordinator.records import GroupRecord
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.offset_commit import OffsetCommitRequestPartition
from headrace.wire.messages.offset_fetch import (
    OffsetFetchRequestTopics,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from headrace.wire.messages.txn_offset_commit import TxnOffsetCommitRequestPartition
from headrace.wire.records.group import OffsetCommitKey, OffsetCommitValue
from headrace.wire.schema import ZERO_UUID

NO_OFFSET = -1
NO_EXPIRY = -1
DEFAULT_RETENTION = -1
NO_PRODUCER_ID = -1


class OffsetAndMetadata(NamedTuple):
    """One partition's committed offset."""

    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp_ms: int
    expire_timestamp_ms: int
    """Only set by clients that chose a retention of their own (OffsetCommit 2-4)."""
    topic_id: bytes
    order: int = -1
    """Its record's place among all that were replayed, which is their order in the log."""

    @classmethod
    def from_request(
        cls,
        partition: OffsetCommitRequestPartition | TxnOffsetCommitRequestPartition,
        topic_id: bytes,
        retention_ms: int,
        now_ms: int,
    ) -> OffsetAndMetadata:
        return cls(
            partition.committed_offset,
            max(partition.committed_leader_epoch, -1),
            partition.committed_metadata or "",
            now_ms,
            NO_EXPIRY if retention_ms == DEFAULT_RETENTION else now_ms + retention_ms,
            topic_id,
        )

    @classmethod
    def from_record(cls, value: OffsetCommitValue, order: int) -> OffsetAndMetadata:
        return cls(
            value.offset,
            value.leader_epoch,
            value.metadata,
            value.commit_timestamp,
            value.expire_timestamp,
            value.topic_id,
            order,
        )

    def is_expired(self, base_timestamp_ms: int, retention_ms: int, now_ms: int) -> bool:
        if self.expire_timestamp_ms != NO_EXPIRY:
            return now_ms >= self.expire_timestamp_ms
        return now_ms - base_timestamp_ms >= retention_ms


PartitionOffsets = dict[int, OffsetAndMetadata]


class Offsets:
    """Group → topic → partition → committed offset. Written by `replay` alone."""

    __slots__ = ("_by_group", "_in_flight", "_replayed", "pending")

    def __init__(self) -> None:
        self._by_group: dict[str, dict[str, PartitionOffsets]] = {}
        self._in_flight: dict[str, Counter[tuple[str, int, bytes]]] = {}
        """Commits on their way to the log, by topic, partition and topic id. Whoever removes offsets must remove these."""
        self._replayed = 0
        self.pending = PendingOffsets()

    def replay(self, key: OffsetCommitKey, value: OffsetCommitValue | None, producer_id: int = NO_PRODUCER_ID) -> None:
        """One record; of a transaction if it comes with a producer id."""
        self._replayed += 1
        if value is None:
            self._remove(key.group, key.topic, key.partition)
            self.pending.forget((key.group, key.topic, key.partition))
            return
        committed = OffsetAndMetadata.from_record(value, self._replayed)
        if producer_id == NO_PRODUCER_ID:
            self._put(key.group, key.topic, key.partition, committed)
        else:
            self.pending.put(producer_id, (key.group, key.topic, key.partition), committed)

    def end_transaction(self, producer_id: int, commit: bool) -> None:
        """A marker: the producer's pending offsets count, or are forgotten. The newest record wins, not the newest marker:
        compaction may have removed whatever lay in between."""
        for (group_id, topic, partition), committed in self.pending.take(producer_id).items():
            known = self.get(group_id, topic, partition)
            if commit and (known is None or committed.order > known.order):
                self._put(group_id, topic, partition, committed)

    def _put(self, group_id: str, topic: str, partition: int, committed: OffsetAndMetadata) -> None:
        self._by_group.setdefault(group_id, {}).setdefault(topic, {})[partition] = committed

    def of_group(self, group_id: str) -> dict[str, PartitionOffsets]:
        return self._by_group.get(group_id, {})

    def get(self, group_id: str, topic: str, partition: int) -> OffsetAndMetadata | None:
        return self.of_group(group_id).get(topic, {}).get(partition)

    def groups(self) -> Iterator[tuple[str, dict[str, PartitionOffsets]]]:
        return iter(self._by_group.items())

    # Commits under way

    def begin_append(self, committed: list[GroupRecord]) -> None:
        for record in committed:
            if isinstance(record.key, OffsetCommitKey) and isinstance(record.value, OffsetCommitValue):
                key = record.key.topic, record.key.partition, record.value.topic_id
                self._in_flight.setdefault(record.key.group, Counter())[key] += 1

    def end_append(self, committed: list[GroupRecord]) -> None:
        for record in committed:
            if isinstance(record.key, OffsetCommitKey) and isinstance(record.value, OffsetCommitValue):
                key = record.key.topic, record.key.partition, record.value.topic_id
                pending = self._in_flight[record.key.group]
                if pending[key] > 1:
                    pending[key] -= 1
                    continue
                del pending[key]
                if not pending:
                    del self._in_flight[record.key.group]

    def is_awaited(self, group_id: str) -> bool:
        """Whether commits are on their way to the log or to the end of their transaction."""
        return group_id in self._in_flight or bool(self.pending.of_group(group_id))

    def is_in_flight(self, group_id: str, topic: str, partition: int) -> bool:
        in_flight = self._in_flight.get(group_id)
        return in_flight is not None and any(each[:2] == (topic, partition) for each in in_flight)

    # Removal

    def tombstones(self, group_id: str) -> list[GroupRecord]:
        """Records that remove every offset of a group."""
        keys = {(topic, index) for topic, partitions in self.of_group(group_id).items() for index in partitions}
        keys |= {each[:2] for each in self._in_flight.get(group_id, ())}
        keys |= set(self.pending.of_group(group_id))
        return [records.offset_tombstone(group_id, topic, index) for topic, index in sorted(keys)]

    def tombstone(self, group_id: str, topic: str, partition: int) -> GroupRecord | None:
        """The record that removes one offset, if there is one to remove."""
        known = self.get(group_id, topic, partition) is not None
        if (
            known
            or self.is_in_flight(group_id, topic, partition)
            or self.pending.is_unstable(group_id, topic, partition)
        ):
            return records.offset_tombstone(group_id, topic, partition)
        return None

    def tombstones_of_topic(self, topic: str, topic_id: bytes) -> list[GroupRecord]:
        """Records that remove a deleted topic's offsets, but not those of a later topic with the same name."""
        gone: dict[tuple[str, int], None] = {}
        of_another: set[tuple[str, int]] = set()
        for group_id, index, its_id in self._of_topic(topic):
            if its_id in (ZERO_UUID, topic_id):
                gone[group_id, index] = None
            else:
                of_another.add((group_id, index))
        return [
            records.offset_tombstone(group_id, topic, index)
            for group_id, index in gone
            if (group_id, index) not in of_another
        ]

    def _of_topic(self, topic: str) -> Iterator[tuple[str, int, bytes]]:
        """Group, partition and topic id of all that is committed, pending, or on its way to the log."""
        for group_id, topics in self._by_group.items():
            for index, committed in topics.get(topic, {}).items():
                yield group_id, index, committed.topic_id
        for (group_id, name, index), pending in self.pending.items():
            if name == topic:
                yield group_id, index, pending.topic_id
        for group_id, in_flight in self._in_flight.items():
            for name, index, topic_id in in_flight:
                if name == topic:
                    yield group_id, index, topic_id

    def _remove(self, group_id: str, topic: str, partition: int) -> None:
        topics = self._by_group.get(group_id, {})
        partitions = topics.get(topic, {})
        partitions.pop(partition, None)
        if not partitions:
            topics.pop(topic, None)
        if not topics:
            self._by_group.pop(group_id, None)

    # Answers to OffsetFetch

    def fetch(
        self, group_id: str, topics: list[OffsetFetchRequestTopics] | None, require_stable: bool = False
    ) -> list[OffsetFetchResponseTopics]:
        """What was committed for these topics, or for all. What was not is answered with offset -1, without an error.

        With `require_stable`, partitions that an open transaction has an offset for are refused: ask again.
        """
        if topics is None:
            found = [
                OffsetFetchResponseTopics(
                    name=name, partitions=[_fetched(index, each) for index, each in partitions.items()]
                )
                for name, partitions in self.of_group(group_id).items()
            ]
        else:
            found = [self._fetch_topic(group_id, topic) for topic in topics]
        if require_stable and self.pending.of_group(group_id):
            self._refuse_unstable(group_id, found)
        return found

    def _refuse_unstable(self, group_id: str, topics: list[OffsetFetchResponseTopics]) -> None:
        for topic in topics:
            for position, answer in enumerate(topic.partitions):
                index = answer.partition_index
                if self.pending.is_unstable(group_id, topic.name, index):
                    refused = _fetched(index, None)
                    refused.error_code = ErrorCode.UNSTABLE_OFFSET_COMMIT
                    topic.partitions[position] = refused

    def _fetch_topic(self, group_id: str, topic: OffsetFetchRequestTopics) -> OffsetFetchResponseTopics:
        partitions = self.of_group(group_id).get(topic.name, {})
        return OffsetFetchResponseTopics(
            name=topic.name,
            topic_id=topic.topic_id,
            partitions=[
                _fetched(index, _of_same_topic(partitions.get(index), topic.topic_id))
                for index in topic.partition_indexes
            ],
        )


def _of_same_topic(committed: OffsetAndMetadata | None, topic_id: bytes) -> OffsetAndMetadata | None:
    """An offset of a deleted topic says nothing about a new one with the same name."""
    if committed is None or ZERO_UUID in (committed.topic_id, topic_id) or committed.topic_id == topic_id:
        return committed
    return None


def _fetched(index: int, committed: OffsetAndMetadata | None) -> OffsetFetchResponsePartitions:
    if committed is None:
        return OffsetFetchResponsePartitions(partition_index=index, committed_offset=NO_OFFSET, metadata="")
    return OffsetFetchResponsePartitions(
        partition_index=index,
        committed_offset=committed.offset,
        committed_leader_epoch=committed.leader_epoch,
        metadata=committed.metadata,
    )
