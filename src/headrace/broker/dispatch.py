"""From a request frame to the parts of its response: find the handler, decode, call, encode, count.

A handler answers at once (a response), never (None: Produce with acks=0), or later (an awaitable). Only the last costs a
task. An exception that escapes a handler is our bug: it is logged with its traceback and the connection is closed, as
the client cannot be told anything in a shape it knows.
"""

from __future__ import annotations

import asyncio
import logging
import time
from bisect import bisect_left
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import TYPE_CHECKING, Any

from headrace.broker.api import api_versions
from headrace.broker.context import RequestContext
from headrace.broker.receive_memory import ReceiveMemory
from headrace.wire.apis import APIS
from headrace.wire.errors import WireError
from headrace.wire.frame import RequestHeader, encode_response_parts
from headrace.wire.schema import Message

if TYPE_CHECKING:
    from headrace.broker.connection import Connection
    from headrace.broker.server import Broker

log = logging.getLogger("headrace.broker")

PRODUCE = 0
API_VERSIONS = 18
MAX_CONTROL_REQUEST = 16 * 1024 * 1024
"""A request without records becomes Python objects many times its size, so it is held shorter than one with them."""
LATENCY_BUCKETS = (
    0.0001,
    0.00025,
    0.0005,
    0.001,
    0.0025,
    0.005,
    0.01,
    0.025,
    0.05,
    0.1,
    0.25,
    0.5,
    1.0,
    2.5,
    5.0,
    10.0,
)
MALFORMED_LOGGED_PER_ADDRESS = 10


class Entry:
    """One API as it is served: its codec, its handler, its counters."""

    __slots__ = ("buckets", "handle", "key", "max_version", "min_version", "name", "request", "requests", "seconds")

    def __init__(self, module: ModuleType) -> None:
        api = APIS[module.REQUEST.KEY]
        self.key = api.key
        self.name = api.name
        self.min_version = api.min_version
        self.max_version = api.advertised[1]
        self.request = module.REQUEST
        self.handle: Callable[[Broker, Any, RequestContext], Any] = module.handle
        self.requests = 0
        self.seconds = 0.0
        self.buckets = [0] * (len(LATENCY_BUCKETS) + 1)

    def count(self, seconds: float) -> None:
        self.requests += 1
        self.seconds += seconds
        self.buckets[bisect_left(LATENCY_BUCKETS, seconds)] += 1


class Dispatcher:
    """What all connections of a broker share."""

    def __init__(self, broker: Broker, handlers: Iterable[ModuleType]) -> None:
        self.broker = broker
        self.entries = {entry.key: entry for entry in map(Entry, handlers)}
        self.max_request_size: int = broker.settings["socket.request.max.bytes"]
        self.now = time.monotonic
        self.output_limit: int = broker.settings["headrace.max.inflight.bytes"]
        queued: int = broker.settings["queued.max.request.bytes"]
        self.receive_memory = ReceiveMemory(queued if queued > 0 else self.output_limit)
        self.held_output: dict[Connection, int] = {}
        """Responses that slow clients have not taken yet, by connection."""
        self.draining = False
        """The broker shuts down: requests in hand are answered, no more are taken."""
        self.malformed = 0
        self._malformed_by_address: dict[str, int] = {}

    def dispatch(
        self, connection: Connection, header: RequestHeader, frame: memoryview, position: int, context: RequestContext
    ) -> list[Any] | asyncio.Future[list[Any] | None] | None:
        """Answer one request. Raises WireError when the frame is not a request we serve."""
        version = header.api_version
        entry = self.entries.get(header.api_key)
        if entry is None or not entry.min_version <= version <= entry.max_version:
            if header.api_key == API_VERSIONS:
                return api_versions.unsupported_version(self.broker, header.correlation_id)
            raise WireError(f"API key {header.api_key} version {version} is not served here")
        if len(frame) > MAX_CONTROL_REQUEST and entry.key != PRODUCE:
            raise WireError(
                f"{entry.name} of {len(frame)} bytes; requests without records may have {MAX_CONTROL_REQUEST}"
            )
        # Bytes behind the message are no error, as they are none to Kafka: librdkafka sends some when it asks for all topics.
        request, _ = entry.request.decode_from(frame, version, position)
        started = time.perf_counter()
        try:
            result = entry.handle(self.broker, request, context)
        except Exception as error:
            self.log_failure(connection, error, entry.name)
            connection.abort()
            return None
        if isinstance(result, Message):
            parts: list[Any] = encode_response_parts(result, header.correlation_id, version)
            entry.count(time.perf_counter() - started)
            return parts
        if result is None:
            entry.count(time.perf_counter() - started)
            return None
        if entry.key == PRODUCE:
            connection.detach_buffer()
        return self._later(entry, asyncio.ensure_future(result), header, started)

    def _later(
        self, entry: Entry, result: asyncio.Future[Any], header: RequestHeader, started: float
    ) -> asyncio.Future[list[Any] | None]:
        """The parts of a response that is not there yet. Cancelling them cancels the handler."""
        answer: asyncio.Future[list[Any] | None] = asyncio.get_running_loop().create_future()

        def finish(done: asyncio.Future[Any]) -> None:
            entry.count(time.perf_counter() - started)
            if answer.done() or done.cancelled():
                answer.cancel()
                return
            error = done.exception()
            if error is not None:
                answer.set_exception(error)
                return
            response = done.result()
            parts = None
            if response is not None:
                parts = encode_response_parts(response, header.correlation_id, header.api_version)
            answer.set_result(parts)

        result.add_done_callback(finish)
        answer.add_done_callback(lambda answered: result.cancel() if answered.cancelled() else None)
        return answer

    def hold_output(self, connection: Connection) -> None:
        """A client does not read: what it is owed counts against the room for new fetch responses."""
        self.held_output[connection] = connection.unsent

    def release_output(self, connection: Connection) -> None:
        self.held_output.pop(connection, None)

    def output_room(self) -> int:
        """Bytes that fetch responses may still put into memory."""
        return self.output_limit - sum(self.held_output.values()) if self.held_output else self.output_limit

    def log_malformed(self, connection: Connection, reason: str) -> None:
        """Say once per connection what was wrong; an address that keeps at it is only counted."""
        self.malformed += 1
        if len(self._malformed_by_address) > 10_000:
            self._malformed_by_address.clear()
        seen = self._malformed_by_address.get(connection.client_host, 0) + 1
        self._malformed_by_address[connection.client_host] = seen
        if seen <= MALFORMED_LOGGED_PER_ADDRESS:
            log.warning("closing %s: malformed request: %s", connection.connection_id, reason)
        elif seen == MALFORMED_LOGGED_PER_ADDRESS + 1:
            log.warning("%s keeps sending malformed requests; they are only counted now", connection.client_host)

    def log_failure(self, connection: Connection, error: BaseException, api: str = "a request") -> None:
        log.error("closing %s: %s failed", connection.connection_id, api, exc_info=error)
