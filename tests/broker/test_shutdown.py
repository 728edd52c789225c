"""SIGTERM: no new work, answers for what is in flight, everything flushed and marked clean, exit 0, and soon."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from headrace.fs import Fs
from headrace.storage.checkpoint import CLEAN_SHUTDOWN, read_broker_epoch, read_offsets
from headrace.testing import BrokerProcess, broker, broker_process, wait_until
from headrace.testing.faults import ThrottledFs
from headrace.wire.errors import ErrorCode
from headrace.wire.frame import RequestHeader, encode_request
from headrace.wire.messages.api_versions import ApiVersionsRequest
from headrace.wire.messages.fetch import FetchRequest, FetchResponse
from headrace.wire.messages.find_coordinator import FindCoordinatorRequest
from headrace.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from tests.broker.raw import Closed, RawClient, batch, fetch_request, produce_request

SOON_S = 3.0


@pytest.fixture
def process() -> Iterator[BrokerProcess]:
    with broker_process(**{"group.initial.rebalance.delay.ms": 60_000}) as running:
        running.create_topic("t", 4)
        yield running


def stop_soon(process: BrokerProcess) -> None:
    begin = time.monotonic()
    assert process.stop(timeout_s=20) == 0
    assert time.monotonic() - begin < SOON_S


def is_clean(process: BrokerProcess) -> bool:
    return (process.data_dir / CLEAN_SHUTDOWN).exists()


def test_soon_with_consumers_that_poll_and_groups_that_wait(process: BrokerProcess) -> None:
    process.restart(**{"group.initial.rebalance.delay.ms": 0})
    consumers = [process.consumer("g", fetch_wait_max_ms=30_000) for _ in range(3)]
    stopped = threading.Event()

    def poll() -> None:
        while not stopped.is_set():
            for consumer in consumers:
                consumer.poll(0.05)

    polling = threading.Thread(target=poll)
    try:
        for consumer in consumers:
            consumer.subscribe(["t"])
        polling.start()
        wait_until(lambda: sum(len(consumer.assignment()) for consumer in consumers) == 4, timeout_s=30)
        process.produce("t", [b"x"] * 10)
        stop_soon(process)
        assert is_clean(process)
    finally:
        stopped.set()
        polling.join()
        process.restart()  # closing consumers leave their group; they need somebody to tell
        for consumer in consumers:
            consumer.close()


def test_long_polls_and_waiting_members_are_answered(process: BrokerProcess) -> None:
    protocol = JoinGroupRequestProtocol(name="range", metadata=b"")
    join = JoinGroupRequest(
        group_id="g",
        session_timeout_ms=30_000,
        rebalance_timeout_ms=60_000,
        protocol_type="consumer",
        protocols=[protocol],
    )
    with RawClient(process.port) as reader, RawClient(process.port) as member:
        # The group's first member waits a minute for others.
        _find_coordinator(member)
        member.send(join, 3)
        reader.send(fetch_request("t", 0, max_wait_ms=60_000), 12)
        reader.send(fetch_request("t", 0, max_wait_ms=60_000), 12)
        _until_received(process)
        stop_soon(process)
        assert reader.receive().responses[0].partitions[0].error_code == ErrorCode.NONE
        with pytest.raises(Closed):
            reader.receive()  # the second had not been begun
        assert member.receive().error_code == ErrorCode.NOT_COORDINATOR


def _find_coordinator(client: RawClient) -> None:
    wait_until(lambda: client.call(FindCoordinatorRequest(key="g"), 3).error_code == ErrorCode.NONE)


def _until_received(process: BrokerProcess) -> None:
    """What was sent before on other connections is in the broker's hands once a later request is answered."""
    for _ in range(2):
        with RawClient(process.port) as other:
            other.call(ApiVersionsRequest(), 0)


def test_pipelined_requests_are_answered_or_not_begun(process: BrokerProcess) -> None:
    """What was acknowledged is there, once and in order, and nothing else came after it."""
    with RawClient(process.port) as client:
        answered = 0
        for number in range(3000):
            client.send(produce_request("t", batch(b"%d" % number)), 9)
        client.receive()
        answered += 1
        os.kill(process.pid, signal.SIGTERM)
        with pytest.raises((Closed, AssertionError, IndexError)):
            while True:
                assert client.receive().responses[0].partition_responses[0].base_offset == answered
                answered += 1
    assert process.stop() == 0
    assert is_clean(process)
    process.restart()
    values = [int(record.value()) for record in process.records("t", answered)]
    assert values == list(range(answered))
    with RawClient(process.port) as client:
        end = client.fetch("t", 0).high_watermark
        # The last answers may have been lost with the connection, their records not.
        assert answered <= end <= 3000


def test_many_signals_are_as_good_as_one(process: BrokerProcess) -> None:
    process.produce("t", [b"x"] * 100)
    while process.running:
        os.kill(process.pid, signal.SIGTERM)
    assert process.stop() == 0
    assert is_clean(process)


def test_a_signal_during_the_start() -> None:
    with broker_process() as process:
        process.create_topic("t", 50)
        process.kill()
        process.restart(wait=False)
        lock = process.data_dir / ".lock"
        wait_until(lambda: lock.read_text().startswith(f"pid {process.pid} "), interval_s=0.001)
        os.kill(process.pid, signal.SIGTERM)
        assert process.stop() == 0
        process.restart()
        process.produce("t", [b"x"])


def test_connections_are_refused_while_it_stops(process: BrokerProcess) -> None:
    stop_soon(process)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", process.port), timeout=1)


def test_a_client_that_does_not_read_holds_up_nobody(process: BrokerProcess) -> None:
    with RawClient(process.port) as writer:
        for _ in range(8):
            writer.produce("t", batch(b"x" * 900_000))
    with ExitStack() as stack:
        for _ in range(3):
            slow = stack.enter_context(RawClient(process.port))
            slow.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            for _ in range(10):
                slow.send(fetch_request("t", 0, partition_max_bytes=50_000_000), 12)
        with RawClient(process.port) as other:
            other.call(ApiVersionsRequest(), 0)
        stop_soon(process)
    assert is_clean(process)


def test_a_write_in_flight_is_finished_and_answered() -> None:
    disk = ThrottledFs(write_delay_s=0.3, matching=lambda path: path.endswith(".log") and "/t-" in path, active=False)
    with broker(fs=disk) as server:
        server.create_topic("t")
        with RawClient(server.port) as client, RawClient(server.port) as second:
            disk.active = True
            client.produce("t", batch(b"the writer learns that the disk is slow"))
            client.send(produce_request("t", batch(b"in flight")), 9)
            second.send(produce_request("t", batch(b"behind it")), 9)
            wait_until(lambda: server.call(lambda b: b.replicas.get("t", 0).pending) == 2)
            server.stop()
            assert client.receive().responses[0].partition_responses[0].error_code == ErrorCode.NONE
            assert second.receive().responses[0].partition_responses[0].error_code == ErrorCode.NONE
        disk.active = False
        server.start()
        assert len(server.records("t", 3)) == 3


def test_a_request_that_begins_to_wait_only_after_the_broker_began_to_stop() -> None:
    """Taken in the same turn of the loop, its task has its first step after the long polls were told to end."""
    with broker() as server, RawClient(server.port) as client:
        server.create_topic("t")
        client.call(ApiVersionsRequest(), 0)
        client.correlation_id += 1
        header = RequestHeader(FetchRequest.KEY, 12, client.correlation_id, "raw")
        frame = encode_request(fetch_request("t", 0, max_wait_ms=60_000), header)
        client.sent.append((FetchResponse, 12, client.correlation_id))

        async def arrive_and_drain(b: Any) -> float:
            (connection,) = (one for one in b.listeners[0].connections if one.requests == 1)
            connection.get_buffer(-1)[: len(frame)] = frame
            connection.buffer_updated(len(frame))
            begin = b.loop.time()
            await b._drain()
            return b.loop.time() - begin

        assert server.call(arrive_and_drain) < SOON_S
        assert client.receive().responses[0].partitions[0].error_code == ErrorCode.NONE


def test_what_a_clean_stop_leaves() -> None:
    with broker() as server:
        server.create_topic("t", 2)
        server.produce("t", [(b"k", b"v")] * 5)
        epoch = server.call(lambda b: b.image.brokers[1].epoch)
        ends = {
            ("t", index): server.call(lambda b, i=index: b.replicas.get("t", i).log.log_end_offset) for index in (0, 1)
        }
        server.stop()
        assert read_broker_epoch((server.data_dir / CLEAN_SHUTDOWN).read_bytes()) == epoch
        points = read_offsets(Fs(), str(server.data_dir / "recovery-point-offset-checkpoint"))
        assert points == ends
        server.start()
        assert server.call(lambda b: b.image.brokers[1].epoch) > epoch
        assert not (server.data_dir / CLEAN_SHUTDOWN).exists()
