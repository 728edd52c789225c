"""A broker, a console and a browser for the tests of pages. HEADRACE_CONSOLE_BROKER=apache-kafka puts Apache Kafka in Headrace's place; conformance does so."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Protocol

import pytest

from headrace.testing import broker_process
from headrace.testing.clients import Clients
from headrace.testing.console import RunningConsole, console_process
from tests.console.browser import chromium

WAIT_MS = 40_000
NOWHERE = ("--engine", "http://127.0.0.1:1", "--registry", "http://127.0.0.1:1")


ON_APACHE_KAFKA = os.environ.get("HEADRACE_CONSOLE_BROKER") == "apache-kafka"


class Mortal(Protocol):
    """A broker that can be killed, and started again on its data and port."""

    bootstrap_servers: str

    def kill(self) -> None: ...

    def start(self) -> Any: ...

    def create_topic(self, name: str, partitions: int = 1) -> str: ...


@contextmanager
def running_broker() -> Iterator[Any]:
    if ON_APACHE_KAFKA:
        from conformance.apache_kafka import ApacheKafka

        class Kafka(ApacheKafka, Clients):
            """Apache Kafka, with what tests do with a broker."""

        with Kafka() as running:
            yield running
        return
    with broker_process() as running:
        yield running


@pytest.fixture(scope="package")
def kafka() -> Iterator[Clients]:
    """The broker behind the console."""
    with running_broker() as running:
        yield running


@pytest.fixture
def mortal() -> Iterator[Mortal]:
    with running_broker() as running:
        yield running


@pytest.fixture(scope="package")
def console(kafka: Clients) -> Iterator[RunningConsole]:
    with console_process(kafka.bootstrap_servers, *NOWHERE) as running:
        yield running


@pytest.fixture(scope="package")
def browser() -> Iterator[Any]:
    """Ends with this folder's tests: while it runs, Playwright's event loop does too, in the thread of the tests, and `asyncio.run` is refused there."""
    with chromium() as running:
        yield running


Open = Callable[..., Any]


@pytest.fixture
def open_page(browser: Any, console: RunningConsole) -> Iterator[Open]:
    """`open_page("/topics")`: a page in a context of its own. What the browser complains about fails the test."""
    with ExitStack() as stack:
        complaints: list[str] = []

        def opened(path: str, *, at: str = "", **options: Any) -> Any:
            context = browser.new_context(**{"viewport": {"width": 1280, "height": 860}, **options})
            stack.callback(context.close)
            page = context.new_page()
            page.set_default_timeout(WAIT_MS)
            page.on("pageerror", lambda error: complaints.append(str(error)))
            page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
            page.goto((at or console.url) + path)
            page.wait_for_selector("h1")
            # Until the socket is there, a click would go nowhere.
            page.wait_for_function("() => window.socket && window.socket.connected")
            return page

        yield opened
        assert complaints == []


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A browser on a machine with other things to do takes its time; waits within the tests end long before this."""
    for item in items:
        if item.path.parent.name == "console" and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(300))
