"""A Fetch request that found too little and waits for more, until its partitions have grown enough or its time is over.

Owns the waiting alone: it is told of growth by the partitions (`replica.partition.Waiter`) and lets the request read again.
What is read, and what is enough, is the request's (`api.fetch.Reading`). All of it runs on the broker's event loop.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headrace.broker.api.fetch import Reading
    from headrace.replica.partition import Partition
    from headrace.wire.messages.fetch import FetchResponse

MAX_WAIT_MS = 2**31 - 1
UNKNOWN_GROWTH = 2**31


class LongPoll:
    """The waiting of one Fetch request."""

    __slots__ = ("committed", "grown", "min_bytes", "over", "reading", "stable", "wakeup")

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.min_bytes = reading.request.min_bytes
        self.committed = reading.committed
        self.grown = 0
        self.stable: dict[Partition, int] | None = None
        """For read_committed: the last stable offsets beyond which there would be news."""
        self.over = False
        """Waiting has come to its end, by time or because the broker stops."""
        self.wakeup: asyncio.Future[None] | None = None

    async def run(self) -> FetchResponse:
        """Wait, and answer with what there is then."""
        reading = self.reading
        broker = reading.broker
        partitions = self._partitions()
        for partition in partitions:
            partition.waiters.add(self)
        wait_s = min(reading.request.max_wait_ms, MAX_WAIT_MS) / 1000
        timer = asyncio.get_running_loop().call_later(wait_s, self.stop)
        broker.long_polls.add(reading)
        reading.long_poll = self
        try:
            await self._grow(partitions)
            # What an open transaction adds is nothing to a read_committed reader, and its end may bring too little.
            while self.stable is not None and not self.over and not reading.enough():
                await self._grow(partitions)
        finally:
            timer.cancel()
            broker.long_polls.discard(reading)
            reading.long_poll = None  # as long as each holds the other, the records that were read stay in memory
            for partition in partitions:
                partition.waiters.discard(self)
        return reading.response()

    async def _grow(self, partitions: list[Partition]) -> None:
        """Wait for news, and read."""
        while self._missed() and not self.over:
            await self._read_again()
            if self.reading.enough():
                return
        self.wakeup = asyncio.get_running_loop().create_future()
        if self.stable is None:
            self.grown = self.reading.size
        if self.committed:
            self.stable = {partition: partition.last_stable_offset for partition in partitions}
            if any(stable != partition.high_watermark for partition, stable in self.stable.items()):
                self.grown = UNKNOWN_GROWTH  # what waits for the end of a transaction, however much that is
        if not self.over:
            await self.wakeup
        await self._read_again()

    async def _read_again(self) -> None:
        try:
            self.reading.read(nowait=True)
        except BlockingIOError:
            await self.reading.broker.run_reader(self.reading.read, False)

    def _missed(self) -> bool:
        """Whether a partition has more than when it was read: nobody told while a thread read, or before this task began."""
        reading, committed = self.reading, self.committed
        for followed, data in reading.answers:
            partition = reading.partition(followed)
            if partition is None or partition.offline:
                return True
            if committed:
                if partition.last_stable_offset != data.last_stable_offset:
                    return True
            elif partition.high_watermark != data.high_watermark:
                return True
        return False

    def on_growth(self, partition: Partition, size: int) -> None:
        """A partition has more. Waking a task takes a turn of the loop, which lets more arrive meanwhile."""
        self.grown += size
        if self.grown >= self.min_bytes:
            stable = self.stable
            if stable is None or size >= UNKNOWN_GROWTH or partition.last_stable_offset != stable.get(partition):
                self._wake()

    def stop(self) -> None:
        """The time is over, or the broker shuts down."""
        self.over = True
        self._wake()

    def _wake(self) -> None:
        if self.wakeup is not None and not self.wakeup.done():
            self.wakeup.set_result(None)

    def _partitions(self) -> list[Partition]:
        partition_of = self.reading.partition
        return [found for followed in self.reading.wanted.partitions if (found := partition_of(followed)) is not None]
