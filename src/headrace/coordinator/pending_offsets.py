"""Offsets that were committed inside transactions which are still open.

They count for nobody until their producer's commit marker is in the log, and are forgotten with its abort marker. Meanwhile
the partitions they name are unstable: a reader that asks for stable offsets has to wait.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from headrace.wire.records.group import OffsetCommitKey

if TYPE_CHECKING:
    from headrace.coordinator.offsets import OffsetAndMetadata
    from headrace.coordinator.records import GroupRecord

Key = tuple[str, str, int]
"""Group, topic, partition."""


class PendingOffsets:
    """Producer id → what its open transaction has committed."""

    __slots__ = ("_by_producer", "_unstable")

    def __init__(self) -> None:
        self._by_producer: dict[int, dict[Key, OffsetAndMetadata]] = {}
        self._unstable: dict[str, Counter[tuple[str, int]]] = {}
        """Group → partition → transactions that hold an offset for it, in the log or on their way there."""

    def put(self, producer_id: int, key: Key, committed: OffsetAndMetadata) -> None:
        pending = self._by_producer.setdefault(producer_id, {})
        if key not in pending:
            self._hold(key)
        pending[key] = committed

    def take(self, producer_id: int) -> dict[Key, OffsetAndMetadata]:
        """The transaction ended: all that was pending in it."""
        taken = self._by_producer.pop(producer_id, {})
        for key in taken:
            self._release(key)
        return taken

    def forget(self, key: Key) -> None:
        """The offset was deleted: what open transactions hold for it goes too."""
        if not self.is_unstable(*key):
            return
        for producer_id, pending in list(self._by_producer.items()):
            if pending.pop(key, None) is not None:
                self._release(key)
                if not pending:
                    del self._by_producer[producer_id]

    def is_unstable(self, group_id: str, topic: str, partition: int) -> bool:
        return (topic, partition) in self._unstable.get(group_id, ())

    def of_group(self, group_id: str) -> Iterable[tuple[str, int]]:
        """The partitions for which open transactions hold an offset."""
        return self._unstable.get(group_id, Counter()).keys()

    def items(self) -> Iterator[tuple[Key, OffsetAndMetadata]]:
        for pending in self._by_producer.values():
            yield from pending.items()

    # Commits under way

    def begin_append(self, records: list[GroupRecord]) -> None:
        for key in _keys(records):
            self._hold(key)

    def end_append(self, records: list[GroupRecord]) -> None:
        for key in _keys(records):
            self._release(key)

    def _hold(self, key: Key) -> None:
        group_id, topic, partition = key
        self._unstable.setdefault(group_id, Counter())[topic, partition] += 1

    def _release(self, key: Key) -> None:
        group_id, topic, partition = key
        held = self._unstable[group_id]
        if held[topic, partition] > 1:
            held[topic, partition] -= 1
            return
        del held[topic, partition]
        if not held:
            del self._unstable[group_id]


def _keys(records: list[GroupRecord]) -> Iterator[Key]:
    for record in records:
        if isinstance(record.key, OffsetCommitKey):
            yield record.key.group, record.key.topic, record.key.partition
