"""Refuses what a page of another site sends: its browser says so in `Origin`."""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send


class OriginCheck:
    """A request with an `Origin` whose host is not the one it was sent to gets 403."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = Headers(scope=scope)
            origin = headers.get("origin")
            if origin is not None and urlsplit(origin).netloc != headers.get("host"):
                answer = JSONResponse({"error": f"requests from pages of {origin} are refused"}, status_code=403)
                await answer(scope, receive, send)
                return
        await self._app(scope, receive, send)
