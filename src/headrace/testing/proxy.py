"""A network between clients and any Kafka that can be made to misbehave: slow, silent, cut, losing answers, or delivering late.

    with Proxy("127.0.0.1:9092") as network:
        my_service(bootstrap_servers=network.bootstrap_servers)
        network.faults = Faults(delay_s=0.2, lose_answers=0.01)
        network.cut()
        network.heal()

It speaks enough of the protocol to forward whole requests, and to put itself in the place of every broker whose address appears in
an answer (Metadata, FindCoordinator, DescribeCluster), so clients never find a way around it. Owns one thread with an event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import socket
import threading
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Self

from headrace.testing.proxied_answers import with_addresses
from headrace.wire.errors import WireError
from headrace.wire.frame import RequestHeader, parse_request_header

Address = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Faults:
    """What is wrong with the network now. Shares are chances per request between 0 and 1."""

    delay_s: float = 0.0
    """Every request and every answer waits up to this long, in order within its connection."""
    silent: bool = False
    """Nothing passes, and nobody is told."""
    lose_answers: float = 0.0
    """The broker gets the request; its connection is cut before the answer passes."""
    deliver_late: float = 0.0
    """The connection is cut, and the broker gets the request only `late_s` afterwards, when the client has tried again."""
    late_s: float = 0.5
    late_keys: frozenset[int] = frozenset()
    """The API keys that `deliver_late` applies to; empty means all."""


@dataclass(frozen=True, slots=True)
class Abandoned:
    """A request whose sender was gone when the broker had done with it. Times are nanoseconds since the epoch."""

    header: RequestHeader
    body: bytes
    received: int
    delivered: int
    answered: int


class Proxy:
    """One local port per broker of the cluster. `faults` may be set from any thread, `cut` and `heal` called from any."""

    def __init__(
        self, bootstrap_servers: str, *, seed: int = 0, on_abandoned: Callable[[Abandoned], None] | None = None
    ) -> None:
        self.faults = Faults()
        self.random = random.Random(seed)  # noqa: S311 (repeatable, not secret)
        self.on_abandoned = on_abandoned
        self._upstream = bootstrap_servers
        self._ports: dict[Address, int] = {}
        self._links: set[Link] = set()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="headrace-proxy", daemon=True)
        self.bootstrap_servers = ""

    def __enter__(self) -> Self:
        self._thread.start()
        addresses = [server.strip().rpartition(":") for server in self._upstream.split(",")]
        self.bootstrap_servers = self._call(self._listen([(host, int(port)) for host, _, port in addresses]))
        return self

    def __exit__(self, *_: object) -> None:
        self._call(self._shut())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def cut(self, share: float = 1.0) -> None:
        """Close this share of the connections now."""
        self._call(self._cut(share))

    def heal(self) -> None:
        """A good network again. What `deliver_late` holds is still delivered."""
        self.faults = Faults()

    def _call(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(30)

    async def _listen(self, addresses: list[Address]) -> str:
        return ",".join(f"127.0.0.1:{self.local_port(address)}" for address in addresses)

    def local_port(self, address: Address) -> int:
        """The port that stands for a broker; opened when the broker is first heard of."""
        if address not in self._ports:
            listening = socket.create_server(("127.0.0.1", 0))
            self._ports[address] = listening.getsockname()[1]
            self.spawn(self._serve(listening, address))
        return self._ports[address]

    def spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, listening: socket.socket, address: Address) -> None:
        def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self.spawn(self._link(reader, writer, address))

        async with await asyncio.start_server(accept, sock=listening) as server:
            await server.serve_forever()

    async def _link(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, address: Address) -> None:
        link = Link(self, reader, writer)
        self._links.add(link)
        try:
            await link.run(address)
        finally:
            self._links.discard(link)

    async def _cut(self, share: float) -> None:
        for link in list(self._links):
            if self.random.random() < share:
                link.cut()

    async def _shut(self) -> None:
        await self._cut(1.0)
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@dataclass(slots=True)
class _Waiting:
    """A request that the broker has or will get, until its answer."""

    header: RequestHeader
    body: bytes
    received: int
    delivered: int = 0
    lost: bool = False


class Link:
    """One connection of a client and the one to the broker that belongs to it."""

    def __init__(self, proxy: Proxy, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.proxy = proxy
        self.reader, self.writer = reader, writer
        self.upstream: asyncio.StreamWriter | None = None
        self.waiting: dict[int, _Waiting] = {}
        self.gone = False

    def cut(self) -> None:
        """The client loses its connection; what the broker has got stays with the broker."""
        self.gone = True
        self.writer.transport.abort()

    async def run(self, address: Address) -> None:
        try:
            reader, self.upstream = await asyncio.open_connection(*address)
        except OSError:
            return self.cut()
        back = asyncio.ensure_future(self._backward(reader))
        try:
            await self._forward()
            # The client is gone or was cut. The broker finishes what it has, so that its end can be told.
            self.gone = True
            if self.waiting:
                await asyncio.wait([back], timeout=10)
        finally:
            back.cancel()
            for waiting in self.waiting.values():
                self._abandon(waiting)
            self.cut()
            self.upstream.transport.abort()

    async def _forward(self) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, OSError):
            while not self.gone:
                frame = await _read_frame(self.reader)
                faults = self.proxy.faults
                waiting = self._note(frame)
                if faults.deliver_late and self._chance(faults.deliver_late) and self._may_be_late(faults, waiting):
                    self.cut()
                    await asyncio.sleep(faults.late_s * (0.5 + self.proxy.random.random()))
                await self._obstruct()
                if waiting is not None:
                    waiting.lost = self._chance(faults.lose_answers)
                    waiting.delivered = time.time_ns()
                assert self.upstream is not None
                self.upstream.write(frame)
                await self.upstream.drain()

    async def _backward(self, reader: asyncio.StreamReader) -> None:
        try:
            while True:
                frame = await _read_frame(reader)
                await self._obstruct()
                waiting = self.waiting.pop(int.from_bytes(frame[4:8], "big", signed=True), None)
                if waiting is not None and (waiting.lost or self.gone):
                    self.cut()
                    self._abandon(waiting)
                if self.gone:
                    if not self.waiting:
                        return
                    continue
                if waiting is not None:
                    frame = with_addresses(frame, waiting.header, self._stand_in)
                self.writer.write(frame)
                await self.writer.drain()
        except (asyncio.IncompleteReadError, OSError):
            self.cut()

    def _stand_in(self, host: str, port: int) -> Address:
        return "127.0.0.1", self.proxy.local_port((host, port))

    def _note(self, frame: bytes) -> _Waiting | None:
        try:
            header, position = parse_request_header(frame, 4)
        except WireError:
            return None
        waiting = _Waiting(header, frame[position:], time.time_ns())
        # Produce with acks=0 has no answer; it is forgotten with the connection.
        self.waiting[header.correlation_id] = waiting
        return waiting

    def _chance(self, share: float) -> bool:
        return share > 0 and self.proxy.random.random() < share

    def _may_be_late(self, faults: Faults, waiting: _Waiting | None) -> bool:
        return not faults.late_keys or (waiting is not None and waiting.header.api_key in faults.late_keys)

    async def _obstruct(self) -> None:
        while self.proxy.faults.silent:  # noqa: ASYNC110 (set by other threads)
            await asyncio.sleep(0.02)
        if self.proxy.faults.delay_s:
            await asyncio.sleep(self.proxy.faults.delay_s * self.proxy.random.random())

    def _abandon(self, waiting: _Waiting) -> None:
        if waiting.delivered and self.proxy.on_abandoned is not None:
            now = time.time_ns()
            self.proxy.on_abandoned(Abandoned(waiting.header, waiting.body, waiting.received, waiting.delivered, now))


async def _read_frame(reader: asyncio.StreamReader) -> bytes:
    """A frame with its length."""
    size = await reader.readexactly(4)
    return size + await reader.readexactly(int.from_bytes(size, "big"))
