"""A crash at any byte leaves a log that opens, with every whole batch before the damage."""

from __future__ import annotations

import os
import random
import shutil
import struct
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.fs import Fs
from headrace.storage.config import LogConfig
from headrace.storage.errors import LogError
from headrace.storage.log import Log
from tests.storage.builders import NOW, UnsyncedFs, append, batch, crash, headers, idempotent, new_log, read_all

CONFIG = LogConfig(segment_bytes=1500, index_interval_bytes=150)


def fill(path: Path, batches: int = 30, config: LogConfig = CONFIG) -> tuple[bytes, list[int]]:
    """A crashed log; its bytes, and the size of the last segment after each of its batches."""
    log = new_log(path, config)
    ends: list[int] = []
    for number in range(batches):
        rolled_at = len(log.segments)
        append(log, idempotent(number * 2, 2, timestamp=NOW + number), leader_epoch=number // 8)
        ends = [*ends, log.active.size] if len(log.segments) == rolled_at else [log.active.size]
    data = read_all(log)
    crash(log)
    return data, ends


def check(log: Log, data: bytes) -> None:
    """The log holds exactly the batches in `data`, and everything about them is consistent."""
    assert read_all(log) == data
    found = headers(data)
    end = found[-1].last_offset + 1 if found else 0
    assert log.log_end_offset == end
    assert log.size == len(data)
    assert [entry for entry in log.leader_epochs.entries if entry[1] >= end] == []
    assert log.leader_epochs.entries == tuple(
        (epoch, min(h.base_offset for h in found if h.partition_leader_epoch == epoch))
        for epoch in sorted({h.partition_leader_epoch for h in found})
    )
    if found:
        assert log.producers.entries[7].last_offset == end - 1
        assert log.producers.entries[7].last_sequence == end - 1
    for offset in range(end):
        assert headers(log.read(offset, 1).data)[0].base_offset == offset - offset % 2
    assert append(log, idempotent(end, 2), leader_epoch=9).first_offset == end


def last_file(path: Path) -> Path:
    return max(path.glob("*.log"))


def test_cut_at_every_byte_of_the_last_two_batches(tmp_path: Path) -> None:
    origin = tmp_path / "origin"
    data, ends = fill(origin)
    assert len(ends) >= 3
    whole = last_file(origin).read_bytes()
    before = data[: len(data) - len(whole)]
    for cut in range(ends[-3], len(whole) + 1):
        path = tmp_path / "t-0"
        shutil.copytree(origin, path)
        last_file(path).write_bytes(whole[:cut])
        log = new_log(path, CONFIG)
        check(log, before + whole[: max(end for end in ends if end <= cut)])
        log.close()
        clean = new_log(path, CONFIG, clean=True)
        assert clean.log_end_offset == log.log_end_offset
        clean.close()
        shutil.rmtree(path)


def test_every_flipped_byte_of_the_last_two_batches_is_noticed(tmp_path: Path) -> None:
    origin = tmp_path / "origin"
    data, ends = fill(origin)
    whole = last_file(origin).read_bytes()
    before = data[: len(data) - len(whole)]
    for position in range(ends[-3], len(whole)):
        path = tmp_path / "t-0"
        shutil.copytree(origin, path)
        damaged = bytearray(whole)
        damaged[position] ^= 1 << position % 8
        last_file(path).write_bytes(damaged)
        log = new_log(path, CONFIG)
        start = max(end for end in [0, *ends] if end <= position)
        # Leader epoch and base offset are not under the checksum; a base offset that grew, or another epoch, looks sound.
        if position - start >= 16 or position - start in (8, 9, 10, 11):
            assert read_all(log) == before + whole[:start]
            check(log, before + whole[:start])
        else:
            assert read_all(log).startswith(before + whole[:start])
            append(log, batch(), leader_epoch=0)
        log.close()
        shutil.rmtree(path)


@pytest.mark.parametrize("tail", [b"\0", b"\0" * 5000, b"\xff" * 77, bytes(range(256)) * 20])
def test_what_follows_the_last_batch_is_cut_off(tmp_path: Path, tail: bytes) -> None:
    data, _ = fill(tmp_path)
    path = last_file(tmp_path)
    path.write_bytes(path.read_bytes() + tail)
    log = new_log(tmp_path, CONFIG)
    check(log, data)
    log.close()


def remove(file: Path) -> None:
    file.unlink()


def empty(file: Path) -> None:
    file.write_bytes(b"")


def shorten(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-3])


def scramble(file: Path) -> None:
    file.write_bytes(random.Random(file.name).randbytes(file.stat().st_size or 24))


def zero_tail(file: Path) -> None:
    file.write_bytes(file.read_bytes() + bytes(240))


@pytest.mark.parametrize("damage", [remove, empty, shorten, scramble, zero_tail])
@pytest.mark.parametrize("kind", ["*.index", "*.timeindex", "*.snapshot", "leader-epoch-checkpoint"])
@pytest.mark.parametrize("clean", [True, False])
def test_damaged_helper_files_cost_no_data(
    tmp_path: Path, damage: Callable[[Path], None], kind: str, clean: bool
) -> None:
    data, _ = fill(tmp_path)
    log = new_log(tmp_path, CONFIG)
    end = log.log_end_offset
    log.flush()
    if clean:
        log.close()
    else:
        crash(log)
    found = list(tmp_path.glob(kind))
    assert found
    for file in found:
        damage(file)
    again = new_log(tmp_path, CONFIG, clean=clean, recovery_point=end)
    assert again.log_end_offset == end
    assert read_all(again) == data
    for offset in range(end):
        assert headers(again.read(offset, 1).data)[0].base_offset == offset - offset % 2
    assert again.producers.entries[7].last_sequence == end - 1
    assert again.offset_for_timestamp(NOW + 11) is not None
    assert again.leader_epochs.latest == 3
    again.close()


@pytest.mark.parametrize("at", [-1, -30, -200])
def test_damage_behind_a_clean_shutdown_is_found_and_cut(tmp_path: Path, at: int) -> None:
    config = LogConfig(index_interval_bytes=150)
    log = new_log(tmp_path, config)
    for number in range(10):
        append(log, idempotent(number * 2, 2), leader_epoch=number // 8)
    data = read_all(log)
    log.close()
    file = last_file(tmp_path)
    file.write_bytes(file.read_bytes()[:at])
    again = new_log(tmp_path, config, clean=True, recovery_point=20)
    whole = [
        header
        for header in headers(data)
        if sum(h.size for h in headers(data)[: header.base_offset // 2 + 1]) <= len(data) + at
    ]
    check(again, data[: sum(header.size for header in whole)])
    again.close()
    assert again.folder.files.open_count == 0


class SyncedFs(UnsyncedFs):
    """Knows the names of files that were synced."""

    def __init__(self) -> None:
        super().__init__()
        self.synced: set[str] = set()

    def fsync(self, fd: int) -> None:
        self.synced.add(os.path.basename(os.readlink(f"/proc/self/fd/{fd}")))


def test_what_a_crashed_process_left_unsynced_is_synced_by_the_next_flush(tmp_path: Path) -> None:
    fill(tmp_path)
    fs = SyncedFs()
    log = new_log(tmp_path, CONFIG, fs=fs)
    log.flush()
    assert {segment.log.name for segment in log.segments} <= fs.synced
    assert len(log.segments) > 1
    assert log.recovery_point == log.log_end_offset
    log.close()


def test_a_start_that_never_ended_well_recovers_again(tmp_path: Path) -> None:
    data, _ = fill(tmp_path)
    for _ in range(3):
        log = new_log(tmp_path, CONFIG)
        assert read_all(log) == data
        crash(log)


class CountingFs(Fs):
    """Counts the bytes read from .log files."""

    def __init__(self) -> None:
        super().__init__()
        self.read = 0

    def pread(self, fd: int, length: int, position: int) -> bytes:
        self.read += length
        return super().pread(fd, length, position)


def test_only_what_was_not_flushed_is_read(tmp_path: Path) -> None:
    config = LogConfig(segment_bytes=1 << 20)
    log = new_log(tmp_path, config)
    for _ in range(250):
        append(log, batch(10, size=1000))
    log.flush()
    point = log.recovery_point
    append(log, batch(10, size=1000))
    crash(log)
    fs = CountingFs()
    again = new_log(tmp_path, config, fs=fs, recovery_point=point)
    assert again.log_end_offset == 2510
    assert fs.read < 60_000 < again.size
    again.close()
    for clean, limit in ((True, 60_000), (False, 2 << 20)):
        fs = CountingFs()
        again = new_log(tmp_path, config, fs=fs, clean=clean, recovery_point=2510)
        assert again.recovery_point == 2510
        assert fs.read < limit
        again.close()


def test_recovery_builds_the_same_indexes_as_appending(tmp_path: Path) -> None:
    config = LogConfig(segment_bytes=1500, index_interval_bytes=150)
    fill(tmp_path, 40, config)
    log = new_log(tmp_path, config)
    log.close()
    recovered = {file.name: file.read_bytes() for file in tmp_path.iterdir() if file.suffix.endswith("index")}
    fresh = tmp_path / "fresh"
    log = new_log(fresh, config)
    for number in range(40):
        append(log, idempotent(number * 2, 2, timestamp=NOW + number), leader_epoch=number // 8)
    log.close()
    assert recovered == {file.name: file.read_bytes() for file in fresh.iterdir() if file.suffix.endswith("index")}


def test_segments_beyond_the_damage_go(tmp_path: Path) -> None:
    data, _ = fill(tmp_path)
    first = min(tmp_path.glob("*.log"))
    damaged = bytearray(first.read_bytes())
    damaged[-1] ^= 1
    first.write_bytes(damaged)
    log = new_log(tmp_path, CONFIG)
    assert len(log.segments) == 1
    assert data.startswith(read_all(log))
    assert len(list(tmp_path.glob("*.log"))) == 1
    check(log, read_all(log))
    log.close()


def test_a_segment_that_overlaps_the_one_before_goes(tmp_path: Path) -> None:
    """What a write that failed and was taken back may have left, on a disk that could not remove it either."""
    data, _ = fill(tmp_path)
    last = last_file(tmp_path)
    (tmp_path / f"{int(last.stem) + 1:020d}.log").write_bytes(b"")
    log = new_log(tmp_path, CONFIG)
    check(log, data)
    log.close()


def test_an_unfinished_deletion_is_finished(tmp_path: Path) -> None:
    data, _ = fill(tmp_path)
    for name in ("00000000000000000000.log.deleted", "00000000000000000099.snapshot.tmp", "00000000000000000004.index"):
        (tmp_path / name).write_bytes(b"left over")
    log = new_log(tmp_path, CONFIG)
    assert read_all(log) == data
    assert not list(tmp_path.glob("*.deleted")) and not list(tmp_path.glob("*.tmp"))
    assert not (tmp_path / "00000000000000000004.index").exists()
    log.close()


def test_an_interrupted_swap_is_completed(tmp_path: Path) -> None:
    fill(tmp_path)
    bases = sorted(int(file.stem) for file in tmp_path.glob("*.log"))
    first, second = (tmp_path / f"{base:020d}.log" for base in bases[:2])
    # A compaction that kept only the second segment's last batches, merged under the first one's name.
    kept = headers(second.read_bytes())[-1]
    (tmp_path / (first.name + ".swap")).write_bytes(second.read_bytes()[-kept.size :])
    log = new_log(tmp_path, CONFIG, log_start_offset=0)
    assert [segment.base_offset for segment in log.segments] == [0, *bases[2:]]
    assert headers(log.read(0, 1).data)[0].base_offset == kept.base_offset
    log.close()


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("size", [5, 500])
def test_old_message_formats_are_refused_not_cut(tmp_path: Path, magic: int, size: int) -> None:
    timestamp = struct.pack(">q", NOW) if magic else b""
    body = struct.pack(">bb", magic, 0) + timestamp + struct.pack(">ii", -1, size) + bytes(size)
    message = struct.pack(">qiI", 0, len(body) + 4, zlib.crc32(body)) + body
    file = tmp_path / "00000000000000000000.log"
    file.write_bytes(message)
    with pytest.raises(LogError, match=f"message format {magic}"):
        new_log(tmp_path)
    assert file.read_bytes() == message


def test_a_log_start_beyond_the_end_starts_anew(tmp_path: Path) -> None:
    fill(tmp_path, 3)
    log = new_log(tmp_path, CONFIG, log_start_offset=100)
    assert (log.log_start_offset, log.log_end_offset) == (100, 100)
    assert append(log).first_offset == 100
    log.close()


Damage = tuple[int, float, bytes]


@settings(max_examples=80, deadline=None)
@given(
    counts=st.lists(st.integers(1, 6), min_size=1, max_size=25),
    closed=st.booleans(),
    damages=st.lists(st.tuples(st.integers(0, 99), st.floats(0, 1), st.binary(max_size=40)), min_size=1, max_size=3),
)
def test_any_damage_anywhere(counts: list[int], closed: bool, damages: list[Damage]) -> None:
    """Several kinds of damage at once, then a start, another crash and another start."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name)
        log = new_log(path, CONFIG)
        for number, count in enumerate(counts):
            append(log, batch(count, timestamp=NOW + number, codec=count % 5))
        whole = read_all(log)
        if closed:
            log.close()
        else:
            crash(log)
        intact = apply_damages(path, damages)
        expected = 0
        for header in headers(whole):
            if expected + header.size > intact:
                break
            expected += header.size
        log = new_log(path, CONFIG)
        assert read_all(log) == whole[:expected]
        end = log.log_end_offset
        append(log)
        crash(log)
        log = new_log(path, CONFIG)
        assert log.log_end_offset == end + 1
        log.close()


def apply_damages(path: Path, damages: list[Damage]) -> int:
    """Cuts files and adds bytes to them. Returns how many bytes of the log lie before the first damage to it."""
    files = sorted(path.iterdir())
    contents = {file: file.read_bytes() for file in files}
    for which, where, added in damages:
        file = files[which % len(files)]
        data = file.read_bytes()
        file.write_bytes(data[: int(where * len(data))] + added)
    intact = 0
    for file in files:
        if file.suffix == ".log":
            before, after = contents[file], file.read_bytes()
            if before != after:
                return intact + next(
                    (n for n, (a, b) in enumerate(zip(before, after)) if a != b), min(map(len, (before, after)))
                )
            intact += len(before)
    return intact
