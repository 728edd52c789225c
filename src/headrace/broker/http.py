"""`/metrics` and `/healthz` over HTTP, on the broker's own event loop. Off unless `headrace.http.port` is set."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Iterator
from typing import TYPE_CHECKING

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
        self._server: object = None
        self.port = -1

    async def start(self) -> None:
        """Bind and serve; raises OSError when the address is taken."""
        if self._wanted_port < 0:
            return
        import uvicorn

        class Server(uvicorn.Server):
            @contextlib.contextmanager
            def capture_signals(self) -> Iterator[None]:
                yield  # signals belong to the process that holds the broker

        listening = socket.create_server(
            (self._host, self._wanted_port),
            family=socket.AF_INET6 if ":" in self._host else socket.AF_INET,
        )
        self.port = listening.getsockname()[1]
        config = uvicorn.Config(self._application(), log_config=None, access_log=False, lifespan="off")
        self._server = Server(config)
        self._task = asyncio.ensure_future(self._server.serve(sockets=[listening]))

    async def stop(self) -> None:
        if self._task is not None:
            self._server.should_exit = True  # type: ignore[attr-defined]
            await self._task

    def _application(self) -> object:
        from prometheus_client import CollectorRegistry, ProcessCollector
        from starlette.applications import Starlette
        from starlette.middleware import Middleware
        from starlette.middleware.trustedhost import TrustedHostMiddleware
        from starlette.routing import Route

        from headrace.broker.metrics import BrokerCollector

        registry = CollectorRegistry()
        registry.register(BrokerCollector(self._broker))  # type: ignore[arg-type]
        ProcessCollector(registry=registry)
        self._registry = registry
        # A page in a browser must not reach a loopback port under a name of its own (DNS rebinding).
        hosts = [*LOOPBACK, "[::1]"] if self._host in LOOPBACK else ["*"]
        return Starlette(
            routes=[Route("/metrics", self._metrics), Route("/healthz", self._health)],
            middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=hosts)],
        )

    async def _metrics(self, request: Request) -> Response:
        from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
        from starlette.responses import Response

        return Response(generate_latest(self._registry), media_type=CONTENT_TYPE_LATEST)

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
