"""Frames: what stands around a request or a response on a connection.

A frame is a 4-byte length and that many bytes. A request starts with header version 1, or 2 for flexible versions:

    int16 api key | int16 api version | int32 correlation id | nullable string client id (int16 length) | tags in 2 only

A response starts with header version 0, or 1 for flexible versions; ApiVersions always answers with 0, because a client
that asks does not know yet what the broker speaks:

    int32 correlation id | tags in 1 only
"""

from __future__ import annotations

from struct import Struct as Layout
from typing import NamedTuple

from headrace.wire.apis import APIS
from headrace.wire.errors import WireError
from headrace.wire.schema import Buffer, Message
from headrace.wire.varint import read_uvarint, skip_tags

API_VERSIONS = 18
LENGTH_SIZE = 4

_REQUEST = Layout(">hhih")
_RESPONSE = Layout(">ii")
_RESPONSE_FLEXIBLE = Layout(">iix")
_LENGTH = Layout(">i")
_FLEXIBLE_FROM = {key: api.flexible_from for key, api in APIS.items()}


class RequestHeader(NamedTuple):
    """Who asks for what, in which version."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None


def parse_request_header(view: Buffer, position: int = 0) -> tuple[RequestHeader, int]:
    """The header of a request (the frame without its length) and the position of the body.

    For an API or version that we do not know, the position is where a header of version 1 ends.
    """
    try:
        api_key, api_version, correlation_id, length = _REQUEST.unpack_from(view, position)
        position += _REQUEST.size
        client_id = None
        if length >= 0:
            end = position + length
            if end > len(view):
                raise WireError("request header: client_id runs past the end")
            client_id = str(view[position:end], "utf-8")
            position = end
        if api_version >= _FLEXIBLE_FROM.get(api_key, 1 << 16) and api_version <= APIS[api_key].max_version:
            tags, position = read_uvarint(view, position)
            if tags:
                position = skip_tags(view, position, tags, len(view))
    except WireError:
        raise
    except Exception as error:
        raise WireError(f"request header: {error}") from None
    return RequestHeader(api_key, api_version, correlation_id, client_id), position


def response_header(correlation_id: int, api_key: int, version: int) -> bytes:
    """The header of a response, without the length of the frame."""
    return _response_head(correlation_id, api_key, version)[LENGTH_SIZE:]


def encode_response_parts(message: Message, correlation_id: int, version: int) -> list[Buffer]:
    """A response as a whole frame, in buffers to be written one after the other."""
    parts = message.encode_parts(version, _response_head(correlation_id, message.KEY, version))
    first = parts[0]
    assert isinstance(first, bytearray)
    _LENGTH.pack_into(first, 0, sum(map(len, parts)) - LENGTH_SIZE)
    return parts


def encode_request(message: Message, header: RequestHeader) -> bytes:
    """A request as a whole frame; brokers send few of them, tests send many."""
    client_id = None if header.client_id is None else header.client_id.encode()
    head = _REQUEST.pack(*header[:3], -1 if client_id is None else len(client_id)) + (client_id or b"")
    if header.api_version >= message.FLEXIBLE_FROM:
        head += b"\0"
    body = head + message.encode(header.api_version)
    return _LENGTH.pack(len(body)) + body


def _response_head(correlation_id: int, api_key: int, version: int) -> bytes:
    flexible = version >= _FLEXIBLE_FROM[api_key] and api_key != API_VERSIONS
    return (_RESPONSE_FLEXIBLE if flexible else _RESPONSE).pack(0, correlation_id)
