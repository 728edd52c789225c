"""Listening sockets: addresses to bind, addresses to advertise, and who may come in."""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from headrace.broker.connection import Connection
from headrace.broker.descriptors import Descriptors
from headrace.settings.definition import INT_MAX
from headrace.settings.listeners import Listener as Endpoint

if TYPE_CHECKING:
    from headrace.broker.dispatch import Dispatcher

log = logging.getLogger("headrace.broker.listeners")

EVERY_ADDRESS = ("", "0.0.0.0", "::")  # noqa: S104 - names for it, nothing is bound here
ATTEMPTS_FOR_ONE_PORT = 20


class SocketOptions(NamedTuple):
    """What the settings say about sockets; -1 leaves a buffer to the operating system, which sizes it as needed."""

    backlog: int
    send_buffer: int
    receive_buffer: int


class ConnectionLimits:
    """Counts connections over all listeners and refuses the ones too many."""

    def __init__(self) -> None:
        self.max_connections = INT_MAX
        self.max_per_address = INT_MAX
        self.overrides: dict[str, int] = {}
        self.per_address: Counter[str] = Counter()
        self.total = 0
        self.refused = 0
        self.descriptors: Descriptors | None = None

    async def use_overrides(self, overrides: Mapping[str, int]) -> None:
        """Take other limits for some hosts, with names turned into addresses."""
        found: dict[str, int] = {}
        for host, limit in overrides.items():
            try:
                addresses = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
            except OSError as error:
                log.warning("max.connections.per.ip.overrides: %s is not found: %s", host, error)
                continue
            found |= {str(address[0]): limit for *_, address in addresses}
        self.overrides = found

    def refusal(self, address: str) -> str | None:
        """Why a new connection from this address may not come in."""
        if self.total >= self.max_connections:
            return f"max.connections={self.max_connections} is reached"
        limit = self.overrides.get(address, self.max_per_address)
        if self.per_address[address] >= limit:
            return f"{address} holds {limit} connections, the most that max.connections.per.ip allows"
        return self.descriptors.refusal() if self.descriptors is not None else None


class Listener:
    """One bound address and its connections."""

    def __init__(
        self,
        endpoint: Endpoint,
        advertised: Endpoint | None,
        limits: ConnectionLimits,
        options: SocketOptions,
    ) -> None:
        self.endpoint = endpoint
        self.name = endpoint.name
        self.limits = limits
        self.connections: set[Connection] = set()
        self.port = endpoint.port
        self._advertised = advertised
        self._options = options
        self._servers: list[asyncio.Server] = []
        self._accepting = False

    @property
    def advertised(self) -> Endpoint:
        """Where clients are told to connect; the bound port stands in for port 0, this machine for every address."""
        advertised = self._advertised or self.endpoint
        host = "localhost" if advertised.host in EVERY_ADDRESS else advertised.host
        return advertised._replace(host=host, port=advertised.port or self.port)

    async def start(self, dispatcher: Dispatcher) -> None:
        """Bind and listen on every address that the host stands for. Raises OSError when one is taken."""
        loop = asyncio.get_running_loop()
        sockets = await self._bind()
        self.port = sockets[0].getsockname()[1]
        for bound in sockets:
            server = await loop.create_server(
                lambda: Connection(self, dispatcher), sock=bound, backlog=self._options.backlog, start_serving=False
            )
            self._servers.append(server)
        if self._advertised is None and self.endpoint.host in EVERY_ADDRESS:
            log.warning(
                "%s listens on every address and tells clients to connect to %s; set advertised.listeners for clients "
                "on other machines",
                self.name,
                self.advertised,
            )

    async def _bind(self) -> list[socket.socket]:
        found = await asyncio.get_running_loop().getaddrinfo(
            self.endpoint.host or None, self.endpoint.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        addresses = list(dict.fromkeys((family, address) for family, _, _, _, address in found))
        for attempt in range(ATTEMPTS_FOR_ONE_PORT):
            try:
                return self._bind_all(addresses)
            except OSError as error:
                # Port 0 and two addresses: what is free on one may be taken on the other.
                last = attempt == ATTEMPTS_FOR_ONE_PORT - 1
                if self.endpoint.port or error.errno != errno.EADDRINUSE or last:
                    raise
        raise AssertionError("the last attempt returns or raises")

    def _bind_all(self, addresses: list[tuple[int, tuple[Any, ...]]]) -> list[socket.socket]:
        """One socket for each address, all on the same port."""
        sockets: list[socket.socket] = []
        missing: OSError | None = None
        try:
            for family, (host, port, *rest) in addresses:
                port = port or (sockets[0].getsockname()[1] if sockets else 0)
                try:
                    sockets.append(self._bind_one(family, (host, port, *rest)))
                except OSError as error:
                    # `localhost` may name ::1 on a machine without IPv6.
                    if error.errno not in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):
                        raise
                    missing = error
        except BaseException:
            for bound in sockets:
                bound.close()
            raise
        if not sockets:
            raise missing or OSError(errno.EADDRNOTAVAIL, f"{self.endpoint.host} has no address")
        return sockets

    def _bind_one(self, family: int, address: tuple[Any, ...]) -> socket.socket:
        bound = socket.socket(family, socket.SOCK_STREAM)
        try:
            bound.setblocking(False)
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            # Connections inherit the buffers; the receive window is agreed on before they are accepted.
            if self._options.send_buffer >= 0:
                bound.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, self._options.send_buffer)
            if self._options.receive_buffer >= 0:
                bound.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self._options.receive_buffer)
            bound.bind(address)
        except BaseException:
            bound.close()
            raise
        return bound

    async def serve(self) -> None:
        """Accept connections: the broker is ready to answer."""
        self._accepting = True
        for server in self._servers:
            await server.start_serving()

    def admit(self, connection: Connection) -> str | None:
        """Count a new connection in, or say why not."""
        reason = self.limits.refusal(connection.client_host) if self._accepting else "the broker is shutting down"
        if reason is not None:
            self.limits.refused += 1
            if self.limits.refused in (1, 10, 100) or self.limits.refused % 1000 == 0:
                log.warning("connection refused: %s (%d refused so far)", reason, self.limits.refused)
            return reason
        self.limits.total += 1
        self.limits.per_address[connection.client_host] += 1
        self.connections.add(connection)
        return None

    def forget(self, connection: Connection) -> None:
        """A connection is gone."""
        if connection in self.connections:
            self.connections.remove(connection)
            self.limits.total -= 1
            self.limits.per_address[connection.client_host] -= 1
            if not self.limits.per_address[connection.client_host]:
                del self.limits.per_address[connection.client_host]

    def close_idle(self, before: float) -> int:
        """Close connections that were quiet since `before`; the number of them."""
        quiet = [c for c in self.connections if c.idle and c.last_active < before]
        for connection in quiet:
            connection.close()
        return len(quiet)

    def stop_accepting(self) -> None:
        self._accepting = False
        for server in self._servers:
            server.close()

    def close_all(self) -> None:
        """Close every connection once what is written has left."""
        for connection in tuple(self.connections):
            connection.close()

    def abort_all(self) -> None:
        for connection in tuple(self.connections):
            connection.abort()
