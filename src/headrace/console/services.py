"""Headrace's other services as the console sees them: the schema registry and the engine, over HTTP. Blocking functions, and the engine's questions for pages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from headrace.admin.errors import Problem
from headrace.console import http
from headrace.console.asking import Asking
from headrace.console.settings import ConsoleSettings

PIPELINES_AGE_S = 1.5
GRAPH_AGE_S = 30.0


@dataclass(frozen=True, slots=True)
class ServiceState:
    """`optional` services may be absent: a cluster works without them."""

    name: str
    address: str
    up: bool
    detail: str
    next_step: str = ""
    optional: bool = False


def registry_state(settings: ConsoleSettings) -> ServiceState:
    name, base = "Schema registry", settings.registry_url
    try:
        status, content = http.send(base, "GET", "/subjects")
    except Problem as error:
        hint = "Start it with `headrace registry`, or name another with --registry"
        return ServiceState(name, base, False, error.message, hint, optional=True)
    if status == 401:
        return ServiceState(name, base, True, "answers, and wants a password", optional=True)
    if status != 200:
        return ServiceState(name, base, False, f"answered {status}", "Its log says why", optional=True)
    count = content.count(b'","') + 1 if b'"' in content else 0
    return ServiceState(name, base, True, f"{count} subject{'s' if count != 1 else ''}", optional=True)


def engine_state(settings: ConsoleSettings) -> ServiceState:
    name, base = "Engine", settings.engine_url
    try:
        status, _ = http.send(base, "GET", "/healthz")
        about = http.document(base, "GET", "/")
    except Problem as error:
        hint = "Start it with `headrace engine`, or name another with --engine"
        return ServiceState(name, base, False, error.message, hint, optional=True)
    problems = about.get("problems") if isinstance(about, dict) else None
    if status != 200:
        said = "; ".join(map(str, problems or [])) or f"answered {status}"
        return ServiceState(name, base, False, said, "It goes on by itself once this is over", optional=True)
    return ServiceState(name, base, True, "runs pipelines", optional=True)


class Engine:
    """What pages ask of the engine, and do with its pipelines."""

    def __init__(self, base: str, asking: Asking, read_only: bool) -> None:
        self.base = base
        self._asking = asking
        self._read_only = read_only

    async def pipelines(self) -> list[dict[str, Any]]:
        found = await self._get("/pipelines", PIPELINES_AGE_S)
        return list(found["pipelines"])

    async def pipeline(self, name: str) -> dict[str, Any]:
        """State and progress."""
        return dict(await self._get(_path(name), PIPELINES_AGE_S))

    async def graph(self, name: str) -> dict[str, Any]:
        """Steps and topics with the edges between them."""
        return dict(await self._get(f"{_path(name)}/graph", GRAPH_AGE_S))

    async def look_up(self, name: str, table: str, query: dict[str, Any]) -> dict[str, Any]:
        path = f"{_path(name)}/tables/{quote(table, safe='')}"
        return dict(await self._asking.do(lambda: http.document(self.base, "POST", path, query, timeout_s=35)))

    async def act(self, name: str, action: str) -> None:
        """`pause`, `resume`, `restart`, `reset`; `stop` ends it and forgets it."""
        if self._read_only:
            raise Problem("This console is read-only", "Start it without --read-only to change things")
        method, path = ("DELETE", _path(name)) if action == "stop" else ("POST", f"{_path(name)}/{action}")
        try:
            await self._asking.do(lambda: http.document(self.base, method, path, timeout_s=120))
        finally:
            self._asking.forget("engine")

    async def _get(self, path: str, max_age_s: float) -> Any:
        return await self._asking.ask(("engine", path), max_age_s, lambda: http.document(self.base, "GET", path))


def _path(name: str) -> str:
    return f"/pipelines/{quote(name, safe='')}"
