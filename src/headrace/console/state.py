"""What all pages of a console share: settings, the cluster, the services, what happened lately, and who samples it in the background."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from headrace.admin.errors import Problem
from headrace.console.asking import Asking
from headrace.console.cluster import LiveCluster
from headrace.console.masking import Masking
from headrace.console.registry import Lens, Registry
from headrace.console.services import Engine, ServiceState, engine_state, registry_state
from headrace.console.settings import ConsoleSettings

log = logging.getLogger(__name__)

SAMPLE_S = 5.0
_SERVICE_AGE_S = 3.0
_MOST_EVENTS = 200


@dataclass(frozen=True, slots=True)
class Event:
    """Something that went wrong, or right again, as the console saw it."""

    at: float
    source: str
    text: str
    good: bool = False


class Console:
    """One per process. `open` and `close` belong to the event loop that serves the pages."""

    def __init__(self, settings: ConsoleSettings) -> None:
        self.settings = settings
        self.asking = Asking()
        self.cluster = LiveCluster(settings, self.asking)
        self.engine = Engine(settings.engine_url, self.asking, settings.read_only)
        self.registry = Registry(settings.registry_url, self.asking, settings.read_only)
        self.lens = Lens(settings.registry_url, Masking(settings.mask_fields))
        self.events: deque[Event] = deque(maxlen=_MOST_EVENTS)
        self._was_up: dict[str, bool] = {}
        self._sampler: asyncio.Task[None] | None = None

    async def open(self) -> None:
        self._sampler = asyncio.create_task(self._sample(), name="console-sampler")

    async def close(self) -> None:
        if self._sampler is not None:
            self._sampler.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._sampler
        await asyncio.to_thread(self.asking.close)

    async def services(self) -> list[ServiceState]:
        """The broker, the registry and the engine, each with what to do when it does not answer."""
        broker = await self._broker()
        others = await asyncio.gather(
            self.asking.ask(("service", "registry"), _SERVICE_AGE_S, lambda: registry_state(self.settings)),
            self.asking.ask(("service", "engine"), _SERVICE_AGE_S, lambda: engine_state(self.settings)),
        )
        found = [broker, *others]
        for each in found:
            self._note(each)
        return found

    async def _broker(self) -> ServiceState:
        address = self.settings.bootstrap_servers
        try:
            metadata = await self.cluster.metadata()
        except Problem as error:
            return ServiceState("Broker", address, False, error.message, error.next_step)
        count = len(metadata.brokers)
        controller = f", controller {metadata.controller_id}" if metadata.controller_id >= 0 else ""
        return ServiceState("Broker", address, True, f"{count} broker{'s' if count != 1 else ''}{controller}")

    def _note(self, seen: ServiceState) -> None:
        """A change becomes an event; the first look does so only when it is bad and the service is needed."""
        before = self._was_up.get(seen.name)
        self._was_up[seen.name] = seen.up
        if before is None and (seen.up or seen.optional):
            return
        if before != seen.up:
            text = "answers again" if seen.up else seen.detail
            self.events.appendleft(Event(time.time(), seen.name, text, good=seen.up))

    async def _sample(self) -> None:
        """Looks at offsets and lag now and then, so that rates and plots are there when a page is opened."""
        while True:
            await self._quietly(self.cluster.end_offsets)
            await self._quietly(self.cluster.groups)
            await self._quietly(self.services)
            await asyncio.sleep(SAMPLE_S)

    async def _quietly(self, question: Callable[[], Awaitable[Any]]) -> None:
        try:
            await question()
        except Problem as error:
            log.debug("not sampled: %s", error.line())
