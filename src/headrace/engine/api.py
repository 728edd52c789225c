"""The engine over HTTP: JSON in, JSON out, one function per route. `docs/reference/engine-api.md` lists them; a test keeps it complete.

Errors are `{"error": "…"}` with a status that fits: 400 for what was sent, 404 for names that are not there, 409 for what does not fit, 503 while not ready.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from headrace import __version__
from headrace.engine.metrics import CONTENT_TYPE, render
from headrace.http_service import OriginCheck, allowed_hosts
from headrace.plan.document import PlanDocumentError, from_document, to_document
from headrace.plan.engine import EngineError, Guarantee, PipelineStatus, PlanDoesNotFit, Submission, UnknownPipeline
from headrace.plan.plan import PlanError

if TYPE_CHECKING:
    from headrace.engine.service import LocalEngine

MAX_BODY = 16 << 20


class BadRequest(Exception):
    """What was sent is at fault; the message says how."""


def application(engine: LocalEngine) -> Starlette:
    """The routes, behind checks that no page of another site can reach them."""
    routes = [
        Route("/", _handler(engine, _root)),
        Route("/healthz", _handler(engine, _health)),
        Route("/metrics", _handler(engine, _metrics)),
        Route("/pipelines", _handler(engine, _list), methods=["GET"]),
        Route("/pipelines", _handler(engine, _submit), methods=["POST"]),
        Route("/pipelines/{name}", _handler(engine, _show), methods=["GET"]),
        Route("/pipelines/{name}", _handler(engine, _stop), methods=["DELETE"]),
        Route("/pipelines/{name}/plan", _handler(engine, _plan)),
        Route("/pipelines/{name}/explain", _handler(engine, _explain)),
        Route("/pipelines/{name}/graph", _handler(engine, _graph)),
        Route("/pipelines/{name}/progress", _handler(engine, _progress)),
        Route("/pipelines/{name}/{action:str}", _handler(engine, _act), methods=["POST"]),
        Route("/pipelines/{name}/tables/{store}", _handler(engine, _look_up), methods=["GET", "POST"]),
    ]
    return Starlette(
        routes=routes,
        middleware=[
            Middleware(TrustedHostMiddleware, allowed_hosts=allowed_hosts(engine.settings.host), www_redirect=False),
            Middleware(OriginCheck, refusal=lambda text: _error(403, text)),
        ],
    )


def _handler(engine: LocalEngine, answer: Callable[[LocalEngine, Request, Any], Response]) -> Callable[..., Any]:
    """Reads the body within its bound, answers in a thread (the engine's calls block), and turns errors into answers."""

    async def handle(request: Request) -> Response:
        try:
            body = await _body(request) if request.method == "POST" else None
            return await run_in_threadpool(answer, engine, request, body)
        except BadRequest as error:
            return _error(400, str(error))
        except UnknownPipeline as error:
            return _error(404, str(error))
        except PlanDoesNotFit as error:
            return _error(409, str(error), reasons=list(error.reasons))
        except EngineError as error:
            return _error(503 if engine.problems() else 409, str(error))

    return handle


async def _body(request: Request) -> Any:
    chunks = bytearray()
    async for chunk in request.stream():
        chunks += chunk
        if len(chunks) > MAX_BODY:
            raise BadRequest(f"the body is larger than {MAX_BODY} bytes")
    if not chunks:
        return {}
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise BadRequest("send the body as application/json")
    try:
        return json.loads(bytes(chunks))
    except (ValueError, RecursionError):
        raise BadRequest("the body is not JSON") from None


def _root(engine: LocalEngine, request: Request, body: Any) -> Response:
    return JSONResponse(
        {
            "service": "headrace engine",
            "version": __version__,
            "bootstrap_servers": engine.settings.bootstrap_servers,
            "master": engine.settings.master,
            "problems": engine.problems(),
        }
    )


def _health(engine: LocalEngine, request: Request, body: Any) -> Response:
    problems = engine.problems()
    return JSONResponse(
        {"status": "waiting" if problems else "ok", "problems": problems}, status_code=503 if problems else 200
    )


def _metrics(engine: LocalEngine, request: Request, body: Any) -> Response:
    return PlainTextResponse(render(engine), media_type=CONTENT_TYPE)


def _list(engine: LocalEngine, request: Request, body: Any) -> Response:
    return JSONResponse({"pipelines": [_status(status) for status in engine.pipelines()]})


def _submit(engine: LocalEngine, request: Request, body: Any) -> Response:
    return JSONResponse(_status(engine.submit(_submission(body))), status_code=201)


def _submission(body: Any) -> Submission:
    if not isinstance(body, dict) or "plan" not in body:
        raise BadRequest('send {"plan": …, "guarantee": …, "settings": {…}}')
    unknown = set(body) - {"plan", "guarantee", "settings"}
    if unknown:
        raise BadRequest(f"unknown: {', '.join(sorted(unknown))}; there are plan, guarantee, settings")
    settings = body.get("settings", {})
    if not isinstance(settings, dict) or not all(isinstance(value, str) for value in settings.values()):
        raise BadRequest("settings must be an object of texts")
    try:
        guarantee = Guarantee(body.get("guarantee", Guarantee.AT_LEAST_ONCE))
    except ValueError:
        raise BadRequest(f"guarantee is one of {', '.join(Guarantee)}") from None
    try:
        return Submission(from_document(body["plan"]), guarantee, settings)
    except (PlanDocumentError, PlanError) as error:
        raise BadRequest(str(error)) from None


def _show(engine: LocalEngine, request: Request, body: Any) -> Response:
    name = request.path_params["name"]
    return JSONResponse({**_status(engine.status(name)), "progress": engine.progress(name)})


def _stop(engine: LocalEngine, request: Request, body: Any) -> Response:
    engine.stop(request.path_params["name"])
    return Response(status_code=204)


def _plan(engine: LocalEngine, request: Request, body: Any) -> Response:
    return JSONResponse(to_document(engine.plan(request.path_params["name"])))


def _explain(engine: LocalEngine, request: Request, body: Any) -> Response:
    from headrace.engine.explained import FORMS, explained

    form = request.query_params.get("form", "text")
    if form not in FORMS:
        raise BadRequest(f"form is one of {', '.join(FORMS)}")
    return Response(explained(engine.record(request.path_params["name"]), form), media_type=FORMS[form])


def _graph(engine: LocalEngine, request: Request, body: Any) -> Response:
    from headrace.engine.graph import graph

    return JSONResponse(graph(engine.record(request.path_params["name"])))


def _progress(engine: LocalEngine, request: Request, body: Any) -> Response:
    return JSONResponse(engine.progress(request.path_params["name"]))


def _act(engine: LocalEngine, request: Request, body: Any) -> Response:
    actions: Mapping[str, Callable[[str], PipelineStatus]] = {
        "pause": engine.pause,
        "resume": engine.resume,
        "restart": engine.restart,
        "reset": engine.reset,
    }
    action = request.path_params["action"]
    if action not in actions:
        return _error(404, f"there is no {action!r}; there are {', '.join(actions)}")
    return JSONResponse(_status(actions[action](request.path_params["name"])))


def _look_up(engine: LocalEngine, request: Request, body: Any) -> Response:
    query = body if request.method == "POST" else dict(request.query_params)
    if not isinstance(query, dict):
        raise BadRequest("a look-up is an object")
    answer = engine.look_up(request.path_params["name"], request.path_params["store"], query)
    return JSONResponse(answer)


def _status(status: PipelineStatus) -> dict[str, Any]:
    return dataclasses.asdict(status)


def _error(code: int, message: str, **more: Any) -> JSONResponse:
    return JSONResponse({"error": message, **more}, status_code=code)
