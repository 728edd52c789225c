"""One partition of `__consumer_offsets` at work: its coordinator, its log, its timer.

A request runs through the coordinator at once; what it wants written goes into the log as one batch; answers leave when
that is done. On a slow disk the append ends later, and heartbeats go on meanwhile: they write nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from headrace.broker.coordinator_log import CoordinatorLog, Waiting, encode_records, read_batches, read_records, send
from headrace.broker.deadline_timer import DeadlineTimer
from headrace.coordinator.config import GroupConfig
from headrace.coordinator.coordinator import GroupCoordinator
from headrace.coordinator.offsets import NO_PRODUCER_ID
from headrace.coordinator.records import decode
from headrace.coordinator.result import Caller, Result
from headrace.replica.partition import Partition
from headrace.storage.log import Log
from headrace.wire.control import read_marker
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse

log = logging.getLogger("headrace.groups")

RECORDS_PER_SPLIT_BATCH = 2000
"""Tombstones in one batch of an expiry run: some 200 KB, well below max.message.bytes."""

Entry = Callable[[Any, Caller, object, int], Result]


class GroupShard:
    """The groups of one partition. `coordinator` is None until they are loaded, and again after `unload`."""

    def __init__(self, partition: Partition, codec: int, now_ms: Callable[[], int]) -> None:
        self.partition = partition
        self.coordinator: GroupCoordinator | None = None
        self.state = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        """What to tell clients while there is no coordinator."""
        self._log = CoordinatorLog(partition, log)
        self._codec = codec
        self._now_ms = now_ms
        self._timer = DeadlineTimer(self._next_deadline_ms, self._on_deadline, now_ms)

    @property
    def groups(self) -> GroupCoordinator:
        """The coordinator of a loaded shard."""
        assert self.coordinator is not None
        return self.coordinator

    def start(self, coordinator: GroupCoordinator) -> None:
        """The groups are loaded: begin to serve them."""
        coordinator.on_loaded(self._now_ms())
        self.coordinator = coordinator
        self.state = ErrorCode.NONE
        self._timer.arm()

    def unload(self) -> None:
        """Serve them no more, and say so to everybody who waits."""
        self.state = ErrorCode.NOT_COORDINATOR
        self._timer.cancel()
        if self.coordinator is not None:
            send(self.coordinator.unload(self.state))
            self.coordinator = None

    # Requests

    def submit(self, entry: Entry, request: Any, caller: Caller) -> Any:
        """Run one of the coordinator's `on_...`: its response, or a future of it."""
        waiting = Waiting()
        now_ms = self._now_ms()
        self._carry_out(entry(request, caller, waiting, now_ms), now_ms)
        return waiting.response_or_future()

    def heartbeat(self, request: HeartbeatRequest) -> HeartbeatResponse:
        response = self.groups.heartbeat(request, self._now_ms())
        self._timer.arm()
        return response

    def on_topics_deleted(self, topics: Iterable[tuple[str, bytes]]) -> None:
        if self.coordinator is not None:
            self._carry_out(self.coordinator.on_topics_deleted(topics), self._now_ms())

    def on_marker(self, producer_id: int, commit: bool) -> None:
        """The end of a producer's transaction was appended to this partition."""
        if self.coordinator is not None:
            self.coordinator.replay_marker(producer_id, commit)

    # Writing

    def _carry_out(self, result: Result, now_ms: int) -> None:
        coordinator = self.groups
        send(result.completions)
        if not result.records:
            self._settle(coordinator, result, ErrorCode.NONE)
        elif result.atomic or len(result.records) <= RECORDS_PER_SPLIT_BATCH:
            self._append(coordinator, result, now_ms)
        else:
            for part in _split(result):
                self._append(coordinator, part, now_ms)
        self._timer.arm()

    def _append(self, coordinator: GroupCoordinator, result: Result, now_ms: int) -> None:
        batch = encode_records(
            (record.encode() for record in result.records),
            now_ms,
            codec=self._codec,
            producer_id=result.producer_id,
            producer_epoch=result.producer_epoch,
        )
        self._log.append(batch, now_ms, lambda error: self._settle(coordinator, result, error))

    def _settle(self, coordinator: GroupCoordinator, result: Result, error: ErrorCode) -> None:
        send(coordinator.settle(result, error, self._now_ms()))
        self._timer.arm()

    # Time

    def tick(self) -> None:
        """Do what is due by the clock."""
        self._timer.tick()

    def on_clock_set(self, delta_ms: int) -> None:
        if self.coordinator is not None:
            self.coordinator.on_clock_set(delta_ms)
            self._timer.cancel()

    def _next_deadline_ms(self) -> int | None:
        return self.coordinator.next_deadline_ms() if self.coordinator is not None else None

    def _on_deadline(self, now_ms: int) -> None:
        self._carry_out(self.groups.on_timer(now_ms), now_ms)


def load(log_: Log, config: GroupConfig, now_ms: int, chunk_bytes: int) -> GroupCoordinator:
    """Replay a partition's log into a new coordinator. Blocks: runs in a thread."""
    coordinator = GroupCoordinator(config)
    for header, batch in read_batches(log_, chunk_bytes):
        if header.is_control:
            marker = read_marker(batch)
            if marker is not None:
                coordinator.replay_marker(header.producer_id, marker.commit)
            continue
        producer_id = header.producer_id if header.is_transactional else NO_PRODUCER_ID
        for record in read_records(batch, decode):
            coordinator.replay(record, now_ms, producer_id)
    return coordinator


def _split(result: Result) -> Iterator[Result]:
    """Parts that fit into a batch each; what waits for the whole waits for the last."""
    parts = [
        Result(records=result.records[start : start + RECORDS_PER_SPLIT_BATCH])
        for start in range(0, len(result.records), RECORDS_PER_SPLIT_BATCH)
    ]
    parts[-1].settles = result.settles
    return iter(parts)
