"""`/metrics` and `/healthz` over HTTP, on the broker's own event loop. Off unless `headrace.http.port` is set."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from headrace.broker.server import Broker

LOOPBACK = ("127.0.0.1", "localhost", "::1")


class HttpServer:
    """Serves what operators poll. Imports its web stack when it starts: a broker without it starts faster."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._host: str = broker.settings["headrace.http.host"]
        self._wanted_port: int = broker.settings["headrace.http.port"]
        self._task: asyncio.Task[None] | None = None
        self._server: Any = None
        self._listening: socket.socket | None = None
        self.port = -1

    def bind(self) -> None:
        """Take the port, if one is wanted; raises OSError when it cannot be had."""
        if self._wanted_port < 0:
            return
        family = socket.AF_INET6 if ":" in self._host else socket.AF_INET
        self._listening = socket.create_server((self._host, self._wanted_port), family=family)
        self.port = self._listening.getsockname()[1]

    async def start(self) -> None:
        """Serve on the port that was bound."""
        if self._listening is None:
            return
        import uvicorn

        class Server(uvicorn.Server):
            @contextlib.contextmanager
            def capture_signals(self) -> Iterator[None]:
                yield  # signals belong to the process that holds the broker

        config = uvicorn.Config(
            self._application(), log_config=None, access_log=False, lifespan="off", timeout_graceful_shutdown=1
        )
        self._server = Server(config)
        self._task = asyncio.ensure_future(self._server.serve(sockets=[self._listening]))

    async def stop(self) -> None:
        if self._task is not None:
            self._server.should_exit = True
            await self._task
        elif self._listening is not None:
            self._listening.close()

    def _application(self) -> Any:
        from prometheus_client import CollectorRegistry, ProcessCollector
        from starlette.applications import Starlette
        from starlette.middleware import Middleware
        from starlette.middleware.trustedhost import TrustedHostMiddleware
        from starlette.routing import Route

        self._process = CollectorRegistry()
        ProcessCollector(registry=self._process)
        # A page in a browser must not reach a loopback port under a name of its own (DNS rebinding).
        hosts = [*LOOPBACK, "[::1]"] if self._host in LOOPBACK else ["*"]
        return Starlette(
            routes=[Route("/metrics", self._metrics), Route("/healthz", self._health)],
            middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=hosts, www_redirect=False)],
        )

    async def _metrics(self, request: Request) -> Response:
        from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
        from starlette.responses import Response

        from headrace.broker.metrics import render

        text = await render(self._broker)
        return Response(text.encode() + generate_latest(self._process), media_type=CONTENT_TYPE_LATEST)

    async def _health(self, request: Request) -> Response:
        from starlette.responses import JSONResponse

        problems = self._broker.problems()
        body = {
            "status": "failing" if problems else "ok",
            "problems": problems,
            "cluster_id": self._broker.cluster_id,
            "node_id": self._broker.node_id,
        }
        return JSONResponse(body, status_code=503 if problems else 200)
