"""What of a log may be cleaned, and when it is due."""

from __future__ import annotations

import time
from pathlib import Path

from headrace.storage.compaction import planning
from headrace.storage.compaction.cleaning import SourceSegment, Task, group_by_size
from headrace.storage.compaction.planning import Cleanable
from headrace.storage.compaction.source import Pace
from headrace.storage.config import LogConfig
from headrace.storage.log import Log
from tests.storage.builders import NOW, append, batch, new_log

HOUR = 3_600_000
SIZE = len(batch())


def hourly(path: Path, **options: object) -> Log:
    """Five closed segments of one record each, an hour apart, and an active one."""
    config = LogConfig(segment_bytes=SIZE, cleanup_policy=frozenset({"compact"}), **options)  # type: ignore[arg-type]
    log = new_log(path, config)
    for number in range(6):
        append(log, batch(timestamp=NOW + number * HOUR), now_ms=NOW + number * HOUR)
    assert len(log.segments) == 6
    return log


def assess(log: Log, cleaned_to: int | None = None, *, hours: float = 5, stable: int = 6) -> Cleanable:
    return planning.assess(log, cleaned_to, NOW + int(hours * HOUR), stable)


def test_everything_but_the_active_segment(tmp_path: Path) -> None:
    log = hourly(tmp_path)
    assert assess(log) == Cleanable(0, 5, 0, 5 * SIZE, 0)
    assert assess(log, 2) == Cleanable(2, 5, 2 * SIZE, 3 * SIZE, 0)
    assert assess(log, 2).dirty_ratio == 0.6
    assert assess(log, 5).dirty_bytes == 0
    assert not assess(log, 5).is_due(0.0)
    # A checkpoint from before something was lost at either end.
    assert assess(log, 7).start == 0
    log.advance_log_start(3)
    assert assess(log, 1).start == 3
    log.close()


def test_not_beyond_the_last_stable_offset(tmp_path: Path) -> None:
    log = hourly(tmp_path)
    assert assess(log, stable=3).end == 3
    assert assess(log, stable=0).dirty_bytes == 0
    assert assess(log, 4, stable=3).dirty_bytes == 0
    log.close()


def test_what_is_young_is_left_alone(tmp_path: Path) -> None:
    log = hourly(tmp_path, min_compaction_lag_ms=2 * HOUR)
    assert assess(log, hours=2.5).end == 1
    assert assess(log, hours=5).end == 4
    assert assess(log, hours=1).end == 0
    log.close()


def test_what_is_old_is_due_however_little_it_is(tmp_path: Path) -> None:
    log = hourly(tmp_path, max_compaction_lag_ms=3 * HOUR)
    assert not assess(log, 4, hours=7).is_due(0.9)
    overdue = assess(log, 4, hours=7.5)
    assert overdue.overdue_ms == HOUR // 2
    assert overdue.is_due(0.9)
    assert not assess(log, 5, hours=100).is_due(0.9)
    log.close()


def test_the_ratio_decides_otherwise() -> None:
    assert Cleanable(0, 9, 50, 50, 0).is_due(0.49)
    assert not Cleanable(0, 9, 50, 50, 0).is_due(0.5)
    assert not Cleanable(0, 9, 0, 0, 5).is_due(0.0)


def test_neighbours_that_fit_together_are_one_group() -> None:
    def bases(*sizes: int, limit: int = 100, step: int = 10) -> list[list[int]]:
        segments = tuple(SourceSegment(slot * step, size, 8, 12) for slot, size in enumerate(sizes))
        task = Task("", segments, 0, len(sizes) * step, 0, 0, limit, 40, 4096, 1)
        return [[one.base_offset for one in group] for group in group_by_size(list(segments), task)]

    assert bases(60, 40, 1, 99, 100) == [[0, 10], [20, 30], [40]]
    assert bases(500, 1) == [[0], [10]]
    # Three time indexes of 12 bytes fit into 40, four do not.
    assert bases(1, 1, 1, 1) == [[0, 10, 20], [30]]
    # Offsets in an index are 31 bits.
    assert bases(1, 1, 1, step=2**30) == [[0, 2**30], [2**31]]


def test_a_pace_is_kept() -> None:
    pace = Pace(1_000_000)
    started = time.monotonic()
    for _ in range(10):
        pace.spend(20_000)
    assert time.monotonic() - started >= 0.19
