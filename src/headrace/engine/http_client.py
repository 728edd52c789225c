"""An engine somewhere else: `headrace.plan.engine.Engine` over HTTP. Uses the standard library only, so that the CLI starts fast."""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlsplit

from headrace.plan.document import from_document, to_document
from headrace.plan.engine import (
    DesiredState,
    EngineError,
    Guarantee,
    PipelineState,
    PipelineStatus,
    PlanDoesNotFit,
    Submission,
    UnknownPipeline,
)
from headrace.plan.plan import Plan

TIMEOUT_S = 130.0


class RemoteEngine:
    """One request a call; no connection is kept."""

    def __init__(self, url: str = "http://127.0.0.1:8084", timeout_s: float = TIMEOUT_S) -> None:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise EngineError(f"{url!r} is no address of an engine; it looks like http://127.0.0.1:8084")
        self.url = url
        self._parts = parts
        self._timeout_s = timeout_s

    def reachable(self) -> bool:
        """Whether an engine answers there."""
        try:
            return bool(self._call("GET", "/").get("service") == "headrace engine")
        except EngineError:
            return False

    def problems(self) -> list[str]:
        return list(self._call("GET", "/")["problems"])

    def submit(self, submission: Submission) -> PipelineStatus:
        body = {
            "plan": to_document(submission.plan),
            "guarantee": submission.guarantee.value,
            "settings": dict(submission.settings),
        }
        return _status(self._call("POST", "/pipelines", body))

    def pipelines(self) -> tuple[PipelineStatus, ...]:
        return tuple(_status(each) for each in self._call("GET", "/pipelines")["pipelines"])

    def status(self, name: str) -> PipelineStatus:
        return _status(self._call("GET", self._path(name)))

    def plan(self, name: str) -> Plan:
        return from_document(self._call("GET", self._path(name, "plan")))

    def explain(self, name: str, form: str = "text") -> str:
        return self._send("GET", self._path(name, f"explain?form={quote(form)}"), None).decode()

    def progress(self, name: str) -> Mapping[str, Any]:
        return self._call("GET", self._path(name, "progress"))

    def pause(self, name: str) -> PipelineStatus:
        return _status(self._call("POST", self._path(name, "pause")))

    def resume(self, name: str) -> PipelineStatus:
        return _status(self._call("POST", self._path(name, "resume")))

    def restart(self, name: str) -> PipelineStatus:
        return _status(self._call("POST", self._path(name, "restart")))

    def stop(self, name: str) -> None:
        self._send("DELETE", self._path(name), None)

    def reset(self, name: str) -> PipelineStatus:
        return _status(self._call("POST", self._path(name, "reset")))

    def look_up(self, name: str, store: str, query: Mapping[str, Any]) -> Mapping[str, Any]:
        return self._call("POST", self._path(name, f"tables/{quote(store, safe='')}"), dict(query))

    def close(self) -> None:
        """Nothing is held."""

    def _path(self, name: str, rest: str = "") -> str:
        return f"/pipelines/{quote(name, safe='')}" + (f"/{rest}" if rest else "")

    def _call(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        answer = json.loads(self._send(method, path, body))
        if not isinstance(answer, dict):
            raise EngineError(f"{self.url} answered something else than an engine would")
        return answer

    def _send(self, method: str, path: str, body: Any) -> bytes:
        make = http.client.HTTPSConnection if self._parts.scheme == "https" else http.client.HTTPConnection
        connection = make(self._parts.hostname or "", self._parts.port, timeout=self._timeout_s)
        headers = {"Content-Type": "application/json"} if body is not None else {}
        try:
            connection.request(method, path, json.dumps(body) if body is not None else None, headers)
            response = connection.getresponse()
            content = response.read()
        except (OSError, http.client.HTTPException) as error:
            raise EngineError(
                f"no engine answers at {self.url} ({error}); start one with `headrace engine` or `headrace up`"
            ) from error
        finally:
            connection.close()
        if response.status >= 400:
            raise _refusal(response.status, content, path)
        return content


def _refusal(status: int, content: bytes, path: str) -> EngineError:
    try:
        body = json.loads(content)
        message = str(body["error"])
    except (ValueError, KeyError, TypeError):
        return EngineError(f"{path}: HTTP {status}: {content[:200].decode(errors='replace')}")
    if status == 404:
        return UnknownPipeline(message)
    if status == 409 and "reasons" in body:
        refusal = PlanDoesNotFit("", tuple(map(str, body["reasons"])))
        refusal.args = (message,)
        return refusal
    return EngineError(message)


def _status(body: dict[str, Any]) -> PipelineStatus:
    return PipelineStatus(
        name=body["name"],
        desired=DesiredState(body["desired"]),
        state=PipelineState(body["state"]),
        guarantee=Guarantee(body["guarantee"]),
        revision=body["revision"],
        submitted_at_ms=body["submitted_at_ms"],
        restarts=body["restarts"],
        error=body["error"],
        retry_at_ms=body["retry_at_ms"],
    )
