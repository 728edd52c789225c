"""A follower's way to the leader: the request as it came, sent once more, and the leader's answer as it is. Blocking; call it in a thread."""

from __future__ import annotations

import http.client
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

FORWARDED = "x-forward"
# What of a client's request the leader needs; everything else is between the client and this instance.
_PASSED_ON = ("content-type", "accept", "authorization", "confluent-accept-unknown-properties")
MAX_ANSWER = 64 << 20


@dataclass(frozen=True)
class Forwarded:
    """The leader's answer."""

    status: int
    body: bytes
    content_type: str | None


class LeaderUnreachable(Exception):
    """Nothing was sent, or (`sent`) it is not known what became of it."""

    def __init__(self, message: str, *, sent: bool) -> None:
        super().__init__(message)
        self.sent = sent


def forward(
    leader_url: str,
    method: str,
    target: str,
    headers: Mapping[str, str],
    body: bytes,
    timeout_s: float,
    tls: ssl.SSLContext | None = None,
) -> Forwarded:
    """Send a request to the leader and bring back its answer. `target` is path and query."""
    parts = urlsplit(leader_url)
    host, port = parts.hostname or "", parts.port
    connection = (
        http.client.HTTPSConnection(host, port, timeout=timeout_s, context=tls)
        if parts.scheme == "https"
        else http.client.HTTPConnection(host, port, timeout=timeout_s)
    )
    passed = {name: headers[name] for name in _PASSED_ON if name in headers}
    try:
        try:
            connection.connect()
        except OSError as error:
            raise LeaderUnreachable(f"{leader_url}: {error}", sent=False) from error
        try:
            connection.request(method, target, body or None, {**passed, FORWARDED: "true"})
            answer = connection.getresponse()
            content = answer.read(MAX_ANSWER)
        except (OSError, http.client.HTTPException) as error:
            raise LeaderUnreachable(f"{leader_url}: {error or type(error).__name__}", sent=True) from error
        return Forwarded(answer.status, content, answer.getheader("content-type"))
    finally:
        connection.close()
