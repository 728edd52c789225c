"""What is done to a batch in a thread before it may be appended: its records are looked at one by one where the topic wants
that, and compressed anew where it comes in another codec than the topic's.

Batches enter the log in the order in which they came; one that waits for nothing still waits for those before it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor
from typing import NamedTuple

from headrace.replica.recompression import level, recompress, target_codec
from headrace.storage import validation
from headrace.storage.config import LogConfig
from headrace.storage.errors import AppendError
from headrace.storage.log import Appended
from headrace.wire.compression import Codec

Check = Callable[[], None]
Append = Callable[[memoryview, int, "Check | None", bool], "Appended | asyncio.Future[Appended]"]
"""Of a batch, the time, what is to be asked when the batch's turn has come, and whether its records are checked."""


def may_prepare(config: LogConfig) -> bool:
    return config.decodes_records or target_codec(config) is not None


class _Waiting(NamedTuple):
    ready: asyncio.Future[memoryview]
    now_ms: int
    check: Check | None
    records_checked: bool
    answer: asyncio.Future[Appended]


class Preparation:
    """The batches of one partition on their way through the threads."""

    def __init__(self, threads: Executor, append: Append) -> None:
        self._threads = threads
        self._append = append
        self._waiting: deque[_Waiting] = deque()

    def append(
        self, batch: memoryview, now_ms: int, config: LogConfig, check: Check | None = None
    ) -> Appended | asyncio.Future[Appended]:
        """Like `Partition.append`, of a batch that a client sent."""
        header = validation.read_one_batch(batch)
        codec = target_codec(config)
        if header.codec == codec:
            codec = None
        checks = config.decodes_records and not validation.is_quick_to_check(header)
        loop = asyncio.get_running_loop()
        if codec is not None or checks:
            validation.check_client_batch(header, batch, config, now_ms)
            ready = loop.run_in_executor(self._threads, _prepare, batch, now_ms, config, checks, codec)
        elif not self._waiting:
            return self._append(batch, now_ms, check, False)
        else:
            ready = loop.create_future()
            ready.set_result(batch)
        waiting = _Waiting(ready, now_ms, check, checks, loop.create_future())
        self._waiting.append(waiting)
        ready.add_done_callback(self._advance)
        return waiting.answer

    def _advance(self, _: asyncio.Future[memoryview]) -> None:
        """Appends what is ready, as long as it is the next."""
        while self._waiting and self._waiting[0].ready.done():
            ready, now_ms, check, records_checked, answer = self._waiting.popleft()
            try:
                appended = self._append(ready.result(), now_ms, check, records_checked)
            except AppendError as error:
                if not answer.done():
                    answer.set_exception(error)
                continue
            if isinstance(appended, asyncio.Future):
                appended.add_done_callback(lambda done, answer=answer: hand_on(done, answer))
            elif not answer.done():
                answer.set_result(appended)


def _prepare(batch: memoryview, now_ms: int, config: LogConfig, checks: bool, codec: Codec | None) -> memoryview:
    if checks:
        validation.check_records(batch, config, now_ms)
    return batch if codec is None else memoryview(recompress(batch, codec, level(config, codec)))


def hand_on(source: asyncio.Future[Appended], target: asyncio.Future[Appended]) -> None:
    """How the one ended is how the other ends."""
    if target.done():
        return
    error = source.exception()
    if error is not None:
        target.set_exception(error)
    else:
        target.set_result(source.result())
