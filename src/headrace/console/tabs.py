"""Parts of a page of which one is shown at a time. Each is built when it is first opened; the address names the one that is open."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from nicegui import ui

from headrace.console.elements import Tag
from headrace.console.view import View

Build = Callable[[], Awaitable[None]]


class Tabs:
    """(name, title, build) each."""

    def __init__(self, view: View, label: str, tabs: Sequence[tuple[str, str, Build]]) -> None:
        self._builds = {name: build for name, _, build in tabs}
        self._panels: dict[str, Tag] = {}
        self._buttons: dict[str, Tag] = {}
        self._built: set[str] = set()
        self.chosen = view.request.query_params.get("tab", "")
        with Tag("div", classes="hr-tabs", role="tablist", aria_label=label):
            for name, title, _ in tabs:
                made = Tag("button", title, type="button", role="tab", aria_selected="false")
                made.on("click", lambda name=name: self.choose(name))
                made.on("keydown.right.prevent", lambda name=name: self._step(name, 1))
                made.on("keydown.left.prevent", lambda name=name: self._step(name, -1))
                self._buttons[name] = made
        for name, title, _ in tabs:
            panel = Tag("div", classes="hr-stack", role="tabpanel", aria_label=title)
            panel.visible = False
            self._panels[name] = panel
            self._buttons[name].attribute("aria-controls", panel.html_id)

    async def open(self) -> None:
        """The one that the address names, else the first."""
        await self.choose(self.chosen if self.chosen in self._builds else next(iter(self._builds)), note=False)

    async def choose(self, name: str, *, note: bool = True) -> None:
        self.chosen = name
        for each, panel in self._panels.items():
            panel.visible = each == name
            self._buttons[each].attribute("aria-selected", "true" if each == name else "false")
            self._buttons[each].attribute("tabindex", "0" if each == name else "-1")
        if note:
            ui.run_javascript(f'history.replaceState(null, "", "?tab={name}")')
        if name not in self._built:
            self._built.add(name)
            with self._panels[name]:
                await self._builds[name]()

    async def _step(self, name: str, by: int) -> None:
        names = list(self._builds)
        wanted = names[(names.index(name) + by) % len(names)]
        await self.choose(wanted)
        ui.run_javascript(f"document.getElementById('{self._buttons[wanted].html_id}')?.focus()")
