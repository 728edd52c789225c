"""What a page's function is given: the console, and the means to stay up to date for as long as somebody looks."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from nicegui import background_tasks, ui

from headrace.admin.errors import Problem
from headrace.console.parts import Note, said

if TYPE_CHECKING:
    from starlette.requests import Request

    from headrace.console.state import Console

FIRST_LOOK_S = 0.7
"""How long the first answer may keep a page from being shown."""


@dataclass
class View:
    """One open page. `visible` is false while its tab is hidden: nothing is asked for then."""

    console: Console
    request: Request
    banner: Note
    visible: bool = True
    _troubles: dict[str, Problem] = field(default_factory=dict)
    _busy: dict[str, asyncio.Task[None]] = field(default_factory=dict)

    @property
    def read_only(self) -> bool:
        return self.console.settings.read_only

    async def live(self, every_s: float, *refreshes: Callable[[], Awaitable[None]]) -> None:
        """Call them now and then again and again. While one raises a `Problem`, the page says so and keeps what it had."""
        looks = {str(index): refresh for index, refresh in enumerate(refreshes, len(self._busy))}
        for name, refresh in looks.items():
            self._busy[name] = background_tasks.create(self._look(name, refresh), name="first look")
        await asyncio.wait([self._busy[name] for name in looks], timeout=FIRST_LOOK_S)

        async def again() -> None:
            for name, refresh in looks.items():
                if self.visible and self._busy[name].done():
                    self._busy[name] = background_tasks.create(self._look(name, refresh), name="look")

        ui.timer(every_s, again, immediate=False)

    async def attempt(self, deed: Callable[[], Awaitable[Any]], done: str = "") -> bool:
        """For buttons: whether it went well; what went wrong is said."""
        try:
            await deed()
        except Problem as error:
            said(error.line(), good=False)
            return False
        if done:
            said(done)
        return True

    async def _look(self, name: str, refresh: Callable[[], Awaitable[None]]) -> None:
        try:
            await refresh()
        except Problem as error:
            self._troubles[name] = error
        else:
            self._troubles.pop(name, None)
        self._tell()

    def _tell(self) -> None:
        if self._troubles:
            self.banner.problem(next(iter(self._troubles.values())))
        else:
            self.banner.hide()
