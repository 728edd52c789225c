"""The console in a process of its own, in the foreground until a signal: `headrace console` ends here. NiceGUI keeps global state, so there is one per process."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.admin.errors import Problem
from headrace.console.settings import ConsoleSettings
from headrace.http_service import ThreadedServer, bind, stopping_on_signals

if TYPE_CHECKING:
    from starlette.types import ASGIApp


@dataclass(frozen=True)
class Started:
    """Where the console answers."""

    url: str


def application(settings: ConsoleSettings) -> ASGIApp:
    """All pages behind the guard."""
    # NiceGUI would read and write `.nicegui` in the directory it is started in; nothing of ours is kept there.
    os.environ.setdefault("NICEGUI_STORAGE_PATH", os.path.join(tempfile.gettempdir(), "headrace-console-unused"))
    from fastapi import FastAPI
    from nicegui import app as nicegui_app
    from nicegui import run as nicegui_run
    from nicegui import ui

    from headrace.console.frame import show
    from headrace.console.guard import guarded
    from headrace.console.page import pages
    from headrace.console.state import Console

    nicegui_run.process_pool_start_method = "spawn"
    console = Console(settings)
    known = pages()
    for each in known:
        ui.page(each.path, title=f"{each.title} - Headrace", dark=None)(show(console, each, known))
    nicegui_app.on_startup(console.open)
    nicegui_app.on_shutdown(console.close)
    outer = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    ui.run_with(
        outer,
        title="Headrace",
        favicon=_FAVICON,
        dark=None,
        language="en-US",
        tailwind=False,
        binding_refresh_interval=None,
        reconnect_timeout=10.0,
        message_history_length=100,
        show_welcome_message=False,
    )
    return guarded(outer, settings)


_FAVICON = (
    '<svg viewBox="0 0 32 32" xmlns="http://www.w3.org/2000/svg"><rect width="32" height="32" rx="7" fill="#0e7490"/>'
    '<path d="M5 12c4-4 7 4 11 0s7 4 11 0M5 20c4-4 7 4 11 0s7 4 11 0" fill="none" stroke="#fff" stroke-width="3" stroke-linecap="round"/></svg>'
)


def run(settings: ConsoleSettings, announce: Callable[[Started], None], *, stop_with_stdin: bool = False) -> None:
    """Serve until SIGTERM or SIGINT; for children, also until standard input ends, as it does when a parent dies."""
    settings.check()
    stopping = stopping_on_signals(stop_with_stdin=stop_with_stdin)
    try:
        listening = bind(settings.host, settings.port)
    except OSError as error:
        raise Problem(
            f"Port {settings.port} on {settings.host} cannot be had ({error.strerror})", "Choose another with --port"
        ) from None
    server = ThreadedServer(listening, "console-http")
    port = int(listening.getsockname()[1])
    try:
        server.start(application(settings), **_OPTIONS)
        announce(Started(_url(settings.host, port)))
        stopping.wait()
    finally:
        server.stop()


# A browser sends little; what it uploads comes as HTTP.
_OPTIONS: dict[str, Any] = {"lifespan": "on", "ws_max_size": 4 << 20, "limit_concurrency": 500}


def _url(host: str, port: int) -> str:
    shown = "127.0.0.1" if host in ("0.0.0.0", "::") else host  # noqa: S104 - recognised, not listened on
    return f"http://[{shown}]:{port}" if ":" in shown else f"http://{shown}:{port}"
