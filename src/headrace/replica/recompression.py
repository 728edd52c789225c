"""A topic's own compression: batches that come in another codec are compressed anew before they are appended.

The records of a batch are the same bytes whatever their codec, so nothing is decoded: they are expanded and compressed in
threads, where the codecs let go of the interpreter. Batches enter the log in the order in which they came; one that waits
for nothing still waits for those before it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor

from headrace.storage import validation
from headrace.storage.config import LogConfig
from headrace.storage.errors import AppendError
from headrace.storage.log import Appended
from headrace.wire.batch_header import CODEC_MASK, HEADER, HEADER_SIZE, LENGTH_OVERHEAD, read_header, write_crc
from headrace.wire.compression import Codec, compress, decompress
from headrace.wire.errors import ErrorCode, WireError

PRODUCER = "producer"
_CODECS = {"uncompressed": Codec.NONE, **{codec.name.lower(): codec for codec in Codec if codec}}

Check = Callable[[], None]
Append = Callable[[memoryview, int, "Check | None"], "Appended | asyncio.Future[Appended]"]


def target_codec(config: LogConfig) -> Codec | None:
    """What a topic stores; None if that is what producers send."""
    return _CODECS.get(config.compression_type)


def recompress(batch: memoryview, codec: Codec, level: int | None) -> bytearray:
    """The batch in another codec, with all else as it was. AppendError if its records cannot be expanded."""
    header = read_header(batch)
    try:
        records = decompress(header.codec, batch[HEADER_SIZE:])
    except WireError as error:
        raise AppendError(ErrorCode.INVALID_RECORD, f"the records cannot be decoded: {error}") from error
    payload = compress(codec, records, level)
    fields = header._replace(
        batch_length=HEADER_SIZE - LENGTH_OVERHEAD + len(payload), attributes=header.attributes & ~CODEC_MASK | codec
    )
    anew = bytearray(HEADER_SIZE)
    HEADER.pack_into(anew, 0, *fields)
    anew += payload
    write_crc(anew)
    return anew


class Recompression:
    """The batches of one partition on their way through the threads."""

    def __init__(self, threads: Executor, append: Append) -> None:
        self._threads = threads
        self._append = append
        self._waiting: deque[tuple[asyncio.Future[memoryview], int, Check | None, asyncio.Future[Appended]]] = deque()

    def append(
        self, batch: memoryview, now_ms: int, config: LogConfig, check: Check | None = None
    ) -> Appended | asyncio.Future[Appended]:
        """Like `Partition.append`, of a batch that a client sent."""
        header = validation.read_one_batch(batch)
        codec = target_codec(config)
        if codec is None or header.codec == codec:
            if not self._waiting:
                return self._append(batch, now_ms, check)
            ready: asyncio.Future[memoryview] = asyncio.get_running_loop().create_future()
            ready.set_result(batch)
        else:
            validation.check_client_batch(header, batch, config, now_ms)
            ready = asyncio.get_running_loop().run_in_executor(
                self._threads, lambda: memoryview(recompress(batch, codec, _level(config, codec)))
            )
        appended: asyncio.Future[Appended] = asyncio.get_running_loop().create_future()
        self._waiting.append((ready, now_ms, check, appended))
        ready.add_done_callback(self._advance)
        return appended

    def _advance(self, _: asyncio.Future[memoryview]) -> None:
        """Appends what is ready, as long as it is the next."""
        while self._waiting and self._waiting[0][0].done():
            ready, now_ms, check, answer = self._waiting.popleft()
            try:
                appended = self._append(ready.result(), now_ms, check)
            except AppendError as error:
                if not answer.done():
                    answer.set_exception(error)
                continue
            if isinstance(appended, asyncio.Future):
                appended.add_done_callback(lambda done, answer=answer: hand_on(done, answer))
            elif not answer.done():
                answer.set_result(appended)


def _level(config: LogConfig, codec: Codec) -> int | None:
    levels = {
        Codec.GZIP: config.compression_gzip_level,
        Codec.LZ4: config.compression_lz4_level,
        Codec.ZSTD: config.compression_zstd_level,
    }
    return levels.get(codec)


def hand_on(source: asyncio.Future[Appended], target: asyncio.Future[Appended]) -> None:
    """How the one ended is how the other ends."""
    if target.done():
        return
    error = source.exception()
    if error is not None:
        target.set_exception(error)
    else:
        target.set_result(source.result())
