"""Answers in which a broker names addresses, with others in their place. Everything else passes as it came."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.wire.apis import APIS
from headrace.wire.frame import RequestHeader, encode_response_parts
from headrace.wire.messages.describe_cluster import DescribeClusterResponse
from headrace.wire.messages.find_coordinator import FindCoordinatorResponse
from headrace.wire.messages.metadata import MetadataResponse
from headrace.wire.varint import read_uvarint, skip_tags

_NAMES_ADDRESSES = frozenset((MetadataResponse.KEY, FindCoordinatorResponse.KEY, DescribeClusterResponse.KEY))
_HEADER_END = 8


def with_addresses(frame: bytes, header: RequestHeader, stand_in: Callable[[str, int], tuple[str, int]]) -> bytes:
    """The answer to a request with every address replaced; an API or version that we do not know passes unchanged."""
    version = header.api_version
    if header.api_key not in _NAMES_ADDRESSES or version > APIS[header.api_key].max_version:
        return frame
    position = _HEADER_END
    if version >= APIS[header.api_key].flexible_from:
        tags, position = read_uvarint(frame, position)
        position = skip_tags(frame, position, tags, len(frame))
    response, _ = APIS[header.api_key].response.decode_from(frame, version, position)
    for node in _nodes(response, version):
        if node.host:
            node.host, node.port = stand_in(node.host, node.port)
    return b"".join(encode_response_parts(response, header.correlation_id, version))


def _nodes(response: Any, version: int) -> list[Any]:
    if isinstance(response, FindCoordinatorResponse):
        return response.coordinators if version >= 4 else [response]
    return response.brokers  # type: ignore[no-any-return]
