"""One partition on this node: its log, leader epoch, high watermark, and who waits for it to grow.

All of it belongs to the event loop. Appends are `reserve → write → commit`; only the write may run elsewhere.
With one replica the high watermark is the log's end; with followers it will be the lowest end of the in-sync set, and
`advance_high_watermark` is the one place that decides it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from time import perf_counter
from typing import Literal, Protocol

from headrace.replica.preparation import Preparation, hand_on, may_prepare
from headrace.replica.writer import DirectoryWriter
from headrace.storage.config import LogConfig
from headrace.storage.errors import AppendError
from headrace.storage.log import Appended, Log, Reservation
from headrace.storage.open_transactions import CompletedTransaction
from headrace.wire.errors import ErrorCode

Origin = Literal["client", "coordinator", "replication"]


class Waiter(Protocol):
    """Somebody who wants to know that a partition has more to read (a long poll)."""

    def on_growth(self, partition: Partition, size: int) -> None: ...


class Directory(Protocol):
    """What a partition needs of the log directory it lives in."""

    writer: DirectoryWriter
    compressors: Executor

    def fail(self, error: OSError) -> None: ...

    def flush(self, log: Log) -> asyncio.Future[None]: ...


class Partition:
    """The leader's view of one partition."""

    __slots__ = (
        "_last_answer",
        "_unseen",
        "directory",
        "high_watermark",
        "leader_epoch",
        "log",
        "offline",
        "partition",
        "pending",
        "preparation",
        "topic",
        "topic_id",
        "waiters",
    )

    def __init__(
        self,
        log: Log,
        *,
        leader_epoch: int,
        directory: Directory,
    ) -> None:
        self.log = log
        self.topic = log.topic
        self.partition = log.partition
        self.topic_id = log.topic_id
        self.leader_epoch = leader_epoch
        self.high_watermark = log.log_end_offset
        self.directory = directory
        self.offline = False
        self.pending = 0
        """Reservations handed to the writer and not yet committed."""
        self.waiters: set[Waiter] = set()
        self.preparation: Preparation | None = None
        """Set once the topic's settings ask for more than a look at the header; it knows by itself if that changes again."""
        self._unseen: tuple[int, ...] = ()
        """First offsets of transactions whose marker is in the log, above the high watermark. Replaced whole."""
        self._last_answer: asyncio.Future[Appended] | None = None
        """The last one that a coordinator waits for."""
        self.use_config(log.config)

    def use_config(self, config: LogConfig) -> None:
        """The topic's settings have changed."""
        self.log.config = config
        if self.preparation is None and may_prepare(config):
            self.preparation = Preparation(self.directory.compressors, self._append_prepared)

    def _append_prepared(
        self, batch: memoryview, now_ms: int, check: Callable[[], None] | None, records_checked: bool
    ) -> Appended | asyncio.Future[Appended]:
        return self.append(batch, now_ms, check=check, prepared=True, records_checked=records_checked)

    @property
    def log_start_offset(self) -> int:
        return self.log.log_start_offset

    @property
    def last_stable_offset(self) -> int:
        """Where read_committed readers stop: the first offset of the oldest open transaction, else the high watermark.

        May be asked in any thread, so the order of the questions matters: a transaction that opens later lies above the
        high watermark taken first, and one that is completed is unseen before it is stable.
        """
        high_watermark = self.high_watermark
        log = self.log
        first = log.producers.transactions.first_offset
        unseen = self._unseen
        if first is not None:
            unseen = (first, *unseen)
        return high_watermark if not unseen else min(max(min(unseen), log.log_start_offset), high_watermark)

    def append(
        self,
        batch: memoryview,
        now_ms: int,
        origin: Origin = "client",
        transaction_version: int = 0,
        *,
        check: Callable[[], None] | None = None,
        prepared: bool = False,
        records_checked: bool = False,
        ordered: bool = False,
    ) -> Appended | asyncio.Future[Appended]:
        """Append one batch. Answers at once, or with a future when the disk is slow, a flush is asked for, or the batch
        is to be compressed in another way or looked through first.

        Raises AppendError for everything that Kafka reports per partition, or what `check` raises when the batch's turn
        has come. When a future comes back, the caller must leave the batch's buffer alone until it is done.
        """
        if origin == "coordinator" and not ordered:
            return self._in_order(self.append(batch, now_ms, origin, transaction_version, check=check, ordered=True))
        if self.offline:
            raise AppendError(ErrorCode.KAFKA_STORAGE_ERROR, "the log directory of this partition is offline")
        log, writer = self.log, self.directory.writer
        if self.preparation is not None and origin == "client" and not prepared:
            return self.preparation.append(batch, now_ms, log.config, check)
        if check is not None:
            check()
        reserved = log.reserve(
            batch,
            leader_epoch=self.leader_epoch,
            now_ms=now_ms,
            origin=origin,
            transaction_version=transaction_version,
            records_checked=records_checked,
        )
        if writer.slow or self.pending:
            return self._append_in_thread(reserved)
        started = perf_counter()
        try:
            reserved.write()
        except OSError as error:
            log.abandon()
            self.directory.fail(error)
            raise AppendError(ErrorCode.KAFKA_STORAGE_ERROR, f"the log directory failed: {error}") from error
        if perf_counter() - started > writer.slow_seconds:
            writer.note_slow()
        if reserved.transaction is not None:
            self._note_completed(reserved)
        appended = log.commit(reserved)
        if appended.flush_due:
            return self._after_flush(appended)
        self.advance_high_watermark(reserved.size)
        return appended

    def _in_order(self, appended: Appended | asyncio.Future[Appended]) -> Appended | asyncio.Future[Appended]:
        """Coordinators take over what they wrote when they hear of it, which must be in the order of the log: one that was
        written at once does not overtake those whose futures are done and whose callbacks the loop has not come to yet."""
        last = self._last_answer
        if last is None and isinstance(appended, Appended):
            return appended
        answer: asyncio.Future[Appended] = asyncio.get_running_loop().create_future()
        self._last_answer = answer
        answer.add_done_callback(self._answered)
        awaited = [each for each in (last, appended) if isinstance(each, asyncio.Future)]

        def give(_: object) -> None:
            if answer.done() or not all(each.done() for each in awaited):
                return
            if isinstance(appended, Appended):
                answer.set_result(appended)
            else:
                hand_on(appended, answer)

        give(None)
        for each in awaited:
            each.add_done_callback(give)
        return answer

    def _answered(self, answer: asyncio.Future[Appended]) -> None:
        """The first of the answer's callbacks: the caller's follows before the loop turns to anything else."""
        if self._last_answer is answer:
            self._last_answer = None

    def advance_high_watermark(self, size: int) -> None:
        """Let readers see what the log holds, and wake those that wait."""
        self.high_watermark = self.log.log_end_offset
        self._unseen = ()
        if self.waiters:
            for waiter in tuple(self.waiters):
                waiter.on_growth(self, size)

    def _note_completed(self, reservation: Reservation) -> None:
        """A marker counts for readers once the high watermark is past it, not before (a flush may still be awaited)."""
        if isinstance(reservation.transaction, CompletedTransaction):
            self._unseen = (*self._unseen, reservation.transaction.first_offset)

    def go_offline(self) -> None:
        """The directory failed: wake the waiters, so that they hear of it."""
        self.offline = True
        for waiter in tuple(self.waiters):
            waiter.on_growth(self, 1 << 31)

    def _append_in_thread(self, reservation: Reservation) -> asyncio.Future[Appended]:
        future: asyncio.Future[Appended] = asyncio.get_running_loop().create_future()
        self.pending += 1

        def done(error: OSError | None) -> None:
            self.pending -= 1
            if error is None and self.offline:
                error = OSError("an earlier write to this log directory failed")
            if error is not None:
                if not self.offline:
                    self.log.abandon()
                    self.directory.fail(error)
                failure = AppendError(ErrorCode.KAFKA_STORAGE_ERROR, f"the log directory failed: {error}")
                if not future.done():
                    future.set_exception(failure)
                return
            if reservation.transaction is not None:
                self._note_completed(reservation)
            appended = self.log.commit(reservation)
            if appended.flush_due:
                self._after_flush(appended).add_done_callback(lambda done: hand_on(done, future))
                return
            self.advance_high_watermark(reservation.size)
            if not future.done():
                future.set_result(appended)

        self.directory.writer.submit(reservation, done)
        return future

    def _after_flush(self, appended: Appended) -> asyncio.Future[Appended]:
        """flush.messages is reached: the record counts as written once fsync has returned."""
        future: asyncio.Future[Appended] = asyncio.get_running_loop().create_future()

        def flushed(flush: asyncio.Future[None]) -> None:
            error = flush.exception()
            if isinstance(error, OSError):
                self.directory.fail(error)
                future.set_exception(AppendError(ErrorCode.KAFKA_STORAGE_ERROR, f"the log directory failed: {error}"))
            elif error is not None:
                future.set_exception(error)
            else:
                self.advance_high_watermark(1 << 31)
                future.set_result(appended)

        self.directory.flush(self.log).add_done_callback(flushed)
        return future
