"""Requests to a registry over connections that stay open, as serializers have them."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Callable, Iterator

CONNECTIONS = 8
_HEADERS = {"Content-Type": "application/vnd.schemaregistry.v1+json"}
Request = tuple[str, str, bytes | None]


def schema(number: int) -> bytes:
    """The body of a registration: a record of ten fields, different for each number."""
    fields = [{"name": f"field_{number}_{place}", "type": "long", "default": 0} for place in range(10)]
    text = json.dumps({"type": "record", "name": "Measured", "namespace": "bench", "fields": fields})
    return json.dumps({"schema": text}).encode()


def per_second(port: int, requests: Callable[[int], Iterator[Request]], seconds: float) -> tuple[int, float]:
    """How many requests were answered with 200, and in how many seconds; every connection asks for its own `requests(number)`."""
    counts = [0] * CONNECTIONS
    failures: list[str] = []
    end = time.monotonic() + seconds

    def ask(number: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        for method, path, body in requests(number):
            if time.monotonic() >= end:
                break
            connection.request(method, path, body, _HEADERS)
            answer = connection.getresponse()
            text = answer.read()
            if answer.status != 200:
                failures.append(f"{method} {path}: {answer.status} {text[:200]!r}")
                break
            counts[number] += 1
        connection.close()

    began = time.monotonic()
    threads = [threading.Thread(target=ask, args=(number,)) for number in range(CONNECTIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise RuntimeError(failures[0])
    return sum(counts), time.monotonic() - began


def look_ups(id_: int) -> Callable[[int], Iterator[Request]]:
    """What serializers ask: the schema of an id, and whether a schema is registered."""

    def requests(_number: int) -> Iterator[Request]:
        while True:
            yield "GET", f"/schemas/ids/{id_}", None
            yield "POST", "/subjects/measured", schema(0)

    return requests


def registrations(start: int) -> Callable[[int], Iterator[Request]]:
    """New schemas, each under a subject of its own."""

    def requests(number: int) -> Iterator[Request]:
        place = start + number
        while True:
            yield "POST", f"/subjects/s{place}/versions", schema(place)
            place += CONNECTIONS

    return requests
