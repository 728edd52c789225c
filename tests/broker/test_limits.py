"""Limits on connections, as set at the start and as changed while the broker runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from headrace.testing import LocalBroker, broker, wait_until
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.api_versions import ApiVersionsRequest
from headrace.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.broker.raw import Closed, RawClient

BROKER, SET, DELETE = 4, 0, 1


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as opened:
        yield opened


def admitted(stack: ExitStack, server: LocalBroker) -> RawClient | None:
    """A connection that the broker serves, or nothing."""
    client = stack.enter_context(RawClient(server.port))
    try:
        client.call(ApiVersionsRequest(), 0)
    except Closed:
        return None
    return client


def fill(stack: ExitStack, server: LocalBroker) -> list[RawClient]:
    """As many connections as the broker takes, up to ten."""
    clients = []
    while len(clients) < 10 and (client := admitted(stack, server)) is not None:
        clients.append(client)
    return clients


def alter(client: RawClient, name: str, value: str | None, *, broker_id: str = "") -> ErrorCode:
    change = AlterableConfig(name=name, config_operation=SET if value is not None else DELETE, value=value)
    resource = AlterConfigsResource(resource_type=BROKER, resource_name=broker_id, configs=[change])
    (response,) = client.call(IncrementalAlterConfigsRequest(resources=[resource]), 1).responses
    return ErrorCode(response.error_code)


def test_max_connections(stack: ExitStack) -> None:
    with broker(max_connections=4) as server:
        clients = fill(stack, server)
        assert len(clients) == 4
        clients.pop().socket.close()
        wait_until(lambda: server.call(lambda b: b.limits.total) == 3)
        assert admitted(stack, server) is not None
        assert server.call(lambda b: b.limits.refused) == 1
        stack.close()


@pytest.mark.parametrize("overrides", ["127.0.0.1:5,10.0.0.1:1", "localhost:5,[::1]:7"])
def test_an_address_may_have_a_limit_of_its_own(stack: ExitStack, overrides: str) -> None:
    settings = {"max.connections.per.ip": 2, "max.connections.per.ip.overrides": overrides}
    with broker(settings) as server:
        assert len(fill(stack, server)) == 5
        stack.close()


@pytest.mark.parametrize("broker_id", ["", "1"])
def test_limits_change_while_the_broker_runs_and_stay_after_a_restart(stack: ExitStack, broker_id: str) -> None:
    with broker() as server:
        clients = fill(stack, server)
        assert len(clients) == 10
        assert alter(clients[0], "max.connections", "3", broker_id=broker_id) == ErrorCode.NONE
        wait_until(lambda: admitted(stack, server) is None)
        # Those that are there stay.
        for client in clients:
            assert client.call(ApiVersionsRequest(), 0).error_code == 0
        stack.close()
        server.restart()
        assert len(fill(stack, server)) == 3
        stack.close()
        wait_until(lambda: server.call(lambda b: b.limits.total) == 0)
        with RawClient(server.port) as client:
            assert alter(client, "max.connections", None, broker_id=broker_id) == ErrorCode.NONE
            assert alter(client, "max.connections.per.ip", "1") == ErrorCode.NONE
            assert admitted(stack, server) is None
            assert alter(client, "max.connections.per.ip.overrides", "127.0.0.1:4") == ErrorCode.NONE
            wait_until(lambda: server.call(lambda b: b.limits.overrides) == {"127.0.0.1": 4})
            assert len(fill(stack, server)) == 3
        stack.close()


def test_what_cannot_be_is_refused(stack: ExitStack) -> None:
    with broker() as server, RawClient(server.port) as client:
        assert alter(client, "max.connections", "many") == ErrorCode.INVALID_REQUEST
        assert alter(client, "max.connections", "-1") == ErrorCode.INVALID_REQUEST
        assert alter(client, "max.connections.per.ip.overrides", "127.0.0.1") == ErrorCode.INVALID_REQUEST
        assert alter(client, "connections.max.idle.ms", "1") == ErrorCode.INVALID_REQUEST  # only at the start
        assert server.call(lambda b: b.limits.overrides) == {}


def test_quiet_connections_are_closed_and_busy_ones_are_not() -> None:
    with (
        broker(connections_max_idle_ms=1500) as server,
        RawClient(server.port) as quiet,
        RawClient(server.port) as busy,
    ):
        quiet.call(ApiVersionsRequest(), 0)

        def only_one_left() -> bool:
            busy.call(ApiVersionsRequest(), 0)
            return server.call(lambda b: b.limits.total) == 1

        wait_until(only_one_left, timeout_s=10, interval_s=0.1)
        assert quiet.closed()
        assert busy.call(ApiVersionsRequest(), 0).error_code == 0


def test_a_negative_idle_time_closes_nothing() -> None:
    with broker(connections_max_idle_ms=-1) as server, RawClient(server.port) as client:
        client.call(ApiVersionsRequest(), 0)
        server.call(lambda b: b._close_idle_connections())
        assert client.call(ApiVersionsRequest(), 0).error_code == 0
