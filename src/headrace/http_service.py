"""What Headrace's HTTP services have in common: a socket that is bound before anything starts, a server in a thread of its own, the check of Origin, and a life
until a signal. Knows no service."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import threading
from collections.abc import Callable, Collection, Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from starlette.responses import Response
    from starlette.types import ASGIApp, Receive, Scope, Send

LOOPBACK = ("127.0.0.1", "localhost", "::1", "[::1]")


def bind(host: str, port: int) -> socket.socket:
    """A listening socket; `OSError` when the port cannot be had."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=1024)


def allowed_hosts(host: str) -> list[str]:
    """What `Host` may say: a service for this machine alone is not to be reached under another name, as a page with a name of its own would."""
    return list(LOOPBACK) if host in LOOPBACK else ["*"]


class ThreadedServer:
    """An ASGI application on a listening socket, in a thread of its own."""

    def __init__(self, listening: socket.socket, name: str) -> None:
        self._listening = listening
        self._name = name
        self._server: Any = None
        self._thread: threading.Thread | None = None

    def start(self, application: Any, **options: Any) -> None:
        import uvicorn

        class Server(uvicorn.Server):
            @contextlib.contextmanager
            def capture_signals(self) -> Iterator[None]:
                yield  # signals belong to the process

        config = uvicorn.Config(
            application,
            log_config=None,
            access_log=False,
            timeout_graceful_shutdown=1,
            server_header=False,
            **{"lifespan": "off", **options},
        )
        config.load()
        self._server = Server(config)
        self._thread = threading.Thread(target=self._server.run, args=([self._listening],), name=self._name)
        self._thread.start()

    def stop(self) -> None:
        if self._thread is None:
            self._listening.close()
            return
        self._server.should_exit = True
        self._thread.join()


class OriginCheck:
    """Refuses what a page of another site sends, requests and WebSockets: its browser says so in `Origin`."""

    def __init__(self, app: ASGIApp, refusal: Callable[[str], Response], allowed: Collection[str] = ()) -> None:
        self._app = app
        self._refusal = refusal
        self._allowed = frozenset(allowed)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket"):
            headers = dict(scope["headers"])
            origin = headers.get(b"origin")
            if origin is not None and not self._is_ours(origin.decode("latin-1"), headers.get(b"host", b"")):
                if scope["type"] == "websocket":
                    await send({"type": "websocket.close", "code": 1008})  # before it is accepted: HTTP 403
                    return
                answer = self._refusal(f"requests from pages of {origin.decode('latin-1')} are refused")
                await answer(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _is_ours(self, origin: str, host: bytes) -> bool:
        try:
            return origin in self._allowed or urlsplit(origin).netloc == host.decode("latin-1")
        except ValueError:
            return False


def stopping_on_signals(*, stop_with_stdin: bool = False) -> threading.Event:
    """Set by SIGTERM or SIGINT; for children also when standard input ends, as it does when a parent dies."""
    stopping = threading.Event()
    if stop_with_stdin:
        threading.Thread(target=_wait_for_end_of_input, args=(stopping,), name="stdin", daemon=True).start()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    return stopping


def _wait_for_end_of_input(stopping: threading.Event) -> None:
    while os.read(0, 4096):
        pass
    stopping.set()
