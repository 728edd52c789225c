"""One partition of `__consumer_offsets` at work: its coordinator, its log, its timer.

A request runs through the coordinator at once; what it wants written goes into the log as one batch; answers leave when
that is done. On a slow disk the append ends later, and heartbeats go on meanwhile: they write nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from headrace.coordinator.config import GroupConfig
from headrace.coordinator.coordinator import GroupCoordinator
from headrace.coordinator.offsets import NO_PRODUCER_ID
from headrace.coordinator.records import GroupRecord, decode
from headrace.coordinator.result import Caller, Completion, Result
from headrace.replica.partition import Partition
from headrace.storage.errors import AppendError
from headrace.storage.log import Log
from headrace.storage.reservation import Appended
from headrace.wire.batch import BatchHeader, Record, decode_records, encode_batch, iter_batches
from headrace.wire.control import read_marker
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse

log = logging.getLogger("headrace.groups")

RECORDS_PER_SPLIT_BATCH = 2000
"""Tombstones in one batch of an expiry run: some 200 KB, well below max.message.bytes."""

Entry = Callable[[Any, Caller, object, int], Result]


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

    def future(self) -> asyncio.Future[Any]:
        self._future = asyncio.get_running_loop().create_future()
        return self._future


class GroupShard:
    """The groups of one partition. `coordinator` is None until they are loaded, and again after `unload`."""

    def __init__(self, partition: Partition, codec: int, now_ms: Callable[[], int]) -> None:
        self.partition = partition
        self.coordinator: GroupCoordinator | None = None
        self.state = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        """What to tell clients while there is no coordinator."""
        self._codec = codec
        self._now_ms = now_ms
        self._timer: asyncio.TimerHandle | None = None
        self._armed_ms = 0

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
        self._arm()

    def unload(self, state: ErrorCode = ErrorCode.NOT_COORDINATOR) -> None:
        """Serve them no more, and say so to everybody who waits."""
        self.state = state
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self.coordinator is not None:
            _send(self.coordinator.unload(state))
            self.coordinator = None

    # Requests

    def submit(self, entry: Entry, request: Any, caller: Caller) -> Any:
        """Run one of the coordinator's `on_...`: its response, or a future of it."""
        waiting = Waiting()
        now_ms = self._now_ms()
        self._carry_out(entry(request, caller, waiting, now_ms), now_ms)
        return waiting.response if waiting.response is not None else waiting.future()

    def heartbeat(self, request: HeartbeatRequest) -> HeartbeatResponse:
        response = self.groups.heartbeat(request, self._now_ms())
        self._arm()
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
        _send(result.completions)
        if not result.records:
            _send(coordinator.settle(result, ErrorCode.NONE, now_ms))
        elif result.atomic or len(result.records) <= RECORDS_PER_SPLIT_BATCH:
            self._append(coordinator, result, now_ms)
        else:
            for part in _split(result):
                self._append(coordinator, part, now_ms)
        self._arm()

    def _append(self, coordinator: GroupCoordinator, result: Result, now_ms: int) -> None:
        batch = _encode(result, now_ms, self._codec)
        try:
            appended = self.partition.append(memoryview(batch), now_ms, "coordinator")
        except AppendError as error:
            self._settle_failed(coordinator, result, error)
            return
        if isinstance(appended, Appended):
            _send(coordinator.settle(result, ErrorCode.NONE, now_ms))
        else:
            appended.add_done_callback(lambda done: self._appended_later(coordinator, result, done))

    def _appended_later(self, coordinator: GroupCoordinator, result: Result, done: asyncio.Future[Appended]) -> None:
        error = done.exception()
        if error is None:
            _send(coordinator.settle(result, ErrorCode.NONE, self._now_ms()))
            self._arm()
        elif isinstance(error, AppendError):
            self._settle_failed(coordinator, result, error)
        else:
            raise error

    def _settle_failed(self, coordinator: GroupCoordinator, result: Result, error: AppendError) -> None:
        log.error("%s-%d: group records not written: %s", self.partition.topic, self.partition.partition, error)
        _send(coordinator.settle(result, error.error_code, self._now_ms()))
        self._arm()

    # Time

    def tick(self) -> None:
        """Do what is due by the clock."""
        if self.coordinator is not None:
            now_ms = self._now_ms()
            deadline_ms = self.coordinator.next_deadline_ms()
            if deadline_ms is not None and deadline_ms <= now_ms:
                self._carry_out(self.coordinator.on_timer(now_ms), now_ms)

    def on_clock_set(self, delta_ms: int) -> None:
        if self.coordinator is not None:
            self.coordinator.on_clock_set(delta_ms)
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

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


def load(log_: Log, config: GroupConfig, now_ms: int, chunk_bytes: int) -> GroupCoordinator:
    """Replay a partition's log into a new coordinator. Blocks: runs in a thread."""
    coordinator = GroupCoordinator(config)
    for header, batch in _batches(log_, chunk_bytes):
        if header.is_control:
            marker = read_marker(batch)
            if marker is not None:
                coordinator.replay_marker(header.producer_id, marker.commit)
            continue
        producer_id = header.producer_id if header.is_transactional else NO_PRODUCER_ID
        for record in _group_records(decode_records(batch)):
            coordinator.replay(record, now_ms, producer_id)
    return coordinator


def _batches(log_: Log, chunk_bytes: int) -> Iterator[tuple[BatchHeader, memoryview]]:
    offset, end = log_.log_start_offset, log_.log_end_offset
    while offset < end:
        view = log_.read(offset, chunk_bytes, upper_offset=end).data
        if not view:
            return  # what lay behind this offset has been compacted away
        for position, header in iter_batches(view):
            offset = header.last_offset + 1
            yield header, view[position : position + header.size]


def _group_records(stored: list[Record]) -> Iterator[GroupRecord]:
    for record in stored:
        if record.key is not None:
            decoded = decode(record.key, record.value)
            if decoded is not None:
                yield decoded


def _encode(result: Result, now_ms: int, codec: int) -> bytearray:
    stored = [
        Record(offset, now_ms, key, value, ())
        for offset, (key, value) in enumerate(record.encode() for record in result.records)
    ]
    if result.producer_id == NO_PRODUCER_ID:
        return encode_batch(stored, codec=codec)
    return encode_batch(
        stored,
        codec=codec,
        producer_id=result.producer_id,
        producer_epoch=result.producer_epoch,
        is_transactional=True,
    )


def _split(result: Result) -> Iterator[Result]:
    """Parts that fit into a batch each; what waits for the whole waits for the last."""
    parts = [
        Result(records=result.records[start : start + RECORDS_PER_SPLIT_BATCH])
        for start in range(0, len(result.records), RECORDS_PER_SPLIT_BATCH)
    ]
    parts[-1].settles = result.settles
    return iter(parts)


def _send(completions: list[Completion]) -> None:
    for token, response in completions:
        assert isinstance(token, Waiting)
        token.complete(response)
