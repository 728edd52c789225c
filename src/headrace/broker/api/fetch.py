"""Fetch (key 1): read record batches from partitions, waiting for them if there are none yet.

Behaviour: answers with whole batches, beginning with the one that holds the offset. The first batch of a response is
sent even if it is larger than the limits, so that a reader can always go on. A request that finds less than min_bytes
waits until enough is appended or max_wait_ms has passed. What is not in the page cache is read by a thread. read_committed
readers get what lies below the last stable offset, with a list of the aborted transactions to leave out.
Versions: 4-18; incremental sessions from 7, topic ids from 13.
Not implemented: reading from followers, tiered storage.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from itertools import count
from typing import TYPE_CHECKING, Any

from headrace.broker.api.offset_for_leader_epoch import end_offset
from headrace.broker.context import RequestContext
from headrace.broker.fetch_sessions import Followed, Wanted
from headrace.broker.long_poll import LongPoll
from headrace.storage.errors import LogError, OffsetOutOfRange
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    PartitionData,
)

if TYPE_CHECKING:
    from headrace.broker.server import Broker
    from headrace.replica.partition import Partition
    from headrace.storage.log import Log

REQUEST = FetchRequest
TOPIC_IDS = 13
READ_COMMITTED = 1
NO_EPOCH = -1
_OFFSET_AND_LENGTH = struct.Struct(">qi")
_LAST_DELTA = struct.Struct(">i")
_LAST_DELTA_AT = 23
LOCAL_RESPONSE_BYTES = 1024 * 1024
"""What a client on this machine gets at once: measured faster than longer answers. Over a real network those save round trips, so
there the request's own limits are all (docs/decisions/0004)."""
LEAST_ROOM = LOCAL_RESPONSE_BYTES // 8
"""With less room left a short answer is full: to look for a batch that fits costs more than it brings."""
TURNS = count()
"""Where the next request without a session begins to read: short answers must not always serve the same partition."""


def handle(broker: Broker, request: FetchRequest, context: RequestContext) -> Any:
    by_id = context.api_version >= TOPIC_IDS
    wanted = broker.fetch_sessions.resolve(request, by_id, broker.clock.now_ms())
    if wanted.error:
        return FetchResponse(error_code=wanted.error, session_id=0)
    reading = Reading(broker, request, wanted, by_id)
    if context.on_this_machine:
        reading.shorten()
    try:
        reading.read(nowait=True)
    except BlockingIOError:
        return reading.finish_cold()
    if reading.enough() or request.max_wait_ms <= 0:
        return reading.response()
    return LongPoll(reading).run()


class Reading:
    """One Fetch request at work."""

    __slots__ = (
        "answers",
        "broker",
        "by_id",
        "committed",
        "conclusive",
        "least_room",
        "limit",
        "long_poll",
        "request",
        "size",
        "turn",
        "wanted",
    )

    def __init__(self, broker: Broker, request: FetchRequest, wanted: Wanted, by_id: bool) -> None:
        self.broker = broker
        self.request = request
        self.wanted = wanted
        self.by_id = by_id
        self.committed = request.isolation_level == READ_COMMITTED
        self.limit = min(request.max_bytes, broker.fetch_max_bytes)
        self.least_room = 0
        self.turn = 0
        """The position in `wanted.partitions` where reading begins."""
        self.answers: list[tuple[Followed, PartitionData]] = []
        self.size = 0
        self.conclusive = False
        """Something must be told now, however little was read: an error."""
        self.long_poll: LongPoll | None = None

    def shorten(self) -> None:
        """Answer with less than was asked for, and then with another partition's records each time."""
        partitions = self.wanted.partitions
        limit = max(LOCAL_RESPONSE_BYTES, self.request.min_bytes)
        if limit < self.limit:
            self.limit = limit
            self.least_room = LEAST_ROOM
            if (
                partitions
                and self.wanted.session is None
                and len(partitions) * partitions[0].fetch.partition_max_bytes > limit
            ):
                self.turn = next(TURNS) % len(partitions)

    def enough(self) -> bool:
        if self.conclusive or self.size >= self.request.min_bytes or not self.wanted.partitions:
            return True
        return self.size > 0 and self._ends_with_a_segment()

    def _ends_with_a_segment(self) -> bool:
        """Whether there is more in a later segment: reading stops at the end of one, so that waiting would bring nothing."""
        for followed, data in self.answers:
            partition = self.partition(followed)
            if data.records and partition is not None:
                last = (data.last_stable_offset if self.committed else data.high_watermark) - 1
                bases = partition.log.view.bases
                if bisect_right(bases, followed.fetch.fetch_offset) != bisect_right(bases, last):
                    return True
        return False

    def read(self, nowait: bool) -> None:
        """Read every partition within the limits. Raises BlockingIOError if a disk would have to be waited for."""
        broker, committed = self.broker, self.committed
        topics = broker.replicas.topics_by_id if self.by_id else broker.replicas.topics
        room = max(0, min(self.limit, broker.dispatcher.output_room()))
        answers: list[tuple[Followed, PartitionData]] = []
        self.size, self.conclusive = 0, False
        wanted, turn = self.wanted.partitions, self.turn
        for followed in wanted[turn:] + wanted[:turn] if turn else wanted:
            fetch = followed.fetch
            topic, index = followed.key
            partitions = topics.get(topic)
            partition = partitions.get(index) if partitions is not None else None
            if partition is None:
                data = self._unknown(index, partitions is None)
            else:
                data = self._read_partition(partition, fetch, room, committed, nowait)
            if data.error_code or data.diverging_epoch.epoch != NO_EPOCH:
                self.conclusive = True
            elif data.records:
                length = len(data.records)
                self.size += length
                room -= min(room, length)
                if room < self.least_room and self.size >= self.request.min_bytes:
                    room = 0
            answers.append((followed, data))
        self.answers = answers[len(answers) - turn :] + answers[: len(answers) - turn] if turn else answers

    def _read_partition(
        self, partition: Partition, fetch: FetchPartition, room: int, committed: bool, nowait: bool
    ) -> PartitionData:
        try:
            return _read(partition, fetch, room, self.size == 0, committed, nowait)
        except BlockingIOError:
            raise
        except LogError as error:
            return _error(partition.partition, error.error_code)
        except OSError as error:
            # This may be a reader's thread; directories are the loop's.
            self.broker.loop.call_soon_threadsafe(partition.directory.fail, error)
            return _error(partition.partition, ErrorCode.KAFKA_STORAGE_ERROR)

    def response(self) -> FetchResponse:
        """Put what was read into the response; in a session, only what is news."""
        session, incremental = self.wanted.session, self.wanted.incremental
        topics: dict[Any, list[PartitionData]] = {}
        for followed, data in self.answers:
            news = followed.news(data.high_watermark, data.log_start_offset)
            if data.error_code:
                followed.fresh = True
            nothing = not data.records and not data.error_code and data.diverging_epoch.epoch == NO_EPOCH
            if incremental and not news and nothing:
                continue
            if incremental and data.records and not data.error_code:
                session.served(followed.key)
            topics.setdefault(followed.key[0], []).append(data)
        self.broker.meters.bytes_out += self.size
        if self.by_id:
            responses = [FetchableTopicResponse(topic_id=key, partitions=rows) for key, rows in topics.items()]
        else:
            responses = [FetchableTopicResponse(topic=key, partitions=rows) for key, rows in topics.items()]
        return FetchResponse(session_id=self.wanted.session_id, responses=responses)

    async def finish_cold(self) -> FetchResponse:
        """Something is on disk only: read all of it in a thread."""
        await self.broker.run_reader(self.read, False)
        if not self.enough():
            return await LongPoll(self).run()
        return self.response()

    def stop_waiting(self) -> None:
        """The broker shuts down: answer with what there is."""
        if self.long_poll is not None:
            self.long_poll.stop()

    def partition(self, followed: Followed) -> Partition | None:
        topics = self.broker.replicas.topics_by_id if self.by_id else self.broker.replicas.topics
        topic, index = followed.key
        return topics[topic].get(index) if topic in topics else None

    def _unknown(self, index: int, unknown_topic: bool) -> PartitionData:
        unknown_id = self.by_id and unknown_topic
        return _error(index, ErrorCode.UNKNOWN_TOPIC_ID if unknown_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


def _error(index: int, code: ErrorCode) -> PartitionData:
    return PartitionData(partition_index=index, error_code=code, high_watermark=-1, records=b"")


def _read(
    partition: Partition, fetch: FetchPartition, room: int, first: bool, committed: bool, nowait: bool
) -> PartitionData:
    epoch = fetch.current_leader_epoch
    if epoch != NO_EPOCH and epoch != partition.leader_epoch:
        newer = epoch > partition.leader_epoch
        return _failed(partition, ErrorCode.UNKNOWN_LEADER_EPOCH if newer else ErrorCode.FENCED_LEADER_EPOCH)
    if partition.offline:
        return _failed(partition, ErrorCode.KAFKA_STORAGE_ERROR)
    if fetch.last_fetched_epoch >= 0:
        diverging = _diverging(partition, fetch)
        if diverging is not None:
            return diverging
    log = partition.log
    high_watermark = partition.high_watermark
    stable = partition.last_stable_offset
    upper = stable if committed else high_watermark
    offset = fetch.fetch_offset
    records: Any = b""
    aborted: list[AbortedTransaction] | None = [] if committed else None
    if offset != upper:
        limit = min(room, fetch.partition_max_bytes)
        if offset < log.log_start_offset or offset > log.log_end_offset:
            return _failed(partition, ErrorCode.OFFSET_OUT_OF_RANGE)
        if offset < upper and (limit > 0 or first):
            try:
                records = log.read(offset, limit, upper_offset=upper, min_one_batch=first, nowait=nowait).data
                if committed and records:
                    aborted = _aborted(log, offset, records, nowait)
            except OffsetOutOfRange:
                return _failed(partition, ErrorCode.OFFSET_OUT_OF_RANGE)
    return PartitionData(
        partition_index=partition.partition,
        high_watermark=high_watermark,
        last_stable_offset=stable,
        log_start_offset=log.log_start_offset,
        aborted_transactions=aborted,
        records=records,
    )


def _aborted(log: Log, offset: int, records: memoryview, nowait: bool) -> list[AbortedTransaction]:
    """Those that have records among these. Most logs have none, and then nobody looks at the batches."""
    if not any(segment.has_aborted for segment in log.segments):
        return []
    return [
        AbortedTransaction(producer_id=producer_id, first_offset=first_offset)
        for producer_id, first_offset in log.aborted_transactions(offset, _end_offset(records), nowait=nowait)
    ]


def _end_offset(records: memoryview) -> int:
    """The offset behind the last of these batches."""
    position, size = 0, len(records)
    while True:
        base_offset, length = _OFFSET_AND_LENGTH.unpack_from(records, position)
        following = position + _OFFSET_AND_LENGTH.size + length
        if following >= size:
            return int(base_offset + _LAST_DELTA.unpack_from(records, position + _LAST_DELTA_AT)[0] + 1)
        position = following


def _failed(partition: Partition, code: ErrorCode) -> PartitionData:
    """A partition that is here and cannot be read as asked."""
    return PartitionData(
        partition_index=partition.partition,
        error_code=code,
        high_watermark=-1,
        aborted_transactions=None,
        records=b"",
    )


def _diverging(partition: Partition, fetch: FetchPartition) -> PartitionData | None:
    """A reader whose last epoch ended earlier here than where it reads: it must truncate first (KIP-595)."""
    epoch, end = end_offset(partition, fetch.last_fetched_epoch)
    if epoch == NO_EPOCH:
        return _failed(partition, ErrorCode.OFFSET_OUT_OF_RANGE)
    if epoch == fetch.last_fetched_epoch and end >= fetch.fetch_offset:
        return None
    return PartitionData(
        partition_index=partition.partition,
        high_watermark=partition.high_watermark,
        last_stable_offset=partition.last_stable_offset,
        log_start_offset=partition.log_start_offset,
        diverging_epoch=EpochEndOffset(epoch=epoch, end_offset=end),
        aborted_transactions=None,
        records=b"",
    )
