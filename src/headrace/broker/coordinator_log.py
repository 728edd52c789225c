"""A coordinator's log: one partition of an internal topic, written batch by batch and read back at a start.

Owns: appending what a coordinator wants written, saying how that ended, and the tokens of those who wait for it. What the
records mean is in `headrace.coordinator`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from headrace.coordinator.result import Completion
from headrace.replica.partition import Partition
from headrace.storage.errors import AppendError
from headrace.storage.log import Log
from headrace.storage.reservation import Appended
from headrace.wire.batch import NO_PRODUCER_ID, BatchHeader, Record, decode_records, encode_batch, iter_batches
from headrace.wire.errors import ErrorCode

Decoded = TypeVar("Decoded")


class CoordinatorLog:
    """Where one coordinator's records go."""

    def __init__(self, partition: Partition, logger: logging.Logger) -> None:
        self._partition = partition
        self._logger = logger

    def append(self, batch: bytearray, now_ms: int, settle: Callable[[ErrorCode], None]) -> None:
        """Append a batch and settle it, exactly once: with NONE when it is in the log, else with the reason why not.

        That is at once, or, on a slow disk, when the append has ended: in the order of the appends.
        """
        try:
            appended = self._partition.append(memoryview(batch), now_ms, "coordinator")
        except AppendError as error:
            self._settle(settle, error)
            return
        if isinstance(appended, Appended):
            settle(ErrorCode.NONE)
        else:
            appended.add_done_callback(lambda done: self._settle(settle, done.exception()))

    def _settle(self, settle: Callable[[ErrorCode], None], error: BaseException | None) -> None:
        if error is None:
            settle(ErrorCode.NONE)
        elif isinstance(error, AppendError):
            topic, index = self._partition.topic, self._partition.partition
            self._logger.error("%s-%d: coordinator records not written: %s", topic, index, error)
            settle(error.error_code)
        else:
            raise error


# Records and batches


def encode_records(
    records: Iterable[tuple[bytes, bytes | None]],
    now_ms: int,
    *,
    codec: int = 0,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = -1,
) -> bytearray:
    """One batch of these keys and values; with a producer, of its transaction."""
    stored = [Record(offset, now_ms, key, value, ()) for offset, (key, value) in enumerate(records)]
    if producer_id == NO_PRODUCER_ID:
        return encode_batch(stored, codec=codec)
    return encode_batch(
        stored, codec=codec, producer_id=producer_id, producer_epoch=producer_epoch, is_transactional=True
    )


def read_batches(log: Log, chunk_bytes: int) -> Iterator[tuple[BatchHeader, memoryview]]:
    """Every batch of a log. Blocks: runs in a thread."""
    offset, end = log.log_start_offset, log.log_end_offset
    while offset < end:
        view = log.read(offset, chunk_bytes, upper_offset=end).data
        if not view:
            return  # what lay behind this offset has been compacted away
        for position, header in iter_batches(view):
            offset = header.last_offset + 1
            yield header, view[position : position + header.size]


def read_records(batch: memoryview, decode: Callable[[bytes, bytes | None], Decoded | None]) -> Iterator[Decoded]:
    """The records of a batch that `decode` makes something of."""
    for record in decode_records(batch):
        decoded = decode(record.key, record.value) if record.key is not None else None
        if decoded is not None:
            yield decoded


# Who waits


class Waiting:
    """The token of one request: holds its response, or the future of somebody who waits for it."""

    __slots__ = ("_future", "response")

    def __init__(self) -> None:
        self.response: Any = None
        self._future: asyncio.Future[Any] | None = None

    def complete(self, response: Any) -> None:
        self.response = response
        if self._future is not None and not self._future.done():
            self._future.set_result(response)

    def response_or_future(self) -> Any:
        if self.response is not None:
            return self.response
        self._future = asyncio.get_running_loop().create_future()
        return self._future


def send(completions: list[Completion]) -> None:
    """Give everybody the response that is ready for them."""
    for token, response in completions:
        assert isinstance(token, Waiting)
        token.complete(response)
