"""Questions that librdkafka cannot ask, asked over a plain socket with our own messages. Any Kafka answers them.

It works where brokers take plaintext connections; `is_possible` says whether they may.
"""

from __future__ import annotations

import socket
import struct
from typing import TYPE_CHECKING, Any, NamedTuple

from headrace.admin.errors import Problem

if TYPE_CHECKING:
    from headrace.admin.cluster import Cluster
    from headrace.wire.schema import Message

LARGEST_ANSWER = 256 << 20


class Address(NamedTuple):
    """Where a broker listens."""

    id: int
    host: str
    port: int


def is_possible(cluster: Cluster) -> bool:
    return cluster.properties.get("security.protocol", "plaintext").lower() == "plaintext"


def brokers(cluster: Cluster, doing: str) -> list[Address]:
    """All brokers, or the error that says why they cannot be asked directly."""
    if not is_possible(cluster):
        raise Problem(
            f"{doing} works over plaintext connections only so far", "Name a plaintext listener of the broker"
        )
    found = cluster.admin().list_topics(timeout=cluster.timeout_s).brokers.values()
    return [Address(broker.id, broker.host, broker.port) for broker in found]


def ask(address: Address, request: Message, version: int, timeout_s: float) -> Any:
    """One request and its response. Raises OSError when the broker does not answer, ValueError when nobody can read it."""
    from headrace.wire.apis import APIS
    from headrace.wire.errors import WireError
    from headrace.wire.frame import RequestHeader, encode_request

    with socket.create_connection((address.host, address.port), timeout_s) as connection:
        connection.sendall(encode_request(request, RequestHeader(request.KEY, version, 1, "headrace")))
        (length,) = struct.unpack(">i", _receive(connection, 4))
        if not 4 <= length <= LARGEST_ANSWER:
            raise ValueError(f"an answer of {length} bytes")
        answer = _receive(connection, length)
    response = APIS[request.KEY].response
    try:
        return response.decode(memoryview(answer), version, 5 if version >= response.FLEXIBLE_FROM else 4)
    except WireError as error:
        raise ValueError(str(error)) from error


def ask_or_fail(cluster: Cluster, address: Address, request: Message, version: int, doing: str) -> Any:
    """The same for commands that are nothing without the answer."""
    try:
        return ask(address, request, version, cluster.timeout_s)
    except (OSError, ValueError) as error:
        raise Problem(
            f"{doing}: broker {address.id} at {address.host}:{address.port} does not answer ({error})",
            "It must be a Kafka of version 3.0 or newer, reachable over plaintext",
        ) from None


def _receive(connection: socket.socket, count: int) -> bytes:
    data = bytearray()
    while len(data) < count:
        chunk = connection.recv(min(count - len(data), 1 << 20))
        if not chunk:
            raise OSError("it closed the connection")
        data += chunk
    return bytes(data)
