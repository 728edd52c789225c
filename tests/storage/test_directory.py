"""A log directory: whose it is, what is in it, what a restart finds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from headrace.clock import ManualClock
from headrace.storage.config import LogConfig
from headrace.storage.directory import DirectoryError, LogDirectory
from headrace.storage.log import Log
from headrace.wire.uuids import random_uuid, to_text
from tests.storage.builders import NOW, UnsyncedFs, append, batch, headers, idempotent, read_all

CLUSTER = "4L6g3nShT-eMCtK--X86sw"


def open_directory(path: Path, **options: Any) -> LogDirectory:
    options.setdefault("fs", UnsyncedFs())
    options.setdefault("clock", ManualClock(NOW))
    directory = LogDirectory.open(path, node_id=options.pop("node_id", 1), **options)
    directory.format(CLUSTER)
    return directory


def reopen(path: Path, config: LogConfig | None = None) -> tuple[LogDirectory, dict[str, Log]]:
    directory = open_directory(path)
    logs = {f"{f.topic}-{f.partition}": directory.open_log(f, config or LogConfig()) for f in directory.list_logs()}
    return directory, logs


def end(directory: LogDirectory, *, clean: bool) -> None:
    directory.close(clean=clean, broker_epoch=12)
    directory.unlock()


def test_meta_properties(tmp_path: Path) -> None:
    directory = open_directory(tmp_path / "new" / "data")
    assert directory.directory_id is not None
    text = (tmp_path / "new" / "data" / "meta.properties").read_text()
    assert set(text.splitlines()) == {
        "#", "version=1", "node.id=1", f"cluster.id={CLUSTER}", f"directory.id={directory.directory_id}"
    }  # fmt: skip
    directory.unlock()
    again = open_directory(tmp_path / "new" / "data")
    assert (again.cluster_id, again.directory_id) == (CLUSTER, directory.directory_id)
    again.unlock()
    with pytest.raises(DirectoryError, match=r"belongs to node 1, this is node 2. Set node.id=1"):
        open_directory(tmp_path / "new" / "data", node_id=2)


def test_a_second_broker_learns_who_is_there(tmp_path: Path) -> None:
    directory = open_directory(tmp_path)
    with pytest.raises(DirectoryError, match=f"in use by pid {os.getpid()} on "):
        open_directory(tmp_path)
    code = "import sys; from headrace.storage.directory import *; LogDirectory.open(sys.argv[1], node_id=1)"
    other = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=False)
    assert f"in use by pid {os.getpid()}" in other.stderr
    directory.unlock()
    open_directory(tmp_path).unlock()


def test_a_directory_that_cannot_be_used_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DirectoryError, match=r"cannot use .*file/data as a log directory"):
        LogDirectory.open(tmp_path / "file" / "data", node_id=1)


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("count", [2, 20])
def test_restart(tmp_path: Path, clean: bool, count: int) -> None:
    directory = open_directory(tmp_path)
    topic_id = random_uuid()
    for partition in range(count):
        log = directory.create_log("topic.with-dots", partition, topic_id, LogConfig(segment_bytes=300))
        for sequence in range(10):
            append(log, idempotent(sequence))
    directory.logs["topic.with-dots", 1].delete_records(7, high_watermark=10)
    directory.write_checkpoints()
    end(directory, clean=clean)
    marker = tmp_path / ".kafka_cleanshutdown"
    assert marker.exists() == clean
    if clean:
        assert marker.read_text() == '{"version":0,"brokerEpoch":12}'

    directory, logs = reopen(tmp_path, LogConfig(segment_bytes=300))
    assert not marker.exists(), "from now on a crash is a crash"
    assert directory.last_broker_epoch == (12 if clean else None)
    assert len(logs) == count
    for log in logs.values():
        assert log.topic_id == topic_id
        assert log.log_end_offset == 10
        assert append(log, idempotent(9)).duplicate
    assert logs["topic.with-dots-1"].log_start_offset == 7
    assert logs["topic.with-dots-0"].recovery_point == (10 if clean else logs["topic.with-dots-0"].active.base_offset)
    end(directory, clean=True)
    assert directory.files.open_count == 0


def test_checkpoints_are_kafkas(tmp_path: Path) -> None:
    directory = open_directory(tmp_path)
    log = directory.create_log("a", 0, random_uuid(), LogConfig())
    directory.create_log("b-c", 11, random_uuid(), LogConfig())
    append(log, batch(5))
    log.flush()
    append(log, batch(2))
    log.advance_log_start(3)
    directory.write_checkpoints()
    assert (tmp_path / "recovery-point-offset-checkpoint").read_text() == "0\n2\na 0 5\nb-c 11 0\n"
    assert (tmp_path / "log-start-offset-checkpoint").read_text() == "0\n1\na 0 3\n"
    assert (tmp_path / "replication-offset-checkpoint").read_text() == "0\n2\na 0 7\nb-c 11 0\n"
    assert (
        tmp_path / "a-0" / "partition.metadata"
    ).read_text() == f"version: 0\ntopic_id: {to_text(log.topic_id or b'')}"
    end(directory, clean=True)


@pytest.mark.parametrize("content", [b"", b"9\n0\n", b"0\n5\na 0 1\n", b"\xff\xfe", b"0\n1\na 0 x\n", b"0\n1\na 0\n"])
def test_damaged_checkpoints_cost_time_only(tmp_path: Path, content: bytes) -> None:
    directory = open_directory(tmp_path)
    log = directory.create_log("a", 0, random_uuid(), LogConfig())
    append(log, batch(5))
    end(directory, clean=False)
    for name in ("recovery-point", "log-start", "replication"):
        (tmp_path / f"{name}-offset-checkpoint").write_bytes(content)
    directory, logs = reopen(tmp_path)
    assert logs["a-0"].log_end_offset == 5
    end(directory, clean=True)


def test_deleted_logs_are_renamed_and_go_later(tmp_path: Path) -> None:
    clock = ManualClock(NOW)
    directory = open_directory(tmp_path, clock=clock)
    name = "x" * 249
    log = directory.create_log(name, 3, random_uuid(), LogConfig(file_delete_delay_ms=500, segment_bytes=100))
    for _ in range(5):
        append(log)
    directory.delete_log(log)
    (left,) = [entry for entry in os.listdir(tmp_path) if entry.endswith("-delete")]
    assert len(left) <= 255 and left.startswith("x" * 100)
    again = directory.create_log(name, 3, random_uuid(), LogConfig())
    assert again.log_end_offset == 0
    clock.advance(500)
    directory.write_checkpoints()
    assert left not in os.listdir(tmp_path)
    directory.delete_log(again)
    end(directory, clean=True)
    directory, logs = reopen(tmp_path)
    assert logs == {} and not [entry for entry in os.listdir(tmp_path) if "xxx" in entry]
    end(directory, clean=True)


def test_logs_of_unknown_topics_are_set_aside(tmp_path: Path) -> None:
    directory = open_directory(tmp_path)
    append(directory.create_log("a", 0, random_uuid(), LogConfig()))
    end(directory, clean=True)
    directory = open_directory(tmp_path)
    (found,) = directory.list_logs()
    directory.set_aside(found)
    assert directory.list_logs() == []
    (stray,) = tmp_path.glob("a-0.*-stray")
    assert (stray / "00000000000000000000.log").stat().st_size > 0
    end(directory, clean=True)


def test_the_metadata_log_is_its_owners_business(tmp_path: Path) -> None:
    directory = open_directory(tmp_path)
    log = directory.open_private_log("__cluster_metadata", 0, bytes(15) + b"\1", LogConfig())
    append(log, origin="coordinator")
    log.flush()
    directory.write_checkpoints()
    assert directory.list_logs() == []
    assert directory.find_log("__cluster_metadata", 0) is not None
    assert directory.find_log("nothing", 0) is None
    end(directory, clean=True)
    log.close()
    directory = open_directory(tmp_path)
    again = directory.open_private_log("__cluster_metadata", 0, bytes(15) + b"\1", LogConfig())
    assert again.log_end_offset == 1
    again.close()
    end(directory, clean=True)


def test_open_files_are_bounded(tmp_path: Path) -> None:
    directory = open_directory(tmp_path, max_open_files=5)
    logs = [directory.create_log("t", n, random_uuid(), LogConfig(segment_bytes=150)) for n in range(10)]
    for log in logs:
        for _ in range(6):
            append(log)
    for log in logs:
        assert len(headers(read_all(log))) == 6
        assert log.offset_for_timestamp(NOW) is not None
    assert directory.files.open_count <= 10 + 5
    end(directory, clean=True)
    assert directory.files.open_count == 0


def test_flush_ms_counts_from_the_last_flush(tmp_path: Path) -> None:
    clock = ManualClock(NOW)
    directory = open_directory(tmp_path, clock=clock)
    log = directory.create_log("t", 0, random_uuid(), LogConfig(flush_ms=1000))
    clock.advance(5000)
    append(log)
    assert log.flush_due(clock.now_ms())
    log.flush()
    append(log)
    assert not log.flush_due(clock.now_ms() + 999)
    assert log.flush_due(clock.now_ms() + 1000)
    end(directory, clean=True)
