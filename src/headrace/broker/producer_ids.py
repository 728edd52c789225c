"""Producer ids: handed out from blocks that the metadata log has reserved."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable


class ProducerIds:
    """The block in hand. A restart drops the rest of it: ids are plenty, and none may be given twice."""

    def __init__(self, block: tuple[int, int], reserve_block: Callable[[], Awaitable[tuple[int, int]]]) -> None:
        self._reserve_block = reserve_block
        self._next, self._end = block[0], sum(block)
        self._lock = asyncio.Lock()

    async def next(self) -> int:
        """A producer id that nobody had before."""
        while (producer_id := self.take()) is None:
            await self.ensure()
        return producer_id

    def take(self) -> int | None:
        """A producer id for somebody who cannot wait; None when the block is used up, until `ensure` has run."""
        if self._next == self._end:
            return None
        producer_id = self._next
        self._next += 1
        return producer_id

    async def ensure(self) -> None:
        """Have at least one id in hand."""
        async with self._lock:
            if self._next == self._end:
                first, size = await self._reserve_block()
                self._next, self._end = first, first + size

    @property
    def in_hand(self) -> bool:
        return self._next < self._end
