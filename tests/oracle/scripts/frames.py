"""Frames that are no requests, requests that nobody knows, and headers."""

from __future__ import annotations

import struct

from headrace.wire.frame import RequestHeader, encode_request
from headrace.wire.messages.api_versions import ApiVersionsRequest
from headrace.wire.messages.find_coordinator import FindCoordinatorRequest
from headrace.wire.messages.metadata import MetadataRequest
from headrace.wire.schema import Message
from tests.oracle.requests import batch, fetch, list_offsets, metadata, produce, wanted
from tests.oracle.script import Script


def framed(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


def header(key: int, version: int, client: bytes | None = b"raw", correlation: int = 7) -> bytes:
    length = -1 if client is None else len(client)
    return struct.pack(">hhih", key, version, correlation, length) + (client or b"")


def whole(request: Message, version: int) -> bytes:
    return encode_request(request, RequestHeader(request.KEY, version, 7, "raw"))


def unknown_apis(s: Script) -> None:
    """Keys and versions that no handler has."""
    for key in (-1, 4, 5, 6, 7, 52, 53, 54, 58, 59, 62, 63, 67, 70, 82, 95, 200, 999, 32767, -32768):
        s.frame(f"key {key}", framed(header(key, 0)))
    for key, above in ((0, 14), (1, 19), (2, 12), (3, 14), (10, 7), (19, 8), (22, 6), (60, 3), (75, 1)):
        s.frame(f"key {key} version {above}", framed(header(key, above) + bytes(20)))
        s.frame(f"key {key} version -1", framed(header(key, -1) + bytes(20)))
    for key, below in ((0, 0), (0, 2), (1, 3), (2, 0), (8, 1), (9, 0), (19, 1), (20, 0), (23, 1), (32, 0), (35, 0)):
        s.frame(f"key {key} version {below}", framed(header(key, below) + bytes(20)))
    for version in (5, 6, 99, 32767, -1):
        s.frame(f"ApiVersions {version}", framed(header(18, version)))
        s.frame(f"ApiVersions {version}, with a body", framed(header(18, version) + b"\0\x02a\x02b\0"))
        s.frame(f"ApiVersions {version}, with nonsense", framed(header(18, version) + b"\xff" * 9))


def malformed_frames(s: Script) -> None:
    """Sizes and bytes that cannot be."""
    for size in (-1, 0, 1, -(2**31), 2**31 - 1, 104_857_601):
        s.frame(f"size {size}", struct.pack(">i", size))
    for length in range(1, 12):
        s.frame(f"a header of {length} bytes", framed(header(3, 1)[:length]))
    s.frame("no client id", framed(header(3, 0, None) + struct.pack(">i", 0)))
    s.frame("empty client id", framed(header(18, 0, b"")))
    s.frame("client id that is no UTF-8", framed(header(18, 0, b"\xff\xfe")))
    s.frame("client id too long", framed(struct.pack(">hhih", 18, 0, 7, 100) + b"raw"))
    s.frame("client id of length -2", framed(struct.pack(">hhih", 18, 0, 7, -2)))
    s.frame("no tags in a flexible header", framed(header(60, 0)))
    s.frame("tags in a flexible header", framed(header(60, 0) + b"\x01\x05\x02ab" + b"\0\0"))
    s.frame("tags that run past the end", framed(header(60, 0) + b"\x01\x05\x7fab"))
    s.frame("tags twice", framed(header(60, 0) + b"\x02\x05\x01a\x05\x01a" + b"\0\0"))
    s.frame("tags not in order", framed(header(60, 0) + b"\x02\x06\x01a\x05\x01a" + b"\0\0"))
    s.frame("unknown tags in the body", framed(header(60, 0) + b"\0\0\x01\x09\x02ab"))


def trailing_and_missing_bytes(s: Script) -> None:
    """Requests with bytes behind them, and cut short."""
    s.create("t")
    requests = (
        (whole(list_offsets("t", (0, -1)), 5), "ListOffsets v5"),
        (whole(list_offsets("t", (0, -1)), 7), "ListOffsets v7"),
        (whole(list_offsets("t", (9, -1)), 11), "ListOffsets v11"),
        (whole(FindCoordinatorRequest(key="", coordinator_keys=[]), 4), "FindCoordinator v4"),
        (whole(produce("t", batch()), 8), "Produce v8"),
        (whole(fetch(("t", [wanted(5)])), 11), "Fetch v11"),
    )
    for request, what in requests:
        body = request[4:]
        s.frame(f"{what} as it is", request)
        s.frame(f"{what} and a byte", framed(body + b"\0"))
        s.frame(f"{what} and ten bytes", framed(body + b"\xff" * 10))
        for cut in (1, 2, 3, 5, 8, 12):
            s.frame(f"{what} without its last {cut}", framed(body[:-cut]))
    for version in (1, 9, 12):
        for count in (-2, 2**31 - 1, 5):
            array = struct.pack(">i", count) if version < 9 else b"\0\xff\xff\xff\xff\x07"
            s.frame(f"Metadata v{version} of {count} topics", framed(header(3, version) + array))
    s.frame("a boolean of 2", framed(header(37, 0) + struct.pack(">iib", 0, 1000, 2)))
    s.frame("a null name where there must be one", framed(header(3, 4) + struct.pack(">ihb", 1, -1, 0)))
    s.frame(
        "a name that is no UTF-8",
        framed(header(2, 1) + struct.pack(">iih", -1, 1, 2) + b"\xff\xfe" + struct.pack(">i", 0)),
    )


def pipelined(s: Script) -> None:
    """Several requests before the first answer."""
    s.create("t")
    client = s.client()
    for number in range(5):
        client.send(produce("t", batch()), 12)
        client.send(metadata("t"), 9)
        client.send(ApiVersionsRequest(), 0)
        client.send(fetch(("t", [wanted(0, number)]), max_wait_ms=5), 12)
    for number in range(5):
        s.receive(f"Produce {number}")
        s.receive(f"Metadata {number}")
        client.receive()
        s.receive(f"Fetch {number}")
    s.call(MetadataRequest(topics=[]), 9)


SCRIPTS = (unknown_apis, malformed_frames, trailing_and_missing_bytes, pipelined)
