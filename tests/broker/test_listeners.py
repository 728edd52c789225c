"""Several listeners, each telling its clients its own address; IPv4, IPv6, names, port 0, sockets as the settings say."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from headrace import client as kafka
from headrace.broker.startup import StartError
from headrace.testing import LocalBroker, broker
from headrace.wire.messages.api_versions import ApiVersionsRequest
from headrace.wire.messages.describe_cluster import DescribeClusterRequest
from headrace.wire.messages.describe_topic_partitions import DescribeTopicPartitionsRequest, TopicRequest
from headrace.wire.messages.find_coordinator import FindCoordinatorRequest
from headrace.wire.messages.metadata import MetadataRequest
from tests.broker.raw import RawClient


def ipv6_works() -> bool:
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False


needs_ipv6 = pytest.mark.skipif(not ipv6_works(), reason="no IPv6 on this machine")


@pytest.fixture(scope="module")
def server() -> Iterator[LocalBroker]:
    settings = {
        "listeners": "INSIDE://127.0.0.1:0,OUTSIDE://localhost:0,EVERYWHERE://:0,CONTROLLER://:9093",
        "advertised.listeners": "OUTSIDE://broker.example.com:19092,EVERYWHERE://[2001:db8::1]:29092",
        "listener.security.protocol.map": "INSIDE:PLAINTEXT,OUTSIDE:PLAINTEXT,EVERYWHERE:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "INSIDE",
    }
    with broker(settings) as running:
        running.create_topic("t")
        yield running


def ports(server: LocalBroker) -> dict[str, int]:
    return server.call(lambda b: {listener.name: listener.port for listener in b.listeners})


@pytest.mark.parametrize(
    ("name", "host", "port"),
    [
        ("INSIDE", "127.0.0.1", None),
        ("OUTSIDE", "broker.example.com", 19092),
        ("EVERYWHERE", "2001:db8::1", 29092),
    ],
)
def test_clients_are_told_the_address_of_their_own_listener(
    server: LocalBroker, name: str, host: str, port: int | None
) -> None:
    bound = ports(server)[name]
    expected = (host, port or bound)
    with RawClient(bound) as client:
        for version in (1, 12):
            answer = client.call(MetadataRequest(topics=None), version)
            assert [(one.host, one.port) for one in answer.brokers] == [expected]
        found = client.call(FindCoordinatorRequest(key="g"), 3)
        assert (found.host, found.port) == expected
        (coordinator,) = client.call(FindCoordinatorRequest(coordinator_keys=["g"]), 4).coordinators
        assert (coordinator.host, coordinator.port) == expected
        answer = client.call(DescribeClusterRequest(), 0)
        assert [(one.host, one.port) for one in answer.brokers] == [expected]
        asked = DescribeTopicPartitionsRequest(topics=[TopicRequest(name="t")])
        assert client.call(asked, 0).topics[0].error_code == 0


def test_ports_are_free_ones_and_differ(server: LocalBroker) -> None:
    found = ports(server)
    assert set(found) == {"INSIDE", "OUTSIDE", "EVERYWHERE"}
    assert len(set(found.values())) == 3
    assert 0 not in found.values()


def test_the_registration_names_every_listener(server: LocalBroker) -> None:
    end_points = server.call(lambda b: b.image.brokers[1].end_points)
    assert {(one.name, one.host, one.port) for one in end_points} == {
        ("INSIDE", "127.0.0.1", ports(server)["INSIDE"]),
        ("OUTSIDE", "broker.example.com", 19092),
        ("EVERYWHERE", "2001:db8::1", 29092),
    }


@needs_ipv6
@pytest.mark.parametrize("name", ["OUTSIDE", "EVERYWHERE"])
def test_a_name_and_an_empty_host_are_bound_in_both_families_on_one_port(server: LocalBroker, name: str) -> None:
    port = ports(server)[name]
    if name == "OUTSIDE" and not any(one[0] == socket.AF_INET6 for one in socket.getaddrinfo("localhost", None)):
        pytest.skip("localhost has no IPv6 address here")
    for host in ("127.0.0.1", "::1"):
        with socket.create_connection((host, port), timeout=5):
            pass


@needs_ipv6
def test_a_client_over_ipv6() -> None:
    with broker(listeners="PLAINTEXT://[::1]:0") as server:
        admin = kafka.admin(f"[::1]:{server.port}")
        (node,) = admin.list_topics(timeout=10).brokers.values()
        assert (node.host, node.port) == ("::1", server.port)
        producer = kafka.producer(f"[::1]:{server.port}", {})
        producer.produce("t", b"over IPv6")
        assert producer.flush(10) == 0
        with pytest.raises(OSError, match="refused"):
            socket.create_connection(("127.0.0.1", server.port), timeout=5)


@pytest.mark.parametrize("host", ["", "0.0.0.0"])
def test_every_address_without_an_advertised_one_is_this_machine(host: str) -> None:
    with broker(listeners=f"PLAINTEXT://{host}:0") as server:
        assert server.call(lambda b: b.advertised("PLAINTEXT")) == ("localhost", server.port)


def test_a_name_is_advertised_as_it_is_written() -> None:
    with broker(listeners="PLAINTEXT://localhost:0") as server, RawClient(server.port) as client:
        (node,) = client.call(MetadataRequest(topics=[]), 12).brokers
        assert (node.host, node.port) == ("localhost", server.port)
        producer = kafka.producer(f"localhost:{server.port}", {})
        producer.produce("t", b"by name")
        assert producer.flush(10) == 0


def test_socket_buffers_are_what_the_settings_say() -> None:
    settings = {"socket.send.buffer.bytes": 65536, "socket.receive.buffer.bytes": 32768}
    with broker(settings) as server, RawClient(server.port) as client:
        client.call(ApiVersionsRequest(), 0)
        sizes = server.call(_buffer_sizes)
    # Linux keeps twice what it is asked for, for its own bookkeeping.
    assert sizes == [(2 * 65536, 2 * 32768)]


def _buffer_sizes(b: object) -> list[tuple[int, int]]:
    found = []
    for connection in b.listeners[0].connections:
        one = connection._transport.get_extra_info("socket")
        options = socket.SO_SNDBUF, socket.SO_RCVBUF
        found.append(tuple(one.getsockopt(socket.SOL_SOCKET, option) for option in options))
    return found


def test_one_taken_address_of_several_stops_the_start() -> None:
    names = {"listener.security.protocol.map": "A:PLAINTEXT,B:PLAINTEXT"}
    with broker() as first:
        both = f"A://127.0.0.1:0,B://127.0.0.1:{first.port}"
        with pytest.raises(StartError, match="cannot listen on B://"), broker(names, listeners=both):
            pass
