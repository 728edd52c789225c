"""Memory for requests that are being received, over all connections.

Every connection has a small buffer of its own. What it needs beyond that for a large request is taken from here and given
back when the request is done. When the limit is reached, connections that want more stop reading until others are done.
One of them may go beyond the limit, so that half-received requests cannot block one another for ever.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headrace.broker.connection import Connection

KEEP_BELOW = 32 * 1024 * 1024
"""While all connections together hold less than this, each keeps its large buffer for the next large request."""


class ReceiveMemory:
    """A count of bytes with a limit, and who waits for some."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.in_use = 0
        self._waiting: dict[Connection, None] = {}
        """In the order in which they came."""
        self._beyond_limit: Connection | None = None

    @property
    def waiting(self) -> int:
        """How many connections wait for memory."""
        return len(self._waiting)

    @property
    def plenty(self) -> bool:
        return self.in_use < KEEP_BELOW

    def may_grow(self, connection: Connection, size: int) -> bool:
        """Whether a connection may take `size` more; if not, it is called back with `memory_free`."""
        if self.in_use + size <= self.limit:
            return True
        if self._beyond_limit in (None, connection):
            self._beyond_limit = connection
            return True
        self._waiting[connection] = None
        return False

    def resized(self, connection: Connection, difference: int) -> None:
        """A connection's buffer grew or shrank; when it shrank, the next in line tries again."""
        self.in_use += difference
        if difference < 0:
            if self._beyond_limit is connection:
                self._beyond_limit = None
            if self._waiting and self._beyond_limit is None:
                following = next(iter(self._waiting))
                del self._waiting[following]
                following.memory_free()

    def forget(self, connection: Connection) -> None:
        """A connection is gone: it must neither be kept nor be called in somebody else's place."""
        self._waiting.pop(connection, None)
