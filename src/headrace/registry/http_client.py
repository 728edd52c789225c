"""A registry somewhere else, over HTTP. Uses the standard library only, so that the CLI starts fast."""

from __future__ import annotations

import base64
import http.client
import json
import ssl
from typing import Any
from urllib.parse import quote, unquote, urlencode, urlsplit

DEFAULT_URL = "http://127.0.0.1:8081"
TIMEOUT_S = 60.0
MEDIA_TYPE = "application/vnd.schemaregistry.v1+json"


class RegistryUnreachable(Exception):
    """Nobody answers there; the text says why."""


class Refused(Exception):
    """The registry's answer when it is no."""

    def __init__(self, status: int, code: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


class RemoteRegistry:
    """One request a call; no connection is kept. A name and password may stand in the URL."""

    def __init__(self, url: str = DEFAULT_URL, timeout_s: float = TIMEOUT_S, ca: str | None = None) -> None:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise RegistryUnreachable(f"{url!r} is no address of a registry; it looks like {DEFAULT_URL}")
        self.url = url
        self._parts = parts
        self._timeout_s = timeout_s
        self._ca = ca

    def subjects(self, prefix: str = "", *, deleted: bool = False) -> list[str]:
        return list(self.call("GET", "/subjects", subjectPrefix=prefix or None, deleted=deleted))

    def versions(self, subject: str, *, deleted: bool = False) -> list[int]:
        return list(self.call("GET", _path("subjects", subject, "versions"), deleted=deleted))

    def version(
        self, subject: str, version: str = "latest", form: str = "", *, deleted: bool = False
    ) -> dict[str, Any]:
        path = _path("subjects", subject, "versions", version)
        return dict(self.call("GET", path, format=form or None, deleted=deleted))

    def by_id(self, id_: int, subject: str | None = None, form: str = "") -> dict[str, Any]:
        return dict(self.call("GET", _path("schemas", "ids", str(id_)), subject=subject, format=form or None))

    def register(self, subject: str, schema: dict[str, Any], *, normalize: bool = False) -> dict[str, Any]:
        return dict(self.call("POST", _path("subjects", subject, "versions"), schema, normalize=normalize))

    def look_up(self, subject: str, schema: dict[str, Any], *, normalize: bool = False) -> dict[str, Any]:
        return dict(self.call("POST", _path("subjects", subject), schema, normalize=normalize))

    def check(self, subject: str, schema: dict[str, Any], version: str | None = None) -> dict[str, Any]:
        """Whether a schema fits a version, or without one all that the level asks for; with every difference."""
        tail = () if version is None else (version,)
        path = _path("compatibility", "subjects", subject, "versions", *tail)
        return dict(self.call("POST", path, schema, verbose=True))

    def delete(self, subject: str, version: str | None = None, *, permanent: bool = False) -> list[int]:
        tail = () if version is None else ("versions", version)
        found = self.call("DELETE", _path("subjects", subject, *tail), permanent=permanent)
        return found if isinstance(found, list) else [found]

    def config(self, subject: str | None = None, *, in_scope: bool = False) -> dict[str, Any]:
        return dict(self.call("GET", _scope("config", subject), defaultToGlobal=in_scope))

    def set_config(self, subject: str | None, changes: dict[str, Any]) -> dict[str, Any]:
        return dict(self.call("PUT", _scope("config", subject), changes))

    def delete_config(self, subject: str | None) -> dict[str, Any]:
        return dict(self.call("DELETE", _scope("config", subject)))

    def call(self, method: str, path: str, body: Any = None, **query: Any) -> Any:
        """Any endpoint; the answer as JSON, or `Refused`."""
        given = {name: str(value).lower() if isinstance(value, bool) else value for name, value in query.items()}
        asked = urlencode({name: value for name, value in given.items() if value not in (None, "false")})
        status, content = self._send(method, f"{path}?{asked}" if asked else path, body)
        try:
            answer = json.loads(content) if content else None
        except ValueError:
            raise RegistryUnreachable(f"what answers at {self.url} is no schema registry (HTTP {status})") from None
        if status >= 400:
            found = answer if isinstance(answer, dict) else {}
            raise Refused(status, found.get("error_code", status), str(found.get("message", f"HTTP {status}")))
        return answer

    def _send(self, method: str, target: str, body: Any) -> tuple[int, bytes]:
        parts = self._parts
        connection: http.client.HTTPConnection
        if parts.scheme == "https":
            context = ssl.create_default_context(cafile=self._ca)
            connection = http.client.HTTPSConnection(
                parts.hostname or "", parts.port, timeout=self._timeout_s, context=context
            )
        else:
            connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=self._timeout_s)
        headers = {"Content-Type": MEDIA_TYPE, "Accept": MEDIA_TYPE, **self._authorization()}
        try:
            data = None if body is None else json.dumps(body).encode()
            connection.request(method, parts.path.rstrip("/") + target, data, headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise RegistryUnreachable(f"No schema registry answers at {self._shown()}: {reason}") from error
        finally:
            connection.close()

    def _authorization(self) -> dict[str, str]:
        if self._parts.username is None:
            return {}
        pair = f"{unquote(self._parts.username)}:{unquote(self._parts.password or '')}"
        return {"Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}

    def _shown(self) -> str:
        """The address without name and password."""
        return f"{self._parts.scheme}://{self._parts.netloc.rpartition('@')[2]}"


def _path(*parts: str) -> str:
    return "".join(f"/{quote(part, safe='')}" for part in parts)


def _scope(what: str, subject: str | None) -> str:
    return _path(what) if subject is None else _path(what, subject)
