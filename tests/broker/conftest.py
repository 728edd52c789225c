"""What most tests of this folder need: a broker for the module, a topic for the test, a bare connection. Modules override them."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from headrace.testing import LocalBroker, broker
from tests.broker.raw import RawClient


@pytest.fixture(scope="module")
def server() -> Iterator[LocalBroker]:
    with broker() as running:
        yield running


@pytest.fixture
def topic(server: LocalBroker, request: pytest.FixtureRequest) -> str:
    """A topic of two partitions, named after the test."""
    return server.create_topic(re.sub(r"[^a-z0-9_]+", "-", request.node.name), 2)


@pytest.fixture
def client(server: LocalBroker) -> Iterator[RawClient]:
    with RawClient(server.port) as raw:
        yield raw
