"""What stands around every page: the skip link, the menu, the theme, which cluster this is, and the note that something does not answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from nicegui import ui
from starlette.requests import Request

from headrace import __version__
from headrace.admin.errors import Problem
from headrace.console import parts
from headrace.console.elements import Tag
from headrace.console.page import Page
from headrace.console.state import Console
from headrace.console.view import View

THEME_COOKIE = "headrace_theme"
_STYLE = (Path(__file__).parent / "assets" / "console.css").read_text(encoding="utf-8")
_THEMES = {"dark": True, "light": False, "auto": None}
_WATCH_VISIBILITY = (
    '<script>document.addEventListener("visibilitychange", () => emitEvent("hr-visible", !document.hidden))</script>'
)
_LOGO = (
    '<svg viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="7" fill="#0e7490"/>'
    '<path d="M5 12c4-4 7 4 11 0s7 4 11 0M5 20c4-4 7 4 11 0s7 4 11 0" fill="none" stroke="#fff" stroke-width="3" stroke-linecap="round"/></svg>'
)


def show(console: Console, page: Page, known: Sequence[Page]) -> Callable[[Request], Awaitable[None]]:
    """The function that NiceGUI calls for a request."""

    async def shown(request: Request) -> None:
        ui.add_css(_STYLE)
        ui.add_head_html(_WATCH_VISIBILITY)
        ui.colors(primary="#0e7490")
        names = {name: str(value) for name, value in request.path_params.items()}
        _side(console, page, known, request)
        with Tag("div", classes="hr-main", tabindex="-1") as content, Tag("div", classes="hr-stack"):
            view = View(console, request, parts.Note())
            ui.on("hr-visible", lambda event: setattr(view, "visible", bool(event.args)))
            try:
                await page.build(view, **names)
            except Problem as error:
                view.banner.problem(error)
        ui.skip_link("Skip to content", target=content)

    return shown


def _side(console: Console, page: Page, known: Sequence[Page], request: Request) -> None:
    # Beside NiceGUI's own <main>, not in it: so it is the page's banner, and what is in <main> is the page.
    with ui.context.client.layout:
        side = Tag("header", classes="hr-side")
    side.move(target_index=0)
    with side:
        with Tag("a", classes="hr-brand", href="/", aria_label="Headrace, overview"):
            ui.html(_LOGO, sanitize=False)
            Tag("span", "Headrace")
        with Tag("nav", aria_label="Pages"), Tag("ul", classes="hr-nav"):
            for each in known:
                if each.order is not None:
                    _entry(each, current=each.path == page.section)
        with Tag("div", classes="hr-foot"):
            with Tag("div", classes="hr-where"):
                Tag("div", console.settings.bootstrap_servers, "hr-mono")
                Tag("div", f"Headrace {__version__}")
                if console.settings.read_only:
                    parts.chip("Read-only", "warn")
            with Tag("div", classes="hr-row"):
                _theme(request)
                if console.settings.password:
                    Tag("a", "Log out", href="/logout")


def _entry(page: Page, *, current: bool) -> None:
    with Tag("li"), Tag("a", href=page.path) as link:
        if current:
            link.attribute("aria-current", "page")
        ui.icon(page.icon or "description")
        Tag("span", page.title)


def _theme(request: Request) -> None:
    """Follows the system until somebody chooses; the choice is kept in a cookie that only says 'dark' or 'light'."""
    chosen = request.cookies.get(THEME_COOKIE, "auto")
    dark = ui.dark_mode(_THEMES.get(chosen))

    def choose(theme: str) -> None:
        dark.value = _THEMES[theme]
        ui.run_javascript(f'document.cookie = "{THEME_COOKIE}={theme}; path=/; max-age=31536000; samesite=strict"')
        for name, made in buttons.items():
            made.attribute("aria-pressed", "true" if name == theme else "false")

    buttons: dict[str, Tag] = {}
    with Tag("div", classes="hr-group", role="group", aria_label="Theme"):
        for name, icon, label in (
            ("light", "light_mode", "Light theme"),
            ("auto", "contrast", "Theme of the system"),
            ("dark", "dark_mode", "Dark theme"),
        ):
            made = parts.button("", lambda name=name: choose(name), icon=icon, label=label)
            made.attribute("aria-pressed", "true" if name == chosen else "false")
            buttons[name] = made
