"""The engine in a process of its own, in the foreground until a signal: `headrace engine` ends here."""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import dataclass

from headrace.engine.service import LocalEngine
from headrace.engine.settings import EngineSettings
from headrace.http_service import ThreadedServer, bind, stopping_on_signals
from headrace.plan.engine import EngineError


@dataclass(frozen=True)
class Started:
    """Where the engine answers."""

    url: str


class EngineServer:
    """The HTTP server around an engine, in a thread of its own."""

    def __init__(self, engine: LocalEngine) -> None:
        self._engine = engine
        self._listening = _bind(engine.settings)
        self._server = ThreadedServer(self._listening, "engine-http")

    @property
    def port(self) -> int:
        return int(self._listening.getsockname()[1])

    @property
    def url(self) -> str:
        host = self._engine.settings.host
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"

    def start(self) -> None:
        from headrace.engine.api import application

        self._server.start(application(self._engine))

    def stop(self) -> None:
        self._server.stop()


def _bind(settings: EngineSettings) -> socket.socket:
    try:
        return bind(settings.host, settings.port)
    except OSError as error:
        raise EngineError(
            f"port {settings.port} on {settings.host} cannot be had ({error.strerror}); choose another with --port"
        ) from error


def run(settings: EngineSettings, announce: Callable[[Started], None], *, stop_with_stdin: bool = False) -> None:
    """Run an engine until SIGTERM or SIGINT; for children, also until standard input ends, as it does when a parent dies."""
    stopping = stopping_on_signals(stop_with_stdin=stop_with_stdin)
    engine = LocalEngine(settings)
    server = EngineServer(engine)
    try:
        engine.start()
        server.start()
        announce(Started(server.url))
        stopping.wait()
    finally:
        server.stop()
        engine.close()
