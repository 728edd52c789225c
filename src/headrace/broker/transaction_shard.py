"""One partition of `__transaction_state` at work: its coordinator, its log, its timer, and the markers on their way.

A request runs through the coordinator at once; what it wants written goes into the log; answers leave when that is done.
Markers are written behind the answer, again and again until every partition has them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from headrace.broker.group_shard import Waiting
from headrace.coordinator.result import Completion, Token
from headrace.coordinator.transactions.coordinator import TransactionCoordinator
from headrace.coordinator.transactions.records import TransactionRecord, decode
from headrace.coordinator.transactions.result import Markers, Result
from headrace.coordinator.transactions.transaction import TopicPartition
from headrace.replica.partition import Partition
from headrace.storage.errors import AppendError
from headrace.storage.log import Log
from headrace.storage.reservation import Appended
from headrace.wire.batch import Record, decode_records, encode_batch, iter_batches
from headrace.wire.errors import ErrorCode

log = logging.getLogger("headrace.transactions")

RETRY_MARKERS_SECONDS = 0.1
RETRY_MARKERS_MAX_SECONDS = 2.0

Step = Callable[[Token, int], Result]
WriteMarkers = Callable[[Markers], Awaitable[dict[TopicPartition, ErrorCode]]]


class TransactionShard:
    """The transactional ids of one partition. `coordinator` is None until they are loaded, and again after `unload`."""

    def __init__(self, partition: Partition, now_ms: Callable[[], int], write_markers: WriteMarkers) -> None:
        self.partition = partition
        self.coordinator: TransactionCoordinator | None = None
        self.state = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        """What to tell clients while there is no coordinator."""
        self._now_ms = now_ms
        self._write_markers = write_markers
        self._writing: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._armed_ms = 0

    @property
    def transactions(self) -> TransactionCoordinator:
        """The coordinator of a loaded shard."""
        assert self.coordinator is not None
        return self.coordinator

    @property
    def markers_under_way(self) -> int:
        """Transactions whose markers are being written."""
        return len(self._writing)

    def start(self, coordinator: TransactionCoordinator) -> None:
        """The ids are loaded: begin to serve them, and finish what was prepared."""
        self.coordinator = coordinator
        self.state = ErrorCode.NONE
        now_ms = self._now_ms()
        self._carry_out(coordinator, coordinator.on_loaded(now_ms), now_ms)

    def unload(self, state: ErrorCode = ErrorCode.NOT_COORDINATOR) -> None:
        """Serve them no more. Markers that are not written yet follow when the log is loaded again."""
        self.state = state
        self.coordinator = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def stop(self) -> None:
        self.unload()
        for task in self._writing:
            task.cancel()
        if self._writing:
            await asyncio.wait(self._writing)

    # Requests

    def submit(self, step: Step) -> Any:
        """Run one of the coordinator's `on_...`: its response, or a future of it."""
        waiting = Waiting()
        now_ms = self._now_ms()
        self._carry_out(self.transactions, step(waiting, now_ms), now_ms)
        return waiting.response if waiting.response is not None else waiting.future()

    # What a result asks for

    def _carry_out(self, coordinator: TransactionCoordinator, result: Result, now_ms: int) -> None:
        _send(result.completions)
        if coordinator is not self.coordinator:
            return
        for markers in result.markers:
            task = asyncio.ensure_future(self._write(coordinator, markers))
            self._writing.add(task)
            task.add_done_callback(self._writing.discard)
        if result.records:
            self._append(coordinator, result, now_ms)
        elif result.settles:
            self._settle(coordinator, result, ErrorCode.NONE)
        self._arm()

    def _append(self, coordinator: TransactionCoordinator, result: Result, now_ms: int) -> None:
        batch = _encode(result.records, coordinator.server_version(), now_ms)
        try:
            appended = self.partition.append(memoryview(batch), now_ms, "coordinator")
        except AppendError as error:
            self._settle_failed(coordinator, result, error)
            return
        if isinstance(appended, Appended):
            self._settle(coordinator, result, ErrorCode.NONE)
        else:
            appended.add_done_callback(lambda done: self._appended_later(coordinator, result, done))

    def _appended_later(
        self, coordinator: TransactionCoordinator, result: Result, done: asyncio.Future[Appended]
    ) -> None:
        error = done.exception()
        if error is None:
            self._settle(coordinator, result, ErrorCode.NONE)
        elif isinstance(error, AppendError):
            self._settle_failed(coordinator, result, error)
        else:
            raise error

    def _settle_failed(self, coordinator: TransactionCoordinator, result: Result, error: AppendError) -> None:
        log.error("%s-%d: transaction records not written: %s", self.partition.topic, self.partition.partition, error)
        self._settle(coordinator, result, error.error_code)

    def _settle(self, coordinator: TransactionCoordinator, result: Result, error: ErrorCode) -> None:
        now_ms = self._now_ms()
        self._carry_out(coordinator, coordinator.settle(result, error, now_ms), now_ms)

    async def _write(self, coordinator: TransactionCoordinator, markers: Markers) -> None:
        if markers.attempt:
            log.log(
                logging.WARNING if markers.attempt == 1 else logging.DEBUG,
                "markers of transaction %s could not be written to %s; trying again",
                markers.transactional_id,
                ", ".join(f"{topic}-{index}" for topic, index in markers.partitions),
            )
            await asyncio.sleep(min(RETRY_MARKERS_SECONDS * 2 ** min(markers.attempt, 10), RETRY_MARKERS_MAX_SECONDS))
        try:
            errors = await self._write_markers(markers)
        except Exception:
            # The transaction stays open for its readers until this works, so it is tried again like any other failure.
            log.exception("the markers of transaction %s failed", markers.transactional_id)
            errors = {}
        if coordinator is self.coordinator:
            now_ms = self._now_ms()
            self._carry_out(coordinator, coordinator.on_markers_written(markers, errors, now_ms), now_ms)

    # Time

    def tick(self) -> None:
        """Do what is due by the clock."""
        coordinator = self.coordinator
        if coordinator is None:
            return
        now_ms = self._now_ms()
        deadline_ms = coordinator.next_deadline_ms()
        if deadline_ms is not None and deadline_ms <= now_ms:
            for result in coordinator.on_timer(now_ms):
                self._carry_out(coordinator, result, now_ms)
            self._arm()

    def on_clock_set(self, delta_ms: int) -> None:
        if self.coordinator is not None:
            self.coordinator.on_clock_set(delta_ms)
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            self._arm()

    def _arm(self) -> None:
        """Make sure that the loop wakes us in time. Waking too early costs little, so later deadlines move nothing."""
        coordinator = self.coordinator
        deadline_ms = coordinator.next_deadline_ms() if coordinator is not None else None
        if deadline_ms is None or (self._timer is not None and self._armed_ms <= deadline_ms):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._armed_ms = deadline_ms
        delay_ms = max(deadline_ms - self._now_ms(), 0)
        self._timer = asyncio.get_running_loop().call_later(delay_ms / 1000, self._wake)

    def _wake(self) -> None:
        self._timer = None
        self.tick()
        self._arm()


def replay_log(coordinator: TransactionCoordinator, log_: Log, chunk_bytes: int) -> TransactionCoordinator:
    """Replay a partition's log into a new coordinator. Blocks: runs in a thread."""
    for record in _records(log_, chunk_bytes):
        coordinator.replay(record)
    return coordinator


def _records(log_: Log, chunk_bytes: int) -> Iterator[TransactionRecord]:
    offset, end = log_.log_start_offset, log_.log_end_offset
    while offset < end:
        view = log_.read(offset, chunk_bytes, upper_offset=end).data
        if not view:
            return  # what lay behind this offset has been compacted away
        for position, header in iter_batches(view):
            offset = header.last_offset + 1
            if header.is_control:
                continue
            for record in decode_records(view[position : position + header.size]):
                decoded = decode(record.key, record.value) if record.key is not None else None
                if decoded is not None:
                    yield decoded


def _encode(records: list[TransactionRecord], transaction_version: int, now_ms: int) -> bytearray:
    stored = [
        Record(offset, now_ms, key, value, ())
        for offset, (key, value) in enumerate(record.encode(transaction_version) for record in records)
    ]
    return encode_batch(stored)


def _send(completions: list[Completion]) -> None:
    for token, response in completions:
        assert isinstance(token, Waiting)
        token.complete(response)
