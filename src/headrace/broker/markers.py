"""Writes the ends of transactions into the partitions that took part.

The transaction coordinator calls this once its decision is in its own log, and again after a crash: a marker that is there
already is no harm. In `__consumer_offsets` the group coordinator writes it, as the offsets of the transaction count from then.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from headrace.replica.topic_names import CONSUMER_OFFSETS
from headrace.storage.errors import AppendError
from headrace.storage.log import Appended
from headrace.wire.control import encode_marker
from headrace.wire.errors import ErrorCode

if TYPE_CHECKING:
    from headrace.broker.server import Broker
    from headrace.replica.partition import Partition

_NOT_READY = {
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_COORDINATOR,
}
"""What transaction coordinators do not expect to hear: to them the partition has no leader just now."""


async def write_markers(
    broker: Broker,
    producer_id: int,
    producer_epoch: int,
    commit: bool,
    coordinator_epoch: int,
    transaction_version: int,
    partitions: Iterable[tuple[str, int]],
    *,
    late_is_done: bool = True,
) -> dict[tuple[str, int], ErrorCode]:
    """Append a marker to each of these partitions; what became of each.

    A partition that knows a newer epoch refuses it. `late_is_done`: that is as good as written, if the producer has nothing
    open there.
    """
    marker = _Marker(broker, producer_id, producer_epoch, commit, coordinator_epoch, transaction_version, late_is_done)
    outcomes = {key: marker.write(*key) for key in partitions}
    return {key: await outcome if isinstance(outcome, asyncio.Future) else outcome for key, outcome in outcomes.items()}


class _Marker:
    """One transaction's end."""

    def __init__(
        self,
        broker: Broker,
        producer_id: int,
        producer_epoch: int,
        commit: bool,
        coordinator_epoch: int,
        transaction_version: int,
        late_is_done: bool,
    ) -> None:
        self.broker = broker
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.commit = commit
        self.coordinator_epoch = coordinator_epoch
        self.transaction_version = transaction_version
        self.late_is_done = late_is_done

    def write(self, topic: str, index: int) -> ErrorCode | asyncio.Future[ErrorCode]:
        partition = self.broker.replicas.get(topic, index)
        if partition is None or partition.offline:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if topic != CONSUMER_OFFSETS:
            return self._append(partition, None)
        shard = self.broker.groups.shard_of_partition(index)
        if isinstance(shard, ErrorCode):
            return ErrorCode.NOT_LEADER_OR_FOLLOWER if shard in _NOT_READY else shard
        return self._append(partition, lambda: shard.on_marker(self.producer_id, self.commit))

    def _append(
        self, partition: Partition, written: Callable[[], None] | None
    ) -> ErrorCode | asyncio.Future[ErrorCode]:
        now_ms = self.broker.clock.now_ms()
        batch = encode_marker(self.producer_id, self.producer_epoch, self.commit, self.coordinator_epoch, now_ms)
        try:
            appended = partition.append(memoryview(batch), now_ms, "coordinator", self.transaction_version)
        except AppendError as error:
            return ErrorCode.NONE if self._has_ended(partition, error) else error.error_code
        # The marker has its place, written or not: what was verified before is void behind it.
        self.broker.verifications.on_marker(partition, self.producer_id, self.producer_epoch)
        if isinstance(appended, asyncio.Future):
            return _later(appended, written)
        if written is not None:
            written()
        return ErrorCode.NONE

    def _has_ended(self, partition: Partition, error: AppendError) -> bool:
        """Whether the marker is refused because there is nothing left to end. A transaction of a newer epoch that is open
        there is one whose beginning the coordinator has lost: what comes next must not be taken for a part of it."""
        if not self.late_is_done or error.error_code is not ErrorCode.INVALID_PRODUCER_EPOCH:
            return False
        entry = partition.log.producers.entries.get(self.producer_id)
        return entry is None or entry.txn_first_offset < 0


def _later(appended: asyncio.Future[Appended], written: Callable[[], None] | None) -> asyncio.Future[ErrorCode]:
    """A callback and no task: `written` must be called before whatever was appended behind the marker counts."""
    outcome: asyncio.Future[ErrorCode] = asyncio.get_running_loop().create_future()

    def done(append: asyncio.Future[Appended]) -> None:
        error = append.exception()
        if error is None and written is not None:
            written()
        if outcome.done():
            return
        if error is None:
            outcome.set_result(ErrorCode.NONE)
        elif isinstance(error, AppendError):
            outcome.set_result(error.error_code)
        else:
            outcome.set_exception(error)

    appended.add_done_callback(done)
    return outcome
