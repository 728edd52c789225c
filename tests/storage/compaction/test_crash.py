"""A crash at any step of a round leaves a log that reads the same, without leftovers, and that can be cleaned again."""

from __future__ import annotations

import contextlib
from pathlib import Path
from shutil import copytree

from headrace.fs import Buffer
from headrace.storage import files
from headrace.storage.compaction import planning
from headrace.storage.compaction.cleaning import Finished, Round
from headrace.storage.compaction.swapping import swap_in
from headrace.storage.config import LogConfig
from headrace.storage.log import Log
from headrace.wire.batch import Record, encode_batch
from tests.storage.builders import NOW, UnsyncedFs, append, crash, new_log
from tests.storage.compaction.rounds import clean, last_values, records_of

CONFIG = LogConfig(
    segment_bytes=700, index_interval_bytes=100, cleanup_policy=frozenset({"compact"}), delete_retention_ms=0
)
UNFINISHED = (files.CLEANED, files.SWAP, files.DELETED, files.TEMPORARY)


class Died(BaseException):
    """Not an error that anybody could handle."""


class MortalFs(UnsyncedFs):
    """Dies at the given change of the disk and does nothing any more."""

    def __init__(self, steps: int = 1 << 30) -> None:
        super().__init__()
        self.steps = steps

    def _step(self) -> None:
        self.steps -= 1
        if self.steps < 0:
            raise Died

    def rename(self, source: str, target: str) -> None:
        self._step()
        super().rename(source, target)

    def unlink(self, path: str) -> None:
        self._step()
        super().unlink(path)

    def pwrite(self, fd: int, data: Buffer, position: int) -> int:
        self._step()
        return super().pwrite(fd, data, position)

    def fsync(self, fd: int) -> None:
        self._step()


def filled(path: Path, fs: MortalFs | None = None) -> Log:
    log = new_log(path, CONFIG, fs=fs)
    for number in range(14):
        value = None if number in (5, 9) else b"%d" % number * 20
        records = [
            Record(timestamp=NOW + number, key=b"k%d" % (number % 5), value=value),
            # In the middle nothing stays, so that a segment may end up empty.
            Record(timestamp=NOW + number, key=b"once %d" % number if number < 4 else b"often", value=b"x"),
        ]
        append(log, memoryview(encode_batch(records, producer_id=9, producer_epoch=0, base_sequence=2 * number)))
    log.roll(NOW)
    return log


def two_rounds(log: Log) -> None:
    first = clean(log, now_ms=NOW)
    clean(log, first.first_dirty_offset, now_ms=NOW + 1)
    log.delete_expired_files(NOW + 10**9)


def test_a_crash_at_every_step(tmp_path: Path) -> None:
    origin = tmp_path / "origin"
    log = filled(origin)
    expected, end = last_values(records_of(log)), log.log_end_offset
    log.close()
    counter = MortalFs()
    copytree(origin, tmp_path / "whole")
    log = new_log(tmp_path / "whole", CONFIG, fs=counter, clean=True, recovery_point=end)
    begun = counter.steps
    two_rounds(log)
    steps = begun - counter.steps
    crash(log)
    assert steps > 40
    for step in range(steps):
        path = copytree(origin, tmp_path / f"step-{step}")
        fs = MortalFs()
        log = new_log(path, CONFIG, fs=fs, clean=True, recovery_point=end)
        fs.steps = step
        try:
            two_rounds(log)
        except Died:
            pass
        else:
            raise AssertionError("it lived on")
        fs.steps = 1 << 30
        crash(log)
        check(path, expected, end)


def check(path: Path, expected: dict[bytes, bytes], end: int) -> None:
    log = new_log(path, CONFIG, recovery_point=end)
    assert not [file.name for file in path.iterdir() if file.name.endswith(UNFINISHED)]
    assert log.log_end_offset == end
    assert last_values(records_of(log)) == expected
    assert log.producers.entries[9].last_sequence == end - 1
    clean(log, now_ms=NOW + 2)
    assert last_values(records_of(log)) == expected
    bases = {segment.base_offset for segment in log.segments}
    for suffix in (files.LOG, files.OFFSET_INDEX):
        found = {files.offset_of(file.name) for file in path.iterdir() if file.name.endswith(suffix)}
        assert found - {log.active.base_offset} == bases - {log.active.base_offset}
    log.close()


def test_a_crash_of_the_start_that_finishes_a_swap(tmp_path: Path) -> None:
    """The old segments are half gone when the machine goes down again."""
    origin = tmp_path / "origin"
    log = filled(origin)
    expected, end = last_values(records_of(log)), log.log_end_offset
    jobs = []
    log.defer = jobs.append
    cleanable = planning.assess(log, None, NOW, end)
    first = next(
        Round(planning.make_task(log, cleanable, planning.last_of_producers(log), NOW, 1000, float("inf"))).run()
    )
    assert not isinstance(first, Finished)
    assert swap_in(log, first, NOW)
    crash(log)
    for step in range(12):
        path = copytree(origin, tmp_path / f"step-{step}")
        fs = MortalFs(step)
        with contextlib.suppress(Died):
            new_log(path, CONFIG, fs=fs, recovery_point=end)
        check(path, expected, end)


def test_a_log_that_changed_meanwhile_is_left_alone(tmp_path: Path) -> None:
    log = filled(tmp_path)
    cleanable = planning.assess(log, None, NOW, log.log_end_offset)
    first = next(
        Round(planning.make_task(log, cleanable, planning.last_of_producers(log), NOW, 1000, float("inf"))).run()
    )
    assert not isinstance(first, Finished)
    log.advance_log_start(log.segments[1].base_offset)
    log.apply_retention(NOW)
    segments = log.segments
    assert not swap_in(log, first, NOW)
    assert log.segments == segments
    assert not [file.name for file in tmp_path.iterdir() if file.name.endswith(files.CLEANED)]
    log.close()
