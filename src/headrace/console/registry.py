"""The schema registry as pages see it, over HTTP: subjects, versions, checks, new versions; and records shown decoded with its schemas."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from headrace.admin.errors import Problem
from headrace.console import http
from headrace.console.asking import Asking
from headrace.console.masking import Masking
from headrace.console.records import Record
from headrace.serde.codec import Decoder
from headrace.serde.errors import SerdeError
from headrace.serde.framing import HEAD_LENGTH, MAGIC

SUBJECTS_AGE_S = 3.0
FORGOTTEN_AFTER_S = 30.0
"""After a schema could not be had, its records are shown as they are for so long before it is asked for again."""
MOST_UNKNOWN = 1_000


class Registry:
    """What pages ask of the registry and do with its subjects."""

    def __init__(self, base: str, asking: Asking, read_only: bool) -> None:
        self.base = base
        self._asking = asking
        self._read_only = read_only

    async def subjects(self) -> list[dict[str, Any]]:
        """The newest version of each."""
        return list(await self._get("/schemas?latestOnly=true"))

    async def versions(self, subject: str) -> list[int]:
        return list(await self._get(f"{_subject(subject)}/versions"))

    async def version(self, subject: str, version: int) -> dict[str, Any]:
        return dict(await self._get(f"{_subject(subject)}/versions/{version}"))

    async def level(self, subject: str) -> str:
        """The compatibility that new versions are held to."""
        found = await self._get(f"/config/{quote(subject, safe='')}?defaultToGlobal=true")
        return str(found.get("compatibilityLevel") or found.get("compatibility") or "?")

    async def check(self, subject: str, schema: dict[str, Any]) -> list[str]:
        """What stands against a new version; nothing when it fits."""
        path = f"/compatibility{_subject(subject)}/versions?verbose=true"
        found = await self._asking.do(lambda: http.document(self.base, "POST", path, schema, timeout_s=30))
        if found.get("is_compatible"):
            return []
        return [str(one) for one in found.get("messages") or ()] or ["the registry says no, and not why"]

    async def register(self, subject: str, schema: dict[str, Any]) -> int:
        """The id that it has then."""
        if self._read_only:
            raise Problem("This console is read-only", "Start it without --read-only to change things")
        path = f"{_subject(subject)}/versions"
        try:
            found = await self._asking.do(lambda: http.document(self.base, "POST", path, schema, timeout_s=30))
        finally:
            self._asking.forget("registry")
        return int(found["id"])

    async def _get(self, path: str) -> Any:
        return await self._asking.ask(
            ("registry", path), SUBJECTS_AGE_S, lambda: http.document(self.base, "GET", path, timeout_s=8)
        )


def _subject(name: str) -> str:
    return f"/subjects/{quote(name, safe='')}"


class _Source:
    """Schemas for `serde`, over HTTP. Blocking."""

    def __init__(self, base: str) -> None:
        self._base = base

    def by_id(self, id_: int, subject: str | None = None, form: str = "") -> dict[str, Any]:
        return dict(http.document(self._base, "GET", f"/schemas/ids/{id_}{_form(form)}"))

    def version(self, subject: str, version: str = "latest", form: str = "") -> dict[str, Any]:
        return dict(http.document(self._base, "GET", f"{_subject(subject)}/versions/{quote(version)}{_form(form)}"))


def _form(form: str) -> str:
    return f"?format={form}" if form else ""


class Lens:
    """What pages see of a record: decoded where the registry knows its schema, then with masked fields hidden. Used by several threads."""

    def __init__(self, base: str = "", masking: Masking | None = None) -> None:
        self._masking = masking or Masking()
        self._decoder = Decoder(_Source(base)) if base else None
        self._unknown: dict[bytes, float] = {}
        self._lock = threading.Lock()

    def apply(self, found: Record) -> Record:
        if self._decoder is not None:
            key, key_schema = self._decoded(found.key)
            value, value_schema = self._decoded(found.value)
            if key_schema or value_schema:
                found = replace(found, key=key, value=value, key_schema=key_schema, value_schema=value_schema)
        return self._masking.apply(found)

    def _decoded(self, content: bytes | None) -> tuple[bytes | None, str]:
        if content is None or len(content) < HEAD_LENGTH or content[0] != MAGIC or self._decoder is None:
            return content, ""
        head = content[:HEAD_LENGTH]
        with self._lock:
            if time.monotonic() - self._unknown.get(head, -FORGOTTEN_AFTER_S) < FORGOTTEN_AFTER_S:
                return content, ""
            try:
                found = self._decoder.decode(content)
            except Problem:
                # Nobody answers, or nobody knows the id: bytes that begin with a zero need not be framed at all.
                if len(self._unknown) >= MOST_UNKNOWN:
                    self._unknown.clear()
                self._unknown[head] = time.monotonic()
                return content, ""
            except SerdeError as error:
                return content, f"cannot be decoded: {error}"
        return json.dumps(found.value, ensure_ascii=False).encode(), f"{found.kind}, schema {found.schema_id}"
