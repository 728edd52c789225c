"""Frames, byte by byte."""

from __future__ import annotations

import pytest

from headrace.wire import frame
from headrace.wire.errors import ErrorCode, WireError
from headrace.wire.frame import RequestHeader
from headrace.wire.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from headrace.wire.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from headrace.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse


def joined(message: object, correlation_id: int, version: int) -> str:
    return b"".join(frame.encode_response_parts(message, correlation_id, version)).hex(" ")  # type: ignore[arg-type]


def test_request_with_header_version_1() -> None:
    message = HeartbeatRequest(group_id="g", generation_id=2, member_id="m", group_instance_id=None)
    data = frame.encode_request(message, RequestHeader(12, 3, 7, "me"))
    assert data.hex(" ") == (
        "00 00 00 18 "  # length
        "00 0c 00 03 00 00 00 07 00 02 6d 65 "  # key, version, correlation id, client id
        "00 01 67 00 00 00 02 00 01 6d ff ff"
    )
    header, position = frame.parse_request_header(memoryview(data)[4:])
    assert header == RequestHeader(12, 3, 7, "me")
    assert HeartbeatRequest.decode(memoryview(data)[4:], header.api_version, position) == message


def test_request_with_header_version_2_keeps_the_old_client_id() -> None:
    message = HeartbeatRequest(group_id="g", generation_id=2, member_id="m", group_instance_id=None)
    data = frame.encode_request(message, RequestHeader(12, 4, 7, "me"))
    assert data.hex(" ") == (
        "00 00 00 17 "
        "00 0c 00 04 00 00 00 07 00 02 6d 65 00 "  # the tags of the header come last
        "02 67 00 00 00 02 02 6d 00 00"
    )
    header, position = frame.parse_request_header(memoryview(data)[4:])
    assert HeartbeatRequest.decode(memoryview(data)[4:], header.api_version, position) == message


def test_header_without_client_id_and_with_tags() -> None:
    data = bytes.fromhex("00 0c 00 04 00 00 00 07 ff ff 01 05 02 aa bb")
    assert frame.parse_request_header(data) == (RequestHeader(12, 4, 7, None), len(data))


def test_header_of_an_unknown_version_is_read_as_version_1() -> None:
    """ApiVersions in a version of the future is answered, so its header has to be read (KIP-511)."""
    data = bytes.fromhex("00 12 00 63 00 00 00 07 00 02 6d 65 00 ff")
    assert frame.parse_request_header(data) == (RequestHeader(18, 99, 7, "me"), 12)


@pytest.mark.parametrize("size", range(10))
def test_short_header(size: int) -> None:
    with pytest.raises(WireError):
        frame.parse_request_header(bytes(size))


def test_response_headers() -> None:
    assert joined(HeartbeatResponse(), 9, 3) == "00 00 00 0a 00 00 00 09 00 00 00 00 00 00"
    assert joined(HeartbeatResponse(), 9, 4) == "00 00 00 0c 00 00 00 09 00 00 00 00 00 00 00 00"
    assert frame.response_header(9, 12, 3).hex(" ") == "00 00 00 09"
    assert frame.response_header(9, 12, 4).hex(" ") == "00 00 00 09 00"


def test_api_versions_always_answers_with_header_version_0() -> None:
    message = ApiVersionsResponse(api_keys=[ApiVersion(api_key=18, min_version=0, max_version=4)])
    assert joined(message, 9, 3) == "00 00 00 13 00 00 00 09 00 00 02 00 12 00 00 00 04 00 00 00 00 00 00"
    refusal = ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=message.api_keys)
    assert joined(refusal, 9, 0) == "00 00 00 10 00 00 00 09 00 23 00 00 00 01 00 12 00 00 00 04"
    assert ApiVersionsRequest.decode(bytes.fromhex("02 61 02 31 00"), 3).client_software_name == "a"


def test_large_records_are_parts_of_their_own() -> None:
    records = memoryview(bytes(range(256)) * 16)
    partition = PartitionData(partition_index=1, records=[records, records[:100]])
    small = PartitionData(partition_index=2, records=b"tiny")
    topic = FetchableTopicResponse(topic="t", partitions=[partition, small])
    parts = frame.encode_response_parts(FetchResponse(responses=[topic]), 1, 11)
    assert [type(part) for part in parts] == [bytearray, memoryview, memoryview, bytearray]
    assert parts[1] is records
    data = b"".join(parts)
    assert int.from_bytes(data[:4], "big") == len(data) - 4
    decoded = FetchResponse.decode(data, 11, 8)
    assert decoded.responses[0].partitions[0].records == bytes(records) + bytes(records[:100])
    assert decoded.responses[0].partitions[1].records == b"tiny"
