"""HTTP to Headrace's other services: one bounded request a call, JSON or text back. Blocking; ask it from threads."""

from __future__ import annotations

import http.client
import json
from typing import Any
from urllib.parse import urlsplit

from headrace.admin.errors import Problem

LARGEST_ANSWER = 16 << 20


def send(base: str, method: str, path: str, body: Any = None, timeout_s: float = 3.0) -> tuple[int, bytes]:
    """Status and content; `Problem` when nobody answers."""
    parts = urlsplit(base if "://" in base else f"http://{base}")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise Problem(f"'{base}' is no address of a service", "It looks like http://127.0.0.1:8084")
    make = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = make(parts.hostname, parts.port, timeout=timeout_s)
    headers = {"Content-Type": "application/json"} if body is not None else {}
    try:
        connection.request(method, path, json.dumps(body) if body is not None else None, headers)
        response = connection.getresponse()
        content = response.read(LARGEST_ANSWER + 1)
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise Problem(f"Nobody answers at {base} ({reason.lower()})") from None
    finally:
        connection.close()
    if len(content) > LARGEST_ANSWER:
        raise Problem(f"{base}{path} answered with more than {LARGEST_ANSWER >> 20} MiB")
    return response.status, content


def document(base: str, method: str, path: str, body: Any = None, timeout_s: float = 3.0) -> Any:
    """The JSON of an answer; what the service refuses is a `Problem` in its own words."""
    status, content = send(base, method, path, body, timeout_s)
    try:
        answer = json.loads(content) if content else None
    except (ValueError, RecursionError):
        raise Problem(f"{base}{path} answered {status} with something else than JSON") from None
    if status >= 400:
        said = answer.get("error") or answer.get("message") if isinstance(answer, dict) else None
        raise Problem(str(said or f"{base}{path} answered {status}"))
    return answer
