"""A registry's REST interface, asked as any HTTP client would."""

from __future__ import annotations

import http.client
import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from tests.registry.avro import body

MEDIA_TYPE = "application/vnd.schemaregistry.v1+json"


@dataclass(frozen=True)
class Answer:
    status: int
    body: Any
    headers: dict[str, str]

    @property
    def code(self) -> int:
        """Confluent's error code."""
        assert set(self.body) == {"error_code", "message"}, self.body
        assert self.body["message"]
        return int(self.body["error_code"])


class Rest:
    """One registry. A method per verb; a path may be any bytes that HTTP allows."""

    def __init__(self, url: str, *, headers: dict[str, str] | None = None) -> None:
        self.url = url
        self._headers = headers or {}

    def get(self, path: str, **headers: str) -> Answer:
        return self.call("GET", path, **headers)

    def post(self, path: str, document: Any = None, **headers: str) -> Answer:
        return self.call("POST", path, document, **headers)

    def put(self, path: str, document: Any = None, **headers: str) -> Answer:
        return self.call("PUT", path, document, **headers)

    def delete(self, path: str, **headers: str) -> Answer:
        return self.call("DELETE", path, **headers)

    def call(self, method: str, path: str, document: Any = None, **headers: str) -> Answer:
        where = urlsplit(self.url)
        connection = http.client.HTTPConnection(where.hostname or "", where.port or 80, timeout=60)
        sent = {"Content-Type": MEDIA_TYPE, **self._headers}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        data = document if isinstance(document, bytes | None) else json.dumps(document).encode()
        try:
            connection.request(method, path, data, sent)
            answer = connection.getresponse()
            raw = answer.read()
            kind = answer.headers.get_content_type()
            found = json.loads(raw) if raw and "json" in kind else raw.decode()
            return Answer(answer.status, found, {name.lower(): value for name, value in answer.headers.items()})
        finally:
            connection.close()

    def register(self, subject: str, *fields: str, **more: Any) -> dict[str, Any]:
        """Register a record with these fields, or whatever `schema=` says; what the registry answers."""
        document = more if "schema" in more else body(*fields, **more)
        answer = self.post(f"/subjects/{subject}/versions", document)
        assert answer.status == 200, answer
        found: dict[str, Any] = answer.body
        return found
