"""A broker and a registry in this process, for all tests of a module; subjects are each test's own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from headrace.registry.server import RegistryServer
from headrace.registry.settings import RegistrySettings
from headrace.testing import LocalBroker, broker, wait_until
from tests.registry.rest import Rest


@contextmanager
def registry_on(bootstrap_servers: str, **values: Any) -> Iterator[RegistryServer]:
    """A registry that leads; keywords are settings with underscores for dots."""
    server = RegistryServer(
        RegistrySettings(bootstrap_servers, port=0, values={name.replace("_", "."): v for name, v in values.items()})
    )
    try:
        server.start()
        wait_until(lambda: server.registry.leading or server.registry.leader_url is not None)
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="module")
def kafka() -> Iterator[LocalBroker]:
    with broker() as running:
        yield running


@pytest.fixture(scope="module")
def server(kafka: LocalBroker) -> Iterator[RegistryServer]:
    with registry_on(kafka.bootstrap_servers) as running:
        yield running


@pytest.fixture(scope="module")
def rest(server: RegistryServer) -> Rest:
    return Rest(server.url)


@pytest.fixture
def subject(request: pytest.FixtureRequest) -> str:
    """A subject of the test's own."""
    return request.node.name.partition("[")[0].removeprefix("test_")
