"""The registry over HTTP: the table of endpoints behind checks of host, origin and user, with Confluent's media types and errors.

Reads are answered on the event loop, from memory. What parses schemas runs in threads. Writes go to the leader, which is this instance or another.
"""

from __future__ import annotations

import asyncio
import functools
import json
import logging
import ssl
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import parse_qs, unquote

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from headrace.http_service import OriginCheck, allowed_hosts
from headrace.registry import subjects
from headrace.registry.api import ENDPOINTS
from headrace.registry.api.call import Call
from headrace.registry.api.endpoint import Endpoint, Plain, Way, Write
from headrace.registry.errors import NotLeader, RegistryError, Unsettled, bad_request
from headrace.registry.forwarding import FORWARDED, Forwarded, LeaderUnreachable, forward
from headrace.registry.service import Registry
from headrace.registry.users import Role, Users, read_users

log = logging.getLogger(__name__)
MEDIA_TYPES = ("application/vnd.schemaregistry.v1+json", "application/vnd.schemaregistry+json", "application/json")
_BODY_TYPES = (*MEDIA_TYPES, "application/octet-stream", "")
WORKERS = 4
FORWARDERS = 32
RETRY_S = 0.1


class Application:
    """The ASGI application of one registry."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._workers = ThreadPoolExecutor(WORKERS, "registry-worker")
        self._forwarders = ThreadPoolExecutor(FORWARDERS, "registry-forward")
        path = registry.settings["headrace.users.file"]
        self._users: Users | None = read_users(path) if path else None
        self._tls = _trusted(registry.settings["headrace.tls.ca"])
        self._max_body: int = registry.settings["max.request.body.size"]
        self._timeout_s: float = registry.settings["kafkastore.timeout.ms"] / 1000
        self._app = self._starlette()

    def close(self) -> None:
        self._workers.shutdown(cancel_futures=True)
        self._forwarders.shutdown(cancel_futures=True)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)

    def _starlette(self) -> ASGIApp:
        origins = self._registry.settings["headrace.allowed.origins"]
        middleware = [
            Middleware(
                TrustedHostMiddleware, allowed_hosts=allowed_hosts(self._registry.settings.host), www_redirect=False
            ),
            Middleware(OriginCheck, refusal=lambda text: _error(RegistryError(403, text)), allowed=origins),
        ]
        if origins:
            middleware.append(
                Middleware(CORSMiddleware, allow_origins=origins, allow_methods=["*"], allow_headers=["*"])
            )
        routes = [Route(each.path, self._route(each), methods=[each.method]) for each in ENDPOINTS]
        app = Starlette(
            routes=routes,
            middleware=middleware,
            exception_handlers={HTTPException: _on_http_error, Exception: _on_bug},
        )
        app.router.redirect_slashes = False
        return Paths(app)

    def _route(self, endpoint: Endpoint) -> Callable[[Request], Any]:
        async def handle(request: Request) -> Response:
            try:
                return await self._answer(endpoint, request)
            except RegistryError as error:
                return _error(error, request)

        return handle

    async def _answer(self, endpoint: Endpoint, request: Request) -> Response:
        context = request.scope["registry.context"]
        if context != subjects.DEFAULT_CONTEXT and not endpoint.in_contexts:
            raise RegistryError(404, "HTTP 404 Not Found")
        await self._check_user(endpoint, request)
        media_type = _media_type(request.headers.get("accept", ""))
        raw = await self._body(request) if endpoint.body else b""
        call = Call(
            self._registry,
            {name: _decoded(value) for name, value in request.path_params.items()},
            _query(request.scope["query_string"]),
            _document(raw),
            context,
        )
        result = await self._handled(endpoint, call)
        if isinstance(result, Write):
            result = await self._write(result, request, raw)
        return _response(result, media_type)

    async def _handled(self, endpoint: Endpoint, call: Call) -> Any:
        if call.text("format"):
            return await self._in_thread(self._workers, endpoint.handler, call)
        if endpoint.way is not Way.THREAD:
            return endpoint.handler(call)
        known = endpoint.shortcut(call) if endpoint.shortcut is not None else None
        return known if known is not None else await self._in_thread(self._workers, endpoint.handler, call)

    async def _in_thread(self, pool: ThreadPoolExecutor, function: Callable[..., Any], *arguments: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(pool, function, *arguments)

    # Users

    async def _check_user(self, endpoint: Endpoint, request: Request) -> None:
        if self._users is None or endpoint.public:
            return
        header = request.headers.get("authorization")
        if header is None:
            if self._registry.settings["headrace.anonymous.read"] and not endpoint.writes:
                return
            raise RegistryError(401, "Unauthorized: send a name and password (basic authentication)")
        user = self._users.remembered(header)
        if user is None:
            user = await self._in_thread(self._workers, self._users.authenticated, header)
        if user is None:
            raise RegistryError(401, "Unauthorized: no such name and password")
        if endpoint.writes and user.role is Role.READONLY:
            raise RegistryError(40301, f"User '{user.name}' is denied this operation: the role is {user.role}")

    # Bodies

    async def _body(self, request: Request) -> bytes:
        content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if content_type not in _BODY_TYPES:
            raise RegistryError(415, f"HTTP 415 Unsupported Media Type: send {MEDIA_TYPES[0]}")
        chunks = bytearray()
        try:
            async for chunk in request.stream():
                chunks += chunk
                if len(chunks) > self._max_body:
                    raise RegistryError(413, f"the body is larger than {self._max_body} bytes (max.request.body.size)")
        except ClientDisconnect:
            raise bad_request("the client went away") from None
        return bytes(chunks)

    # Writes

    async def _write(self, write: Write, request: Request, body: bytes) -> Any:
        """Have the leader carry it out. While there is none, or it goes away before it took the change, wait for the next."""
        deadline = time.monotonic() + self._timeout_s
        while True:
            problem: RegistryError = NotLeader()
            try:
                if self._registry.leading:
                    return await self._submit(write, deadline)
                if request.headers.get(FORWARDED):
                    raise problem
                found = await self._forwarded(write, request, body, deadline)
                if found is not None:
                    return found
            except NotLeader as error:
                if request.headers.get(FORWARDED):
                    raise
                problem = error
            except Unsettled as error:
                if not write.repeatable or request.headers.get(FORWARDED):
                    raise
                problem = error
            if time.monotonic() >= deadline:
                raise problem
            await asyncio.sleep(RETRY_S)

    async def _submit(self, write: Write, deadline: float) -> Any:
        future = asyncio.wrap_future(self._registry.submit(write.change))
        try:
            outcome = await asyncio.wait_for(future, max(deadline - time.monotonic(), 0.1))
        except TimeoutError:
            raise RegistryError(50002, "Operation timed out while writing to the topic") from None
        return write.answer(outcome)

    async def _forwarded(self, write: Write, request: Request, body: bytes, deadline: float) -> Forwarded | None:
        """The leader's answer; None when it is to be asked again."""
        url = self._registry.leader_url
        if url is None:
            return None
        target = request.scope["raw_path"].decode("latin-1")
        if request.scope["query_string"]:
            target += "?" + request.scope["query_string"].decode("latin-1")
        remaining = max(deadline - time.monotonic(), 0.1)
        try:
            answer: Forwarded = await self._in_thread(
                self._forwarders,
                functools.partial(forward, tls=self._tls),
                url,
                request.method,
                target,
                dict(request.headers),
                body,
                remaining,
            )
        except LeaderUnreachable as error:
            if error.sent and not write.repeatable:
                raise RegistryError(50003, f"Error while forwarding the request to the leader: {error}") from None
            return None
        return None if answer.status == 500 and b'"error_code":50004' in answer.body else answer


class Paths:
    """Routes see paths as they were sent: a subject may have a slash in it, written %2F. `/contexts/<context>` in front is taken off and remembered."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        path = scope["raw_path"].partition(b"?")[0].decode("latin-1")
        context = subjects.DEFAULT_CONTEXT
        if path.startswith("/contexts/"):
            first, slash, rest = path.removeprefix("/contexts/").partition("/")
            if rest:
                try:
                    context, path = subjects.named_context(unquote(first, errors="strict")), slash + rest
                except ValueError as error:
                    await _error(bad_request(str(error)))(scope, receive, send)
                    return
        if len(path) > 1 and path.endswith("/"):
            path = path[:-1]
        await self._app({**scope, "path": path, "registry.context": context}, receive, send)


def _trusted(ca: str) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=ca or None)


def _decoded(text: str) -> str:
    try:
        return unquote(text, errors="strict")
    except UnicodeDecodeError:
        raise bad_request("the path is not UTF-8") from None


def _query(text: bytes) -> Mapping[str, list[str]]:
    if not text:
        return {}
    try:
        return parse_qs(text.decode("latin-1"), keep_blank_values=True, max_num_fields=200)
    except ValueError:
        raise bad_request("there are too many query parameters") from None


def _document(raw: bytes) -> Any:
    if not raw.strip():
        return None
    try:
        document = json.loads(raw)
        if b"\\u" in raw:
            # Half a surrogate pair is valid JSON and no text: nothing could be stored.
            json.dumps(document, ensure_ascii=False).encode()
        return document
    except (ValueError, RecursionError):
        raise bad_request("the body is not JSON") from None


@functools.lru_cache(256)
def _media_type(accept: str) -> str:
    """The first of ours that the client takes; 406 when it takes none."""
    if not accept:
        return MEDIA_TYPES[0]
    offers: list[tuple[float, int, str]] = []
    for part in accept.split(","):
        name, *parameters = (each.strip().lower() for each in part.split(";"))
        text = next((each[2:] for each in parameters if each.startswith("q=")), "1")
        try:
            offers.append((-float(text), len(offers), name))
        except ValueError:
            continue
    for quality, _, name in sorted(offers):
        if quality < 0:
            for ours in MEDIA_TYPES:
                if name in (ours, "*/*", "application/*"):
                    return ours
    if any(name.startswith("text/") for _, _, name in offers):
        return MEDIA_TYPES[2]
    raise RegistryError(406, "HTTP 406 Not Acceptable")


def _response(result: Any, media_type: str) -> Response:
    match result:
        case Forwarded(status, body, content_type):
            return Response(body, status, media_type=content_type)
        case Plain(None, status, _):
            return Response(status_code=status)
        case Plain(str() as text, status, kind):
            return Response(text, status, media_type=kind or media_type)
        case Plain(body, status, kind):
            return _json(body, status, kind or media_type)
        case _:
            return _json(result, 200, media_type)


def _json(body: Any, status: int, media_type: str) -> Response:
    return Response(json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode(), status, media_type=media_type)


def _error(error: RegistryError, request: Request | None = None) -> Response:
    try:
        media_type = _media_type(request.headers.get("accept", "")) if request else MEDIA_TYPES[2]
    except RegistryError:
        media_type = MEDIA_TYPES[2]
    answer = _json({"error_code": error.code, "message": error.message}, error.status, media_type)
    if error.status == 401:
        answer.headers["www-authenticate"] = 'Basic realm="SchemaRegistry"'
    return answer


def _on_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    answer = _error(RegistryError(error.status_code, f"HTTP {error.status_code} {error.detail}"), request)
    answer.headers.update(error.headers or {})
    return answer


def _on_bug(request: Request, error: Exception) -> Response:
    log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return _error(
        RegistryError(500, "Internal Server Error: this is a bug, and the registry's log says where"), request
    )
