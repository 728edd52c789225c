"""Listening sockets: addresses to bind, addresses to advertise, and who may come in."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from typing import TYPE_CHECKING

from headrace.broker.connection import Connection
from headrace.broker.descriptors import Descriptors
from headrace.settings.listeners import Listener as Endpoint

if TYPE_CHECKING:
    from headrace.broker.dispatch import Dispatcher

log = logging.getLogger("headrace.broker.listeners")


class ConnectionLimits:
    """Counts connections over all listeners and refuses the ones too many."""

    def __init__(self, max_connections: int, max_per_address: int, overrides: dict[str, int]) -> None:
        self.max_connections = max_connections
        self.max_per_address = max_per_address
        self.overrides = overrides
        self.per_address: Counter[str] = Counter()
        self.total = 0
        self.refused = 0
        self.descriptors: Descriptors | None = None

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

    def __init__(self, endpoint: Endpoint, advertised: Endpoint | None, limits: ConnectionLimits) -> None:
        self.endpoint = endpoint
        self.name = endpoint.name
        self.limits = limits
        self.connections: set[Connection] = set()
        self.port = endpoint.port
        self._advertised = advertised
        self._server: asyncio.Server | None = None
        self._accepting = False

    @property
    def advertised(self) -> Endpoint:
        """Where clients are told to connect; the bound port stands in for port 0."""
        advertised = self._advertised or self.endpoint
        return advertised._replace(host=advertised.host or "localhost", port=advertised.port or self.port)

    async def start(self, dispatcher: Dispatcher) -> None:
        """Bind and listen. Raises OSError that says which address is taken."""
        loop = asyncio.get_running_loop()
        host = self.endpoint.host or None
        self._server = await loop.create_server(
            lambda: Connection(self, dispatcher), host, self.endpoint.port, backlog=1024, start_serving=False
        )
        self.port = self._server.sockets[0].getsockname()[1]

    async def serve(self) -> None:
        """Accept connections: the broker is ready to answer."""
        assert self._server is not None
        self._accepting = True
        await self._server.start_serving()

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
        if self._server is not None:
            self._server.close()

    def abort_all(self) -> None:
        for connection in tuple(self.connections):
            connection.abort()
