"""One client connection: bytes in, frames out, answers in request order.

    bytes → receive buffer → frame (int32 size, then that many bytes) → dispatch → response parts → socket

Like Kafka, a connection works on one request at a time, so responses leave in request order and pipelined requests
simply wait in the buffer. Three things stop it from reading on: a request that is still being answered, a client that
does not read its responses, and a receive buffer that holds a whole request already. That bounds what one client can
make the broker hold to about one request and one response.

Owns: the receive buffer and the transport. Must not know any API.
"""

from __future__ import annotations

import asyncio
import struct
from typing import TYPE_CHECKING, Any

from headrace.broker.context import RequestContext
from headrace.wire.errors import WireError
from headrace.wire.frame import parse_request_header

if TYPE_CHECKING:
    from headrace.broker.dispatch import Dispatcher
    from headrace.broker.listeners import Listener

SIZE = struct.Struct(">i")
INITIAL_BUFFER = 64 * 1024
READ_AHEAD = 256 * 1024
"""Room offered beyond a partly received frame, so that pipelined requests arrive with one read."""
RESPONSES_AT_ONCE = 32
JOIN_BELOW = 64 * 1024
"""Responses up to this size are joined into one buffer; larger ones go out as they are, without a copy."""


class Connection(asyncio.BufferedProtocol):
    """The server's end of one socket."""

    def __init__(self, listener: Listener, dispatcher: Dispatcher) -> None:
        self._listener = listener
        self._dispatcher = dispatcher
        self._transport: asyncio.Transport | None = None
        self._buffer = bytearray(INITIAL_BUFFER)
        self._view = memoryview(self._buffer)
        self._start = 0
        self._end = 0
        self._busy = False
        """A request is being answered; the next one waits."""
        self._write_paused = False
        self._read_paused = False
        self._closing = False
        self._task: asyncio.Future[Any] | None = None
        self._context = RequestContext(-1, None)
        """Of the last request; the next one is usually of the same kind."""
        self._outgoing: list[Any] = []
        self._responses = 0
        self.client_host = "?"
        self.connection_id = ""
        self.last_active = 0.0
        self.requests = 0

    # The transport calls these.

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._transport = transport
        peer = transport.get_extra_info("peername") or ("?", 0)
        local = transport.get_extra_info("sockname") or ("?", 0)
        self.client_host = str(peer[0])
        self.connection_id = f"{local[0]}:{local[1]}-{peer[0]}:{peer[1]}"
        self.last_active = self._dispatcher.now()
        refusal = self._listener.admit(self)
        if refusal:
            self._closing = True
            transport.abort()
            return
        transport.set_write_buffer_limits(high=1024 * 1024, low=256 * 1024)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._view[self._end :]

    def buffer_updated(self, nbytes: int) -> None:
        self._end += nbytes
        if not self._busy and not self._write_paused:
            self._process()
        elif self._end - self._start >= READ_AHEAD:
            self._pause_reading()
        if self._end == len(self._buffer) and not self._closing:
            self._make_room()

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._closing = True
        self._listener.forget(self)
        self._dispatcher.release_output(self)
        self._dispatcher.receive_memory.forget(self)
        self._use_buffer(bytearray(INITIAL_BUFFER), b"")
        if self._task is not None:
            self._task.cancel()
            self._task = None

    def pause_writing(self) -> None:
        self._write_paused = True
        self._dispatcher.hold_output(self)

    def resume_writing(self) -> None:
        self._write_paused = False
        self._dispatcher.release_output(self)
        if not self._busy and not self._closing:
            self._process()

    # Everything below is ours.

    @property
    def idle(self) -> bool:
        """Nothing asked, nothing owed: it may be closed at shutdown or after a quiet time."""
        return not self._busy and not self._write_paused

    @property
    def unsent(self) -> int:
        """Bytes of responses that the client has not taken yet."""
        return self._transport.get_write_buffer_size() if self._transport is not None else 0

    def close(self) -> None:
        """Close once what is written has left."""
        if not self._closing and self._transport is not None:
            self._closing = True
            self._transport.close()

    def abort(self) -> None:
        """Close now, after what was answered already."""
        self._flush()
        self._closing = True
        if self._transport is not None:
            self._transport.abort()

    def detach_buffer(self) -> None:
        """The request in hand keeps the receive buffer; go on with a new one that holds what came after it."""
        rest = self._view[self._start : self._end]
        self._use_buffer(bytearray(max(INITIAL_BUFFER, len(rest) * 2)), rest)

    def memory_free(self) -> None:
        """There may be memory now for the request that did not fit."""
        if not self._closing:
            self._make_room()
            if self._end < len(self._buffer):
                self._resume_reading()

    def _make_room(self) -> None:
        """The buffer is full: move the unread bytes to its front, or grow while one frame needs it.

        It grows by no more than was received, so announcing a large request costs the client its bytes first.
        """
        unread = self._view[self._start : self._end]
        capacity = len(self._buffer)
        if len(unread) * 2 <= capacity:
            self._move_to_front()
            return
        wanted = min(capacity * 2, self._dispatcher.max_request_size + 4 + READ_AHEAD)
        if self._dispatcher.receive_memory.may_grow(self, wanted - capacity):
            self._use_buffer(bytearray(wanted), unread)
        else:
            self._pause_reading()

    def _move_to_front(self) -> None:
        unread = self._end - self._start
        self._view[:unread] = self._view[self._start : self._end]
        self._start, self._end = 0, unread

    def _use_buffer(self, buffer: bytearray, unread: memoryview | bytes) -> None:
        """Go on with another buffer."""
        difference = len(buffer) - len(self._buffer)
        view = memoryview(buffer)
        view[: len(unread)] = unread
        self._start, self._end = 0, len(unread)
        self._buffer, self._view = buffer, view
        if difference:
            self._dispatcher.receive_memory.resized(self, difference)

    def _process(self) -> None:
        """Answer what is here as far as that is possible now, then see whether to read on."""
        if not self._dispatcher.draining:
            self._take_frames()
        self._flush()
        if self._closing or self._dispatcher.draining:
            return
        if self._start == self._end:
            self._start = self._end = 0
            if len(self._buffer) > INITIAL_BUFFER and not self._dispatcher.receive_memory.plenty:
                self._use_buffer(bytearray(INITIAL_BUFFER), b"")
        if self._busy or self._write_paused:
            if self._end - self._start >= READ_AHEAD:
                self._pause_reading()
        elif self._end < len(self._buffer):
            self._resume_reading()

    def _take_frames(self) -> None:
        """Work through whole frames until one must wait or none is left."""
        while not self._busy and not self._write_paused and not self._closing:
            available = self._end - self._start
            if available < 4:
                return
            (size,) = SIZE.unpack_from(self._buffer, self._start)
            if size < 0 or size > self._dispatcher.max_request_size:
                self._malformed(f"a request of {size} bytes; the limit is {self._dispatcher.max_request_size}")
                return
            if available < size + 4:
                # A frame that will not fit behind its predecessors moves while little of it is here.
                if self._start and self._start + size + 4 > len(self._buffer):
                    self._move_to_front()
                return
            begin = self._start + 4
            self._start = begin + size
            self._request(self._view[begin : self._start])

    def _resume_reading(self) -> None:
        if self._read_paused and self._transport is not None:
            self._read_paused = False
            self._transport.resume_reading()

    def _pause_reading(self) -> None:
        if not self._read_paused and self._transport is not None:
            self._read_paused = True
            self._transport.pause_reading()

    def _request(self, frame: memoryview) -> None:
        self.requests += 1
        self.last_active = self._dispatcher.now()
        try:
            header, position = parse_request_header(frame)
            context = self._context
            if context.api_version != header.api_version or context.client_id != header.client_id:
                context = self._context = RequestContext(
                    header.api_version, header.client_id, self.client_host, self.connection_id, self._listener.name
                )
            answer = self._dispatcher.dispatch(self, header, frame, position, context)
        except WireError as error:
            self._malformed(str(error))
            return
        if answer is None:
            return
        if isinstance(answer, list):
            self._send(answer)
            return
        self._busy = True
        self._task = answer
        answer.add_done_callback(self._answered)

    def _answered(self, answer: asyncio.Future[list[Any] | None]) -> None:
        self._busy = False
        self._task = None
        if self._closing or answer.cancelled():
            return
        error = answer.exception()
        if error is not None:
            self._dispatcher.log_failure(self, error)
            self.abort()
            return
        parts = answer.result()
        if parts is not None:
            self._send(parts)
        self._process()

    def _send(self, parts: list[Any]) -> None:
        """Responses to pipelined requests leave together: a system call each would cost more than the requests do."""
        self._outgoing += parts
        self._responses += 1
        if self._responses >= RESPONSES_AT_ONCE or len(parts) > 1:
            self._flush()

    def _flush(self) -> None:
        parts = self._outgoing
        if not parts or self._transport is None:
            return
        self._outgoing, self._responses = [], 0
        if len(parts) == 1:
            self._transport.write(parts[0])
        elif sum(map(len, parts)) < JOIN_BELOW:
            self._transport.write(b"".join(parts))
        else:
            self._transport.writelines(parts)

    def _malformed(self, reason: str) -> None:
        self._dispatcher.log_malformed(self, reason)
        self.abort()
