"""Records of several partitions in the order of their timestamps, as far as the partitions themselves are in that order.

Pure: whoever reads the partitions pushes records and says which of them have nothing more at the moment.
"""

from __future__ import annotations

import heapq
import itertools
from collections import deque
from collections.abc import Hashable, Iterable, Iterator
from typing import Generic, TypeVar

Record = TypeVar("Record")


class Merge(Generic[Record]):
    """A record leaves when no partition can still bring an earlier one: each has a record waiting or is idle."""

    def __init__(self, partitions: Iterable[Hashable]) -> None:
        self._waiting: dict[Hashable, deque[tuple[int, Record]]] = {partition: deque() for partition in partitions}
        self._silent = set(self._waiting)  # neither a record waiting nor known to be idle: they hold up the others
        self._heads: list[tuple[int, int, Hashable]] = []
        self._order = itertools.count()

    def push(self, partition: Hashable, timestamp_ms: int, record: Record) -> None:
        waiting = self._waiting[partition]
        waiting.append((timestamp_ms, record))
        if len(waiting) == 1:
            self._silent.discard(partition)
            self._offer(partition)

    def idle(self, partition: Hashable) -> None:
        """The partition is read to its end; others need not wait for it."""
        self._silent.discard(partition)

    def active(self, partition: Hashable) -> None:
        """The partition has more to come; others wait for it again."""
        if not self._waiting[partition]:
            self._silent.add(partition)

    def depth(self, partition: Hashable) -> int:
        return len(self._waiting[partition])

    def ready(self) -> Iterator[Record]:
        """Everything that may leave now. `exhausted` tells which partitions must bring more before the next one can."""
        while self._heads and not self._silent:
            _, _, partition = heapq.heappop(self._heads)
            _, record = self._waiting[partition].popleft()
            if self._waiting[partition]:
                self._offer(partition)
            else:
                self._silent.add(partition)
            yield record

    def exhausted(self) -> frozenset[Hashable]:
        return frozenset(self._silent)

    def _offer(self, partition: Hashable) -> None:
        timestamp_ms, _ = self._waiting[partition][0]
        heapq.heappush(self._heads, (timestamp_ms, next(self._order), partition))
