"""A broker in a thread of the test process, with its own event loop, a free port and a temporary directory.

It is the same `Broker` that `headrace broker` runs, sockets and files included. The owner of the thread is this module alone;
tests reach the broker over its port, or through `call` for what no client can ask.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import tempfile
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from headrace.clock import Clock, ManualClock
from headrace.fs import Fs
from headrace.testing.clients import TEST_SETTINGS, Clients, dotted

if TYPE_CHECKING:
    from headrace.broker.server import Broker

START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 60.0
Outcome = TypeVar("Outcome")


class LocalBroker(Clients):
    """A broker in this process. `start`, `stop` and `restart` may be called in any order; `stop` twice does no harm."""

    def __init__(
        self, settings: Mapping[str, Any], data_dir: Path, *, clock: Clock | None = None, fs: Fs | None = None
    ) -> None:
        self.settings = dict(settings)
        self.data_dir = data_dir
        self.clock = clock or Clock()
        self.fs = fs
        self.port = 0
        self.broker: Broker | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None
        self._thread: threading.Thread | None = None

    @property
    def bootstrap_servers(self) -> str:  # type: ignore[override]
        return f"127.0.0.1:{self.port}"

    @property
    def running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def _timestamp_ms(self) -> int:
        # A broker refuses records from its future, and a clock that is set may be years behind the client's.
        return self.clock.now_ms() if isinstance(self.clock, ManualClock) else 0

    def start(self) -> LocalBroker:
        """Start and return once the broker answers; what stops a start is raised here."""
        assert not self.running, "the broker runs already"
        started: Future[int] = Future()
        self._thread = threading.Thread(target=self._run, args=(started,), name="headrace-broker", daemon=True)
        self._thread.start()
        self.port = started.result(START_TIMEOUT_S)
        return self

    def stop(self) -> None:
        """Shut down cleanly, as SIGTERM does. The data stays until the context manager ends."""
        if not self.running:
            return
        assert self._loop is not None and self._stopping is not None and self._thread is not None
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(STOP_TIMEOUT_S)
        assert not self._thread.is_alive(), f"the broker did not stop within {STOP_TIMEOUT_S:g} s"

    def restart(self, **settings: Any) -> LocalBroker:
        """Stop and start on the same data and port, with `settings` changed."""
        self.stop()
        self.settings |= dotted(settings)
        return self.start()

    def call(self, function: Callable[[Broker], Awaitable[Outcome] | Outcome], timeout_s: float = 30.0) -> Outcome:
        """Run `function(broker)` on the broker's own loop and return its outcome: for what no client can ask."""
        assert self._loop is not None and self.broker is not None, "the broker is not running"
        server = self.broker

        async def run() -> Outcome:
            outcome = function(server)
            return await outcome if isinstance(outcome, Awaitable) else outcome

        return asyncio.run_coroutine_threadsafe(run(), self._loop).result(timeout_s)

    def _run(self, started: Future[int]) -> None:
        import uvloop

        try:
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.run(self._serve(started))
        except BaseException as error:
            if started.done():
                raise
            started.set_exception(error)

    async def _serve(self, started: Future[int]) -> None:
        from headrace.broker.server import Broker
        from headrace.settings.broker import BrokerSettings

        server = Broker(BrokerSettings.parse(self._properties()), clock=self.clock, fs=self.fs)
        self._loop, self._stopping = asyncio.get_running_loop(), asyncio.Event()
        await server.start()
        self.broker = server
        started.set_result(server.port)
        try:
            await self._stopping.wait()
        finally:
            self.broker = None
            await server.stop()

    def _properties(self) -> dict[str, str]:
        defaults = {"listeners": f"PLAINTEXT://127.0.0.1:{self.port}", "log.dirs": str(self.data_dir)}
        return {**defaults, **{name: str(value) for name, value in self.settings.items()}}


@contextlib.contextmanager
def broker(
    settings: Mapping[str, Any] | None = None,
    /,
    *,
    data_dir: Path | str | None = None,
    clock: Clock | None = None,
    fs: Fs | None = None,
    **more_settings: Any,
) -> Iterator[LocalBroker]:
    """A running broker for the length of a `with` block, gone with its data afterwards.

    Settings are Kafka's server settings, as a mapping (`{"num.partitions": 3}`) or as keywords (`num_partitions=3`). With
    `data_dir` the data is kept. New groups form at once (`TEST_SETTINGS`), unless told otherwise. `clock` may be a `ManualClock`,
    `fs` one of `headrace.testing.faults`.
    """
    scratch = Path(tempfile.mkdtemp(prefix="headrace-test-"))
    local = LocalBroker(
        {**TEST_SETTINGS, **(settings or {}), **dotted(more_settings)},
        Path(data_dir) if data_dir else scratch / "data",
        clock=clock,
        fs=fs,
    )
    try:
        yield local.start()
    finally:
        local.stop()
        shutil.rmtree(scratch, ignore_errors=True)
