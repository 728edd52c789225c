"""Where services are put together and run in the foreground: settings in, a running process out, a clean stop on a signal.

`headrace broker` and `headrace up` end here. Owns the event loop and the signal handlers of the process; prints nothing itself.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

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
    """Kafka's `server.properties`: `key=value` lines, `#` comments, a backslash continues a line."""
    properties: dict[str, str] = {}
    with open(path, encoding="utf-8") as file:
        text = file.read().replace("\\\n", "")
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if not line or line[0] in "#!":
            continue
        name, separator, value = line.partition("=")
        if not separator:
            raise ValueError(f"{path}, line {number}: expected key=value, found {line!r}")
        properties[name.strip()] = value.strip()
    return properties


def run_broker(properties: Mapping[str, str], announce: Callable[[Started], None]) -> None:
    """Run a broker until SIGTERM or SIGINT; returns after a clean shutdown. A second signal ends it at once."""
    import uvloop

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(properties, announce))


async def _serve(properties: Mapping[str, str], announce: Callable[[Started], None]) -> None:
    from headrace.broker.server import Broker
    from headrace.settings.broker import BrokerSettings

    begin = time.monotonic()
    stopping = asyncio.Event()
    broker = Broker(BrokerSettings.parse(dict(properties)))
    await broker.start()
    try:
        _stop_on_signals(stopping)
        announce(_started(broker, round((time.monotonic() - begin) * 1000)))
        await stopping.wait()
    finally:
        await broker.stop()


def _stop_on_signals(stopping: asyncio.Event) -> None:
    loop = asyncio.get_running_loop()

    def on_signal(number: int) -> None:
        stopping.set()
        # Whoever sends a second one does not want to wait for the first.
        loop.remove_signal_handler(number)
        signal.signal(number, signal.SIG_DFL)

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, on_signal, number)


def _started(broker: object, start_ms: int) -> Started:
    settings = broker.settings  # type: ignore[attr-defined]
    port = broker.port  # type: ignore[attr-defined]
    return Started(
        port=port,
        bootstrap_servers=f"127.0.0.1:{port}",
        data_dirs=tuple(settings["log.dirs"]),
        node_id=broker.node_id,  # type: ignore[attr-defined]
        cluster_id=broker.image.cluster_id,  # type: ignore[attr-defined]
        http_address=getattr(broker, "http_address", None),
        pid=os.getpid(),
        start_ms=start_ms,
    )
