"""Who may reach the console: the right host, no page of another site, and, where a password is set, whoever knows it.

Plain ASGI around the whole application, so that pages, assets and WebSockets pass the same gate. It knows no page.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets
import time
from collections.abc import Callable
from html import escape
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, quote, unquote

from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response

from headrace.console.settings import ConsoleSettings
from headrace.http_service import OriginCheck

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

COOKIE = "headrace_console"
SESSION_S = 12 * 3600
LOGIN = "/login"
LOGOUT = "/logout"
_MOST_LOGIN_BYTES = 4096
LARGEST_BODY = 40 << 20
"""A file to import and what a form puts around it."""
_FAILURE_DELAY_S = 1.0

# Vue compiles templates in the browser and NiceGUI starts from an inline script; nothing comes from elsewhere.
_HEADERS = (
    (
        b"content-security-policy",
        b"default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
        b"img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self' ws: wss:; object-src 'none'; "
        b"base-uri 'self'; form-action 'self'; frame-ancestors 'none'",
    ),
    (b"x-frame-options", b"DENY"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
)


def guarded(app: ASGIApp, settings: ConsoleSettings) -> ASGIApp:
    """The application behind all checks, the outermost first: host, origin, size, password."""
    inner: ASGIApp = BodyLimit(PasswordGate(app, settings.password) if settings.password else app)
    inner = SecurityHeaders(inner)
    inner = OriginCheck(inner, refusal=lambda text: PlainTextResponse(f"{text}\n", 403))
    return TrustedHostMiddleware(inner, allowed_hosts=settings.hosts(), www_redirect=False)


class SecurityHeaders:
    """Tells browsers to load nothing from elsewhere and to show the console in no frame."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *_HEADERS]
            await send(message)

        await self._app(scope, receive, with_headers if scope["type"] == "http" else send)


class BodyLimit:
    """Refuses bodies that are too large before a byte of them is read, and such as do not say how large they are."""

    def __init__(self, app: ASGIApp, largest: int = LARGEST_BODY) -> None:
        self._app = app
        self._largest = largest

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = dict(scope["headers"])
            length = headers.get(b"content-length", b"0")
            if b"transfer-encoding" in headers or not length.isdigit():
                await PlainTextResponse("say how long the body is\n", 411)(scope, receive, send)
                return
            if int(length) > self._largest:
                await PlainTextResponse(f"a body has at most {self._largest} bytes\n", 413)(scope, receive, send)
                return
        await self._app(scope, receive, send)


class PasswordGate:
    """Lets through who has the cookie of a login, or sends the password as a bearer token. Sessions end with the process."""

    def __init__(self, app: ASGIApp, password: str, clock: Callable[[], float] = time.time) -> None:
        self._app = app
        self._password = password.encode()
        self._clock = clock
        self._secret = secrets.token_bytes(32)
        self._attempts = asyncio.Semaphore(1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
        elif scope["type"] == "http" and scope["path"] == LOGIN:
            await (await self._login(Request(scope, receive)))(scope, receive, send)
        elif scope["type"] == "http" and scope["path"] == LOGOUT:
            await self._logout()(scope, receive, send)
        elif self._is_known(dict(scope["headers"])):
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        else:
            await self._refuse(scope)(scope, receive, send)

    def _is_known(self, headers: dict[bytes, bytes]) -> bool:
        scheme, _, token = headers.get(b"authorization", b"").partition(b" ")
        if scheme.lower() == b"bearer" and hmac.compare_digest(token.strip(), self._password):
            return True
        try:
            cookie = SimpleCookie(headers.get(b"cookie", b"").decode("latin-1")).get(COOKIE)
        except CookieError:
            return False
        if cookie is None:
            return False
        until, _, signature = cookie.value.partition(".")
        if not (until.isascii() and until.isdigit() and len(until) < 20):
            return False
        return hmac.compare_digest(signature, self._signature(until)) and int(until) > self._clock()

    def _signature(self, until: str) -> str:
        return hmac.new(self._secret, until.encode(), hashlib.sha256).hexdigest()

    def _refuse(self, scope: Scope) -> Response:
        wants_page = scope["method"] == "GET" and b"text/html" in dict(scope["headers"]).get(b"accept", b"")
        if not wants_page:
            return PlainTextResponse("log in first\n", 401)
        return RedirectResponse(f"{LOGIN}?next={quote(scope['path'], safe='/')}", 303)

    async def _login(self, request: Request) -> Response:
        if request.method == "GET":
            return HTMLResponse(_form(_local_path(request.query_params.get("next", "/"))))
        if request.method != "POST":
            return PlainTextResponse("GET or POST\n", 405)
        fields = parse_qs((await _bounded_body(request)).decode("utf-8", "replace"))
        target = _local_path(fields.get("next", ["/"])[0])
        async with self._attempts:  # one at a time, so that guessing in parallel is no faster
            if not hmac.compare_digest(fields.get("password", [""])[0].encode(), self._password):
                await asyncio.sleep(_FAILURE_DELAY_S)
                return HTMLResponse(_form(target, "That is not the password."), 401)
        until = str(int(self._clock()) + SESSION_S)
        answer = RedirectResponse(target, 303)
        secure = request.url.scheme == "https"
        answer.set_cookie(
            COOKIE,
            f"{until}.{self._signature(until)}",
            max_age=SESSION_S,
            httponly=True,
            samesite="strict",
            secure=secure,
        )
        return answer

    def _logout(self) -> Response:
        answer = RedirectResponse(LOGIN, 303)
        answer.delete_cookie(COOKIE, httponly=True, samesite="strict")
        return answer


async def _bounded_body(request: Request) -> bytes:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > _MOST_LOGIN_BYTES:
            return b""
    return bytes(body)


def _local_path(text: str) -> str:
    """A path of this console; anything that a browser could take for another site is the front page."""
    plain = unquote(text)
    if not plain.startswith("/") or plain.startswith(("//", "/\\")) or any(ord(letter) < 33 for letter in plain):
        return "/"
    return quote(plain, safe="/")


def _form(target: str, complaint: str = "") -> str:
    said = f'<p role="alert">{escape(complaint)}</p>' if complaint else ""
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Headrace console</title><style>
:root {{ color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }}
body {{ min-height: 90vh; display: grid; place-items: center; margin: 0; }}
form {{ display: grid; gap: .8rem; width: min(20rem, 90vw); }}
input, button {{ font: inherit; padding: .6rem .8rem; border-radius: .5rem; border: 1px solid #8888; }}
button {{ background: #0f766e; color: white; border: 0; cursor: pointer; }}
p {{ color: #dc2626; margin: 0; }}
</style></head><body><form method="post" action="{LOGIN}">
<h1>Headrace console</h1>{said}
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required autofocus>
<input type="hidden" name="next" value="{escape(target)}">
<button type="submit">Log in</button></form></body></html>"""
