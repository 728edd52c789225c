"""Questions that block, asked by threads, few at a time, each answer shared by all who want it while it is fresh.

So ten open pages cost a broker no more than one, and a broker that is gone is not asked by everybody at once.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

Answer = TypeVar("Answer")
ERROR_AGE_S = 2.0
MOST_KEPT = 2_000


@dataclass(slots=True)
class _Asked:
    future: asyncio.Future[Any]
    answered_at: float | None = None

    def is_fresh(self, max_age_s: float) -> bool:
        if self.answered_at is None:
            return True  # still under way: wait for that one
        failed = self.future.cancelled() or self.future.exception() is not None
        return time.monotonic() - self.answered_at < (min(max_age_s, ERROR_AGE_S) if failed else max_age_s)


class Asking:
    """Belongs to one event loop; `close` ends its threads."""

    def __init__(self, threads: int = 4) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="console-ask")
        self._asked: OrderedDict[Hashable, _Asked] = OrderedDict()

    async def ask(self, key: Hashable, max_age_s: float, question: Callable[[], Answer]) -> Answer:
        """The answer, at most `max_age_s` old. A question that raises does so for everybody who waits for it."""
        asked = self._asked.get(key)
        if asked is None or not asked.is_fresh(max_age_s):
            asked = self._start(key, question)
        return await asyncio.shield(asked.future)

    async def do(self, deed: Callable[[], Answer]) -> Answer:
        """Something that is done once, and not remembered."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, deed)

    def forget(self, *kinds: str) -> None:
        """Answers to these kinds of questions (the first part of their keys) are out of date; without kinds, all are."""
        for key in [key for key in self._asked if not kinds or (isinstance(key, tuple) and key[0] in kinds)]:
            del self._asked[key]

    def close(self) -> None:
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _start(self, key: Hashable, question: Callable[[], Any]) -> _Asked:
        asked = _Asked(asyncio.get_running_loop().run_in_executor(self._threads, question))

        def note(future: asyncio.Future[Any]) -> None:
            asked.answered_at = time.monotonic()
            if not future.cancelled():
                future.exception()  # whoever asked may be gone by now

        asked.future.add_done_callback(note)
        self._asked[key] = asked
        self._asked.move_to_end(key)
        while len(self._asked) > MOST_KEPT:
            self._asked.popitem(last=False)
        return asked
