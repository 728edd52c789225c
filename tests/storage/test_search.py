"""Records by time, leader epochs by offset."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.storage.config import LogConfig
from headrace.storage.epochs import LeaderEpochs
from headrace.wire.batch import Record, encode_batch
from tests.storage.builders import NOW, append, batch, new_log


@settings(max_examples=60, deadline=None)
@given(
    batches=st.lists(st.lists(st.integers(0, 50), min_size=1, max_size=4), min_size=1, max_size=30),
    start=st.integers(0, 20),
    closed=st.booleans(),
)
def test_offset_for_timestamp_is_the_first_not_older(
    tmp_path_factory: pytest.TempPathFactory, batches: list[list[int]], start: int, closed: bool
) -> None:
    path = tmp_path_factory.mktemp("t")
    log = new_log(path, LogConfig(segment_bytes=700, index_interval_bytes=100))
    times = [time for times in batches for time in times]
    for number, stamps in enumerate(batches):
        append(log, memoryview(encode_batch([Record(timestamp=NOW + t) for t in stamps], codec=number % 5)))
    if closed:
        log.close()
        log = new_log(path, log.config, clean=True)
    start = min(start, len(times))
    log.advance_log_start(start)
    for wanted in range(52):
        expected = next(
            ((NOW + t, offset, 0) for offset, t in enumerate(times) if t >= wanted and offset >= start), None
        )
        assert log.offset_for_timestamp(NOW + wanted) == expected
        upper = len(times) // 2
        bounded = expected if expected is not None and expected[1] < upper else None
        assert log.offset_for_timestamp(NOW + wanted, upper) == bounded
    largest = max(times)
    first = times.index(largest)
    if first >= start:
        assert log.max_timestamp() == (NOW + largest, first, 0)
    log.close()


def test_an_empty_log_has_no_times(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    assert log.offset_for_timestamp(0) is None
    assert log.max_timestamp() is None
    append(log, batch(timestamp=-1, step=0))
    assert log.max_timestamp() is None
    log.close()


def test_end_offset_for_epoch(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    for epoch in (2, 2, 5, 7):
        append(log, batch(10), leader_epoch=epoch)
    assert log.leader_epochs.entries == ((2, 0), (5, 20), (7, 30))
    for asked, answer in {
        -1: (-1, -1), 0: (0, 0), 2: (2, 20), 3: (2, 20), 5: (5, 30), 6: (5, 30), 7: (7, 40), 8: (-1, -1)
    }.items():  # fmt: skip
        assert log.end_offset_for_epoch(asked) == answer
    assert [log.leader_epochs.epoch_for_offset(offset) for offset in (0, 19, 20, 29, 30, 99)] == [2, 2, 5, 5, 7, 7]
    log.close()
    assert (tmp_path / "leader-epoch-checkpoint").read_text() == "0\n3\n2 0\n5 20\n7 30\n"


def test_epochs_that_contradict_give_way() -> None:
    epochs = LeaderEpochs([(1, 0), (2, 10), (4, 20)])
    epochs.assign(3, 15)
    assert epochs.entries == ((1, 0), (2, 10), (3, 15))
    epochs.truncate_from_start(12)
    assert epochs.entries == ((2, 12), (3, 15))
    epochs.truncate_from_end(15)
    assert epochs.entries == ((2, 12),)
    epochs.truncate_from_end(0)
    assert epochs.entries == () and epochs.latest == -1
