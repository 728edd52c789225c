"""Where services are put together and run in the foreground: settings in, a running process out, a clean stop on a signal.

`headrace broker` and `headrace up` end here. Owns the event loop and the signal handlers of the process; prints nothing itself.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace import memory

if TYPE_CHECKING:
    from headrace.broker.server import Broker

DEFAULT_PORT = 9092
DEFAULT_DATA_DIR = "headrace-data"


@dataclass(frozen=True, slots=True)
class Started:
    """What a launcher may tell its user about a broker that answers."""

    port: int
    bootstrap_servers: str
    data_dirs: tuple[str, ...]
    node_id: int
    cluster_id: str
    http_address: str | None
    pid: int
    start_ms: int


def read_properties(path: str) -> dict[str, str]:
    """The settings in a file with the form of Kafka's `server.properties`."""
    from headrace.settings.properties import parse_properties

    with open(path, encoding="utf-8") as file:
        return parse_properties(file.read())


def run_broker(
    properties: Mapping[str, str],
    announce: Callable[[Started], None],
    *,
    stop_with_stdin: bool = False,
    before_stop: Callable[[], None] = lambda: None,
) -> bool:
    """Run a broker until SIGTERM or SIGINT; true after a clean shutdown, false when it had to give up by itself.

    A second SIGINT ends the process at once. What stops a start is raised. `before_stop` is called in a thread while the broker still
    answers, for services that need it to end well.
    """
    import uvloop

    memory.keep_large_buffers()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_serve(properties, announce, stop_with_stdin, before_stop))


async def _serve(
    properties: Mapping[str, str],
    announce: Callable[[Started], None],
    stop_with_stdin: bool,
    before_stop: Callable[[], None],
) -> bool:
    from headrace.broker.server import Broker
    from headrace.settings.broker import BrokerSettings

    begin = time.monotonic()
    stopping = asyncio.Event()
    _stop_on_signals(stopping)
    if stop_with_stdin:
        _stop_on_end_of_input(stopping)
    broker = Broker(BrokerSettings.parse(dict(properties)))
    if not await _start_unless(stopping, broker):
        return True
    try:
        announce(_started(broker, round((time.monotonic() - begin) * 1000)))
        await _first(stopping.wait(), broker.failed.wait())
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        await asyncio.to_thread(before_stop)
        clean = await broker.stop()
    return clean


async def _start_unless(stopping: asyncio.Event, broker: Broker) -> bool:
    """Start the broker; false when a signal came before it was up, with the start undone."""
    start = asyncio.ensure_future(broker.start())
    await _first(start, stopping.wait())
    if not start.done():
        start.cancel()
    try:
        await start
    except asyncio.CancelledError:
        return False
    return True


async def _first(*waits: Awaitable[object]) -> None:
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task, wait in zip(tasks, waits):
        if task is not wait:
            task.cancel()


def _stop_on_signals(stopping: asyncio.Event) -> None:
    loop = asyncio.get_running_loop()

    def on_terminate(*_: object) -> None:
        # Supervisors repeat it without meaning anything by it. The loop's own handler would not do: when the loop closes,
        # that gives the signal back its deadly default before the process has ended.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        loop.call_soon_threadsafe(stopping.set)

    def on_interrupt() -> None:
        stopping.set()
        # Whoever presses Ctrl-C again does not want to wait.
        loop.remove_signal_handler(signal.SIGINT)
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    signal.signal(signal.SIGTERM, on_terminate)
    loop.add_signal_handler(signal.SIGINT, on_interrupt)


def _stop_on_end_of_input(stopping: asyncio.Event) -> None:
    """For brokers that are children: a parent that dies, even of kill -9, closes the pipe."""
    loop = asyncio.get_running_loop()

    def on_input() -> None:
        if not os.read(0, 4096):
            loop.remove_reader(0)
            stopping.set()

    loop.add_reader(0, on_input)


def _started(broker: Broker, start_ms: int) -> Started:
    host, port = broker.advertised(broker.listeners[0].name)
    http_host = broker.settings["headrace.http.host"]
    return Started(
        port=broker.port,
        bootstrap_servers=f"[{host}]:{port}" if ":" in host else f"{host}:{port}",
        data_dirs=tuple(broker.settings.log_dirs),
        node_id=broker.node_id,
        cluster_id=broker.cluster_id,
        http_address=f"{http_host}:{broker.http.port}" if broker.http.port >= 0 else None,
        pid=os.getpid(),
        start_ms=start_ms,
    )
