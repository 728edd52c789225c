"""How many bytes a partition takes on disk. librdkafka cannot ask (DescribeLogDirs), so this asks over a plain socket.

It works where a broker takes plaintext connections; elsewhere the answer is "unknown", and commands show a dash. It must never
be the reason for a command to fail.
"""

from __future__ import annotations

import contextlib
import socket
import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headrace.cli.cluster import Cluster

_VERSION = 1
_TIMEOUT_S = 5.0
_LARGEST_ANSWER = 256 << 20


def partition_sizes(cluster: Cluster) -> dict[tuple[str, int], int]:
    """Bytes per (topic, partition), the largest replica of each; empty when the cluster does not let us ask."""
    if cluster.properties.get("security.protocol", "plaintext").lower() != "plaintext":
        return {}
    sizes: dict[tuple[str, int], int] = {}
    for broker in cluster.admin().list_topics(timeout=cluster.timeout_s).brokers.values():
        with contextlib.suppress(OSError, ValueError):
            for partition, size in _ask(broker.host, broker.port).items():
                sizes[partition] = max(size, sizes.get(partition, 0))
    return sizes


def _ask(host: str, port: int) -> dict[tuple[str, int], int]:
    from headrace.wire.errors import WireError
    from headrace.wire.messages.describe_log_dirs import DescribeLogDirsRequest, DescribeLogDirsResponse

    body = DescribeLogDirsRequest(topics=None).encode(_VERSION)
    client_id = b"headrace"
    header = struct.pack(">hhih", DescribeLogDirsRequest.KEY, _VERSION, 1, len(client_id)) + client_id
    with socket.create_connection((host, port), _TIMEOUT_S) as connection:
        connection.sendall(struct.pack(">i", len(header) + len(body)) + header + body)
        (length,) = struct.unpack(">i", _receive(connection, 4))
        if not 4 <= length <= _LARGEST_ANSWER:
            raise ValueError(f"an answer of {length} bytes")
        answer = _receive(connection, length)
    try:
        response = DescribeLogDirsResponse.decode(memoryview(answer)[4:], _VERSION)
    except WireError as error:
        raise ValueError(str(error)) from error
    return {
        (topic.name, partition.partition_index): partition.partition_size
        for directory in response.results
        for topic in directory.topics
        for partition in topic.partitions
        if not partition.is_future_key
    }


def _receive(connection: socket.socket, count: int) -> bytes:
    data = bytearray()
    while len(data) < count:
        chunk = connection.recv(min(count - len(data), 1 << 20))
        if not chunk:
            raise OSError("the broker closed the connection")
        data += chunk
    return bytes(data)
