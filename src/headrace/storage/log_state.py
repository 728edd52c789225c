"""What a log knows of itself: its offsets, its segments, producers and epochs, and what is under way.

`_end` and `_view` are tuples, replaced whole; a reader takes `_end` first and `_view` after it, so that what it may read is
always in the segments it sees. `io` serialises everything that writes index, snapshot and checkpoint files or renames them,
in whichever thread that happens.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import NamedTuple

from headrace.clock import Clock
from headrace.storage.config import LogConfig
from headrace.storage.descriptors import Folder
from headrace.storage.epochs import LeaderEpochs
from headrace.storage.producer_entry import ProducerEntry
from headrace.storage.producers import Producers
from headrace.storage.reservation import Reservation
from headrace.storage.segment import Segment

Defer = Callable[[Callable[[], None]], None]


class LogEnd(NamedTuple):
    """Where the log ends: the next offset, and where its batch will be."""

    offset: int
    segment_base: int
    position: int


class View(NamedTuple):
    """The segments of a log, with their base offsets for searching."""

    bases: tuple[int, ...]
    segments: tuple[Segment, ...]

    @staticmethod
    def of(segments: tuple[Segment, ...]) -> View:
        return View(tuple(segment.base_offset for segment in segments), segments)


def run_now(job: Callable[[], None]) -> None:
    """The default for `defer`."""
    job()


class LogState:
    __slots__ = (
        "_abandoned",
        "_clock",
        "_config",
        "_decodes",
        "_end",
        "_next_offset",
        "_outstanding",
        "_tail",
        "_tail_size",
        "_view",
        "closed",
        "defer",
        "folder",
        "hints",
        "io",
        "is_new",
        "last_flush_ms",
        "leader_epochs",
        "log_start_offset",
        "partition",
        "pending_deletes",
        "pending_snapshots",
        "producers",
        "recovery_point",
        "snapshot_offset",
        "stray_snapshot",
        "topic",
        "topic_id",
    )

    def __init__(
        self,
        folder: Folder,
        topic: str,
        partition: int,
        config: LogConfig,
        segments: tuple[Segment, ...],
        *,
        log_start_offset: int = 0,
        log_end_offset: int = 0,
        recovery_point: int = 0,
        producers: Producers | None = None,
        leader_epochs: LeaderEpochs | None = None,
        topic_id: bytes | None = None,
        defer: Defer = run_now,
        now_ms: int = 0,
        clock: Clock | None = None,
    ) -> None:
        self.folder = folder
        self.topic = topic
        self.partition = partition
        self.topic_id = topic_id
        self.defer = defer
        self._clock = clock
        self.config = config
        self.log_start_offset = log_start_offset
        self.recovery_point = recovery_point
        self.producers = producers or Producers(log_end_offset)
        self.leader_epochs = leader_epochs or LeaderEpochs()
        self.last_flush_ms = now_ms
        self.closed = False
        # Nothing of this log was ever flushed, as far as we know.
        self.is_new = recovery_point <= log_start_offset
        # Where batches were found before: next offset -> (segment, position). A consumer goes on where it stopped.
        self.hints: dict[int, tuple[Segment, int]] = {}
        # (when, paths) of files renamed to .deleted that may go once nobody can be reading them any more.
        self.pending_deletes: list[tuple[int, list[str]]] = []
        # Producer state at the base offset of segments that were rolled to, until it is in a file.
        self.pending_snapshots: dict[int, dict[int, ProducerEntry]] = {}
        # The offset of the newest snapshot file.
        self.snapshot_offset = -1
        # The one snapshot file that is not at a segment's start: the end of the log at the last shutdown. -1: none.
        self.stray_snapshot = -1
        self.io = threading.RLock()
        self._outstanding: list[Reservation] = []
        self._abandoned: list[Segment] = []
        self._view = View.of(segments)
        self._tail = segments[-1]
        self._tail_size = self._tail.size
        self._next_offset = log_end_offset
        self._end = LogEnd(log_end_offset, self._tail.base_offset, self._tail.size)

    def __repr__(self) -> str:
        return f"Log({self.topic}-{self.partition}, {self.log_start_offset}..{self.log_end_offset})"

    @property
    def config(self) -> LogConfig:
        return self._config

    @config.setter
    def config(self, config: LogConfig) -> None:
        self._config = config
        self._decodes = config.decodes_records

    @property
    def log_end_offset(self) -> int:
        """The offset the next record will get; everything below is written."""
        return self._end.offset

    @property
    def end(self) -> LogEnd:
        return self._end

    @property
    def segments(self) -> tuple[Segment, ...]:
        return self._view.segments

    @property
    def view(self) -> View:
        return self._view

    @property
    def active(self) -> Segment:
        return self._view.segments[-1]

    @property
    def outstanding(self) -> int:
        """How many reservations are neither committed nor abandoned."""
        return len(self._outstanding)

    def replace_segments(self, segments: tuple[Segment, ...], end_offset: int) -> None:
        """After deletion or truncation: these are the segments now, and the log ends there."""
        self._view = View.of(segments)
        self._tail = segments[-1]
        self._tail_size = self._tail.size
        self._next_offset = end_offset
        self._end = LogEnd(end_offset, self._tail.base_offset, self._tail.size)

    def keep_segments(self, segments: tuple[Segment, ...]) -> None:
        """After segments were deleted from the front: these are left, and nothing else changes."""
        self._view = View.of(segments)
