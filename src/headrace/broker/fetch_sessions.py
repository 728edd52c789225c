"""Incremental fetch sessions (KIP-227): the broker remembers which partitions a reader follows.

A reader names its partitions once; later requests carry only what changed, and responses only partitions with news.
The cache is bounded; a session that was not used for two minutes makes way for a new one, and when none is that old a
new reader simply gets no session and sends full requests.

State of one partition in a session is what was last said about it, so that "news" can be told from the old.
"""

from __future__ import annotations

import secrets
from collections import OrderedDict
from dataclasses import dataclass

from headrace.wire.errors import ErrorCode
from headrace.wire.messages.fetch import FetchPartition, FetchRequest

NO_SESSION = 0
INITIAL_EPOCH = 0
FINAL_EPOCH = -1
EVICT_AFTER_MS = 120_000

TopicKey = str | bytes
"""A topic's name below version 13, its id from there on."""
PartitionKey = tuple[TopicKey, int]


class Followed:
    """One partition that a reader follows."""

    __slots__ = ("fetch", "fresh", "high_watermark", "key", "log_start_offset")

    def __init__(self, key: PartitionKey, fetch: FetchPartition) -> None:
        self.key = key
        self.fetch = fetch
        self.fresh = True
        """Not answered yet in this session: the first answer always mentions it."""
        self.high_watermark = -1
        self.log_start_offset = -1

    def news(self, high_watermark: int, log_start_offset: int) -> bool:
        """Whether these differ from what the reader was told last; remembers them."""
        changed = self.fresh or high_watermark != self.high_watermark or log_start_offset != self.log_start_offset
        self.fresh = False
        self.high_watermark = high_watermark
        self.log_start_offset = log_start_offset
        return changed


@dataclass(slots=True)
class FetchSession:
    """What one reader follows, in the order in which it is served."""

    session_id: int
    by_id: bool
    partitions: OrderedDict[PartitionKey, Followed]
    last_used_ms: int
    epoch: int = 1
    """The epoch that the next request must carry."""

    def update(self, request: FetchRequest) -> None:
        """Apply an incremental request: new or moved partitions, and those no longer wanted."""
        for topic in request.topics:
            name: TopicKey = topic.topic_id if self.by_id else topic.topic
            for fetch in topic.partitions:
                key = (name, fetch.partition)
                followed = self.partitions.get(key)
                if followed is None:
                    self.partitions[key] = Followed(key, fetch)
                else:
                    followed.fetch = fetch
        for forgotten in request.forgotten_topics_data:
            name = forgotten.topic_id if self.by_id else forgotten.topic
            for partition in forgotten.partitions:
                self.partitions.pop((name, partition), None)

    def served(self, key: PartitionKey) -> None:
        """This partition had data: others come first the next time."""
        self.partitions.move_to_end(key)

    def next_epoch(self) -> None:
        self.epoch = 1 if self.epoch == 2**31 - 1 else self.epoch + 1


@dataclass(frozen=True, slots=True)
class Wanted:
    """What one Fetch request asks for, session or not."""

    error: ErrorCode
    session: FetchSession | None
    incremental: bool
    partitions: list[Followed]

    @property
    def session_id(self) -> int:
        return self.session.session_id if self.session is not None else NO_SESSION


class FetchSessions:
    """The bounded cache of sessions."""

    def __init__(self, slots: int) -> None:
        self.slots = slots
        self.evicted = 0
        self._sessions: OrderedDict[int, FetchSession] = OrderedDict()

    def __len__(self) -> int:
        return len(self._sessions)

    @property
    def partitions(self) -> int:
        return sum(len(session.partitions) for session in self._sessions.values())

    def resolve(self, request: FetchRequest, by_id: bool, now_ms: int) -> Wanted:
        """Which partitions this request reads, after the session rules."""
        session_id, epoch = request.session_id, request.session_epoch
        if epoch in (INITIAL_EPOCH, FINAL_EPOCH):
            self._sessions.pop(session_id, None)
            full = _partitions(request, by_id)
            session = None
            if epoch == INITIAL_EPOCH:
                session = self._open(full, by_id, now_ms)
            return Wanted(ErrorCode.NONE, session, False, full)
        session = self._sessions.get(session_id)
        if session is None:
            return Wanted(ErrorCode.FETCH_SESSION_ID_NOT_FOUND, None, False, [])
        if session.by_id != by_id:
            return Wanted(ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR, None, False, [])
        if session.epoch != epoch:
            return Wanted(ErrorCode.INVALID_FETCH_SESSION_EPOCH, None, False, [])
        session.update(request)
        if not session.partitions:
            # A reader that follows nothing any more needs no session.
            del self._sessions[session_id]
            return Wanted(ErrorCode.NONE, None, True, [])
        session.next_epoch()
        session.last_used_ms = now_ms
        self._sessions.move_to_end(session_id)
        return Wanted(ErrorCode.NONE, session, True, list(session.partitions.values()))

    def _open(self, partitions: list[Followed], by_id: bool, now_ms: int) -> FetchSession | None:
        if len(self._sessions) >= self.slots:
            if not self._sessions:
                return None
            oldest_id, oldest = next(iter(self._sessions.items()))
            if now_ms - oldest.last_used_ms < EVICT_AFTER_MS:
                return None
            del self._sessions[oldest_id]
            self.evicted += 1
        session_id = NO_SESSION
        while session_id == NO_SESSION or session_id in self._sessions:
            session_id = secrets.randbelow(2**31 - 1) + 1
        followed = OrderedDict((partition.key, partition) for partition in partitions)
        session = self._sessions[session_id] = FetchSession(session_id, by_id, followed, now_ms)
        return session


def _partitions(request: FetchRequest, by_id: bool) -> list[Followed]:
    """Each partition once; if it is named again, the last word counts."""
    followed = {}
    for topic in request.topics:
        name: TopicKey = topic.topic_id if by_id else topic.topic
        for fetch in topic.partitions:
            followed[name, fetch.partition] = fetch
    return [Followed(key, fetch) for key, fetch in followed.items()]
