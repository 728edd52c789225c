"""Connections as a hostile or clumsy client would use them: order, limits, malformed frames, slow readers."""

from __future__ import annotations

import socket
import struct

import pytest

from headrace.broker.server import Broker
from headrace.testing import LocalBroker, broker, wait_until
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.api_versions import ApiVersionsRequest
from headrace.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.broker.raw import Closed, RawClient, batch, fetch_request, produce_request


@pytest.fixture(scope="module")
def server():
    with broker(socket_request_max_bytes=2_000_000) as running:
        running.create_topic("t", 1)
        yield running


def test_pipelined_requests_are_answered_in_order(server: LocalBroker) -> None:
    with RawClient(server.port) as client:
        for number in range(200):
            if number % 3 == 0:
                client.send(MetadataRequest(topics=[MetadataRequestTopic(name="t")]), 9)
            elif number % 3 == 1:
                client.send(produce_request("t", batch(b"x" * number)), 9)
            else:
                client.send(fetch_request("t", 0, max_wait_ms=1), 12)
        answers = [client.receive() for _ in range(200)]
        produced = [answer.responses[0].partition_responses[0] for answer in answers[1::3]]
        offsets = [answer.base_offset for answer in produced]
        assert not any(answer.error_code for answer in produced)
        assert offsets == list(range(offsets[0], offsets[0] + len(offsets)))


def test_a_long_poll_holds_back_later_answers_but_loses_none(server: LocalBroker) -> None:
    with RawClient(server.port) as client, RawClient(server.port) as other:
        end = client.fetch("t", 0).high_watermark
        client.send(fetch_request("t", end, max_wait_ms=10_000), 12)
        client.send(ApiVersionsRequest(client_software_name="a", client_software_version="1"), 3)
        other.produce("t", batch(b"news"))
        assert client.receive().responses[0].partitions[0].high_watermark == end + 1
        assert client.receive().error_code == 0


@pytest.mark.parametrize(
    "frame",
    [
        struct.pack(">i", -1),
        struct.pack(">i", 2_000_001),
        struct.pack(">ihhih", 10, 999, 0, 1, -1),
        struct.pack(">ihhih", 10, 3, 99, 1, -1),
        struct.pack(">ihhih", 10, 0, 9, 1, -1),
        struct.pack(">i", 2) + b"\x00\x00",
        struct.pack(">ihhih", 14, 3, 1, 1, -1) + struct.pack(">i", 2**31 - 1),
        struct.pack(">ihhih", 10, 0, 2, 1, -1),
    ],
    ids=["negative", "too large", "unknown api", "unknown version", "no body", "no header", "huge array", "produce 2"],
)
def test_a_malformed_frame_closes_its_own_connection_only(server: LocalBroker, frame: bytes) -> None:
    with RawClient(server.port) as good, RawClient(server.port) as bad:
        bad.socket.sendall(frame)
        assert bad.closed()
        assert good.call(ApiVersionsRequest(), 0).error_code == 0


def test_a_version_of_api_versions_from_the_future_is_told_ours(server: LocalBroker) -> None:
    with RawClient(server.port) as client:
        client.socket.sendall(struct.pack(">ihhih", 11, 18, 99, 7, -1) + b"\x00")
        frame = client.receive_frame()
        correlation_id, error, count, key, low, high = struct.unpack_from(">ihihhh", frame)
        assert (correlation_id, error, count, key, low, high) == (7, ErrorCode.UNSUPPORTED_VERSION, 1, 18, 0, 4)
        assert client.call(ApiVersionsRequest(), 0).error_code == 0


def test_a_client_must_name_itself_properly(server: LocalBroker) -> None:
    with RawClient(server.port) as client:
        answer = client.call(ApiVersionsRequest(client_software_name="", client_software_version="1"), 3)
        assert answer.error_code == ErrorCode.INVALID_REQUEST


def test_bytes_behind_a_request_are_ignored_as_kafka_does(server: LocalBroker) -> None:
    with RawClient(server.port) as client:
        client.socket.sendall(struct.pack(">ihhih", 13, 18, 0, 5, -1) + b"abc")
        assert struct.unpack_from(">ih", client.receive_frame()) == (5, 0)


def test_requests_may_arrive_byte_by_byte(server: LocalBroker) -> None:
    with RawClient(server.port) as client:
        client.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in struct.pack(">ihhih", 10, 18, 0, 5, -1):
            client.socket.sendall(bytes([byte]))
        assert struct.unpack_from(">ih", client.receive_frame()) == (5, 0)


def test_a_slow_reader_is_bounded_and_slows_nobody() -> None:
    with broker(headrace_max_inflight_bytes=4_000_000) as server:
        server.create_topic("big", 1)
        with RawClient(server.port) as writer:
            for _ in range(40):
                writer.produce("big", batch(b"x" * 900_000))
        slow = [RawClient(server.port) for _ in range(8)]
        try:
            for client in slow:
                client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                for _ in range(20):
                    client.send(fetch_request("big", 0, partition_max_bytes=50_000_000), 12)
            wait_until(lambda: server.call(lambda b: len(b.dispatcher.held_output)) == len(slow))
            held = server.call(lambda b: sum(b.dispatcher.held_output.values()))
            # Beyond the limit each may have one batch more, on top of what its socket was ready to take.
            assert held < 4_000_000 + 8 * 2_000_000
            with RawClient(server.port) as other:
                assert other.produce("big", batch(b"y")).error_code == 0
                assert other.fetch("big", 40).records
        finally:
            for client in slow:
                client.socket.close()
        wait_until(lambda: not server.call(lambda b: b.dispatcher.held_output))


def test_connection_limits_count_in_total_and_per_address() -> None:
    with broker(max_connections_per_ip=3) as server:
        clients = [RawClient(server.port) for _ in range(3)]
        for client in clients:
            assert client.call(ApiVersionsRequest(), 0).error_code == 0
        with RawClient(server.port) as refused:
            assert refused.closed()
        clients.pop().socket.close()
        wait_until(lambda: server.call(lambda b: b.limits.total) == 2)
        with RawClient(server.port) as admitted:
            assert admitted.call(ApiVersionsRequest(), 0).error_code == 0
        for client in clients:
            client.socket.close()


def test_idle_connections_are_closed() -> None:
    with broker(connections_max_idle_ms=50) as server, RawClient(server.port) as client:
        client.call(ApiVersionsRequest(), 0)
        wait_until(lambda: _closes_idle(server), timeout_s=5)
        assert client.closed()


def _closes_idle(server: LocalBroker) -> bool:
    server.call(lambda b: b._close_idle_connections())
    return server.call(lambda b: b.limits.total) == 0


def test_acks_0_gets_no_answer_and_an_error_closes_the_connection(server: LocalBroker) -> None:
    with RawClient(server.port) as client:
        client.send(produce_request("t", batch(b"quiet"), acks=0), 9)
        client.sent.pop()
        assert client.call(ApiVersionsRequest(), 0).error_code == 0
        client.send(produce_request("nowhere", batch(b"x"), acks=0), 9)
        with pytest.raises(Closed):
            client.receive()


def test_a_connection_that_waits_for_memory_and_ends_is_not_kept_nor_called_in_the_place_of_the_next() -> None:
    part = struct.pack(">i", 1_000_000) + bytes(150_000)
    with broker(queued_max_request_bytes=100_000) as server:
        server.create_topic("t", 1)
        with RawClient(server.port) as first, RawClient(server.port) as second, RawClient(server.port) as third:
            first.socket.sendall(part)
            wait_until(lambda: server.call(lambda b: b.dispatcher.receive_memory.in_use) > 100_000)
            second.socket.sendall(part[:70_000])
            wait_until(lambda: server.call(lambda b: b.dispatcher.receive_memory.waiting) == 1)
            third.send(produce_request("t", batch(b"x" * 200_000)), 9)
            wait_until(lambda: server.call(lambda b: b.dispatcher.receive_memory.waiting) == 2)
            port = second.socket.getsockname()[1]
            server.call(lambda b: end_connection(b, port))
            wait_until(lambda: server.call(lambda b: b.dispatcher.receive_memory.waiting) == 1)
            first.socket.close()
            assert third.receive().responses[0].partition_responses[0].error_code == ErrorCode.NONE


def end_connection(server: Broker, port: int) -> None:
    """What the limit on idle connections does to one from this port."""
    for connection in server.listeners[0].connections:
        if connection.connection_id.endswith(f":{port}"):
            connection.close()
