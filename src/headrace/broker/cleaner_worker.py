"""A process that compacts, as its broker sees it: lines to it, lines from it, and a thread that waits for them.

Whatever may block is done in that thread, the start of the process included.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from headrace.storage.compaction.cleaning import Finished, Task
from headrace.storage.compaction.target import Cleaned
from headrace.storage.compaction.worker import RoundFailed, decode

MODULE = "headrace.storage.compaction.worker"


class Worker:
    def __init__(self, process: subprocess.Popen[str], thread: ThreadPoolExecutor) -> None:
        self._process = process
        self._thread = thread

    @staticmethod
    async def start() -> Worker:
        thread = ThreadPoolExecutor(1, thread_name_prefix="headrace-cleaner")
        return Worker(await asyncio.get_running_loop().run_in_executor(thread, _start), thread)

    async def begin(self, task: Task) -> Cleaned | Finished:
        return await self._ask(lambda: task.to_json() + "\n")

    async def next(self) -> Cleaned | Finished:
        return await self._ask(str)

    async def _ask(self, text: Callable[[], str]) -> Cleaned | Finished:
        return decode(await asyncio.get_running_loop().run_in_executor(self._thread, self._exchange, text))

    def _exchange(self, text: Callable[[], str]) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        line = ""
        try:
            self._process.stdin.write(text())
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            pass  # it has ended, as it has when there is no line
        if not line:
            raise RoundFailed(f"the worker process has ended ({self._process.wait()})")
        return line

    def kill(self) -> None:
        self._process.kill()

    async def close(self) -> None:
        await asyncio.get_running_loop().run_in_executor(self._thread, self._close)
        self._thread.shutdown(wait=False)

    def _close(self) -> None:
        """The end of its input ends the process."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            try:
                pipe.close()
            except BrokenPipeError:
                continue


def _start() -> subprocess.Popen[str]:
    return subprocess.Popen(  # noqa: S603 - our own interpreter and module
        [sys.executable, "-m", MODULE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
