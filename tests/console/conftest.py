"""A broker, a console and a browser for the tests of pages. HEADRACE_CONSOLE_BROKER=host:port puts another broker in Headrace's place: conformance does so with Apache Kafka."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from headrace.testing.clients import Clients
from headrace.testing.console import RunningConsole, console_process
from tests.console.browser import chromium

WAIT_MS = 20_000
NOWHERE = ("--engine", "http://127.0.0.1:1", "--registry", "http://127.0.0.1:1")


class Elsewhere(Clients):
    """A broker that somebody else started."""

    def __init__(self, bootstrap_servers: str) -> None:
        self.bootstrap_servers = bootstrap_servers


@pytest.fixture(scope="session")
def kafka() -> Iterator[Clients]:
    """The broker behind the console."""
    given = os.environ.get("HEADRACE_CONSOLE_BROKER")
    if given:
        yield Elsewhere(given)
        return
    from headrace.testing import broker

    with broker() as running:
        yield running


@pytest.fixture(scope="session")
def console(kafka: Clients) -> Iterator[RunningConsole]:
    with console_process(kafka.bootstrap_servers, *NOWHERE) as running:
        yield running


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
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
