"""One partition over a directory whose flushes end when the test says so."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from headrace.replica.partition import Partition
from headrace.replica.writer import DirectoryWriter
from headrace.storage.config import LogConfig
from headrace.storage.log import Log
from tests.storage.builders import NOW, new_log

Scenario = Callable[[Partition, "HeldDirectory"], Awaitable[None]]


class HeldDirectory:
    """A directory whose flushes end when the test says so."""

    def __init__(self) -> None:
        self.writer = DirectoryWriter("test", asyncio.get_running_loop())
        self.flushes: list[tuple[Log, asyncio.Future[None]]] = []

    def fail(self, error: OSError) -> None:
        raise error

    def flush(self, log: Log) -> asyncio.Future[None]:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.flushes.append((log, future))
        return future

    def finish_flush(self) -> None:
        log, future = self.flushes.pop(0)
        log.flush(NOW)
        future.set_result(None)


def run(path: Path, scenario: Scenario, config: LogConfig | None = None) -> None:
    async def main() -> None:
        directory = HeldDirectory()
        partition = Partition(new_log(path / "t-0", config), leader_epoch=0, directory=directory)
        try:
            await scenario(partition, directory)
        finally:
            directory.writer.close()
            partition.log.drop()

    asyncio.run(main())
