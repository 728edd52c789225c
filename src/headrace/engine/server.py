"""The engine in a process of its own, in the foreground until a signal: `headrace engine` ends here."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from headrace.engine.service import LocalEngine
from headrace.engine.settings import EngineSettings
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
        self._server: Any = None
        self._thread: threading.Thread | None = None

    @property
    def port(self) -> int:
        return int(self._listening.getsockname()[1])

    @property
    def url(self) -> str:
        host = self._engine.settings.host
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"

    def start(self) -> None:
        import uvicorn

        from headrace.engine.api import application

        class Server(uvicorn.Server):
            @contextlib.contextmanager
            def capture_signals(self) -> Iterator[None]:
                yield  # signals belong to the process

        config = uvicorn.Config(
            application(self._engine), log_config=None, access_log=False, lifespan="off", timeout_graceful_shutdown=1
        )
        self._server = Server(config)
        self._thread = threading.Thread(target=self._server.run, args=([self._listening],), name="engine-http")
        self._thread.start()

    def stop(self) -> None:
        if self._thread is None:
            self._listening.close()
            return
        self._server.should_exit = True
        self._thread.join()


def _bind(settings: EngineSettings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        return socket.create_server((settings.host, settings.port), family=family)
    except OSError as error:
        raise EngineError(
            f"port {settings.port} on {settings.host} cannot be had ({error.strerror}); choose another with --port"
        ) from error


def run(settings: EngineSettings, announce: Callable[[Started], None], *, stop_with_stdin: bool = False) -> None:
    """Run an engine until SIGTERM or SIGINT; for children, also until standard input ends, as it does when a parent dies."""
    stopping = threading.Event()
    if stop_with_stdin:
        threading.Thread(target=_wait_for_end_of_input, args=(stopping,), name="stdin", daemon=True).start()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
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


def _wait_for_end_of_input(stopping: threading.Event) -> None:
    while os.read(0, 4096):
        pass
    stopping.set()
