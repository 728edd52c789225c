"""How a page is declared: a function in a module of `headrace.console.pages`, with its path and its place in the menu. Nothing else has to know of it.

    @page("/weather", "Weather", icon="cloud", order=70)
    async def weather(view: View) -> None:
        parts.heading("Weather")

`/topics/{name}` gives the function a parameter `name`. Pages without `order` are not in the menu.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

Build = Callable[..., Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Page:
    """`section` is the path of the menu entry that is marked while this page is shown."""

    path: str
    title: str
    build: Build
    icon: str = ""
    order: int | None = None
    section: str = ""


_known: dict[str, Page] = {}


def page(
    path: str, title: str, *, icon: str = "", order: int | None = None, section: str = ""
) -> Callable[[Build], Build]:
    """Declare a page."""

    def declare(build: Build) -> Build:
        if path in _known:
            raise ValueError(f"two pages are at {path}: {_known[path].build.__module__} and {build.__module__}")
        _known[path] = Page(path, title, build, icon, order, section or path)
        return build

    return declare


def pages() -> list[Page]:
    """All of them, in the order of the menu."""
    from headrace.console import pages as package

    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")
    return sorted(_known.values(), key=_place)


def _place(one: Page) -> tuple[bool, int, str]:
    return one.order is None, one.order or 0, one.path
