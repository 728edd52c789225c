"""Keys in the order of their places, in blocks: adding and removing touch one block, a scan walks them.

Sorting all keys again for each new one would make a range look-up cost as much as the table is large. Blocks of a thousand keep
both within microseconds, and a key costs eight bytes here, because places are computed when needed and not kept.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from headrace.tables.places import Bounds

BLOCK = 1024
Rank = Any  # the key itself, or its place and the key


class SortedKeys:
    """Distinct keys, sorted by place and, where two share one, by themselves. Without `place` keys are their own places."""

    __slots__ = ("_blocks", "_firsts", "_key", "_place")

    def __init__(self, place: Callable[[bytes], bytes] | None, keys: Iterable[bytes]) -> None:
        self._place = place
        # None lets sorting and bisection compare the keys without a call for each.
        self._key = None if place is None else self._rank
        ordered = sorted(keys, key=self._key)
        self._blocks = [ordered[at : at + BLOCK] for at in range(0, len(ordered), BLOCK)] or [[]]
        self._firsts = [self._rank(block[0]) if block else self._lowest(b"") for block in self._blocks]

    def _rank(self, key: bytes) -> Rank:
        return key if self._place is None else (self._place(key), key)

    def _lowest(self, place: bytes) -> Rank:
        """What comes before every key at this place."""
        return place if self._place is None else (place, b"")

    def _block(self, rank: Rank) -> int:
        """The block that a key of this rank is in, or belongs into."""
        return max(0, bisect_right(self._firsts, rank) - 1)

    def add(self, key: bytes) -> None:
        """Add a key; one that is there already stays as it is."""
        rank = self._rank(key)
        number = self._block(rank)
        block = self._blocks[number]
        at = bisect_left(block, rank, key=self._key)
        if at < len(block) and block[at] == key:
            return
        block.insert(at, key)
        if at == 0:
            self._firsts[number] = rank
        if len(block) > 2 * BLOCK:
            self._split(number)

    def _split(self, number: int) -> None:
        block = self._blocks[number]
        tail = block[BLOCK:]
        del block[BLOCK:]
        self._blocks.insert(number + 1, tail)
        self._firsts.insert(number + 1, self._rank(tail[0]))

    def discard(self, key: bytes) -> None:
        """Remove a key if it is there."""
        rank = self._rank(key)
        number = self._block(rank)
        block = self._blocks[number]
        at = bisect_left(block, rank, key=self._key)
        if at == len(block) or block[at] != key:
            return
        del block[at]
        if block:
            self._firsts[number] = self._rank(block[0])
        elif len(self._blocks) > 1:
            del self._blocks[number], self._firsts[number]

    def within(self, bounds: Bounds) -> Iterator[bytes]:
        """The keys within bounds, in order."""
        low, high = bounds
        number = self._block(self._lowest(low))
        at = bisect_left(self._blocks[number], low, key=self._place)
        for block in self._blocks[number:]:
            end = len(block) if high is None else bisect_left(block, high, key=self._place)
            yield from block[at:end]
            if end < len(block):
                return
            at = 0
