"""One partition of `__transaction_state` at work: its coordinator, its log, its timer, and the markers on their way.

A request runs through the coordinator at once; what it wants written goes into the log; answers leave when that is done.
Markers are written behind the answer, again and again until every partition has them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from headrace.broker.coordinator_log import CoordinatorLog, Waiting, encode_records, read_batches, read_records, send
from headrace.broker.deadline_timer import DeadlineTimer
from headrace.coordinator.result import Token
from headrace.coordinator.transactions.coordinator import TransactionCoordinator
from headrace.coordinator.transactions.records import decode
from headrace.coordinator.transactions.result import Markers, Result
from headrace.coordinator.transactions.transaction import TopicPartition
from headrace.replica.partition import Partition
from headrace.storage.log import Log
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
        self._log = CoordinatorLog(partition, log)
        self._timer = DeadlineTimer(self._next_deadline_ms, self._on_deadline, now_ms)

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

    def unload(self) -> None:
        """Serve them no more. Markers that are not written yet follow when the log is loaded again."""
        self.state = ErrorCode.NOT_COORDINATOR
        self.coordinator = None
        self._timer.cancel()

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
        return waiting.response_or_future()

    # What a result asks for

    def _carry_out(self, coordinator: TransactionCoordinator, result: Result, now_ms: int) -> None:
        send(result.completions)
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
        self._timer.arm()

    def _append(self, coordinator: TransactionCoordinator, result: Result, now_ms: int) -> None:
        version = coordinator.server_version()
        batch = encode_records((record.encode(version) for record in result.records), now_ms)
        self._log.append(batch, now_ms, lambda error: self._settle(coordinator, result, error))

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
        self._timer.tick()

    def on_clock_set(self, delta_ms: int) -> None:
        if self.coordinator is not None:
            self.coordinator.on_clock_set(delta_ms)
            self._timer.cancel()
            self._timer.arm()

    def _next_deadline_ms(self) -> int | None:
        return self.coordinator.next_deadline_ms() if self.coordinator is not None else None

    def _on_deadline(self, now_ms: int) -> None:
        coordinator = self.transactions
        for result in coordinator.on_timer(now_ms):
            self._carry_out(coordinator, result, now_ms)


def replay_log(coordinator: TransactionCoordinator, log_: Log, chunk_bytes: int) -> TransactionCoordinator:
    """Replay a partition's log into a new coordinator. Blocks: runs in a thread."""
    for header, batch in read_batches(log_, chunk_bytes):
        if not header.is_control:
            for record in read_records(batch, decode):
                coordinator.replay(record)
    return coordinator
