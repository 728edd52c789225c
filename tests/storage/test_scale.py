"""Many logs: little memory, few descriptors, quick to open."""

from __future__ import annotations

import gc
import time
import tracemalloc
from pathlib import Path

from headrace.storage.config import LogConfig
from headrace.storage.directory import LogDirectory
from headrace.wire.uuids import random_uuid
from tests.storage.builders import UnsyncedFs, append, batch

LOGS = 500


def open_all(path: Path) -> tuple[LogDirectory, float]:
    directory = LogDirectory.open(path, node_id=1, fs=UnsyncedFs())
    directory.format("cluster")
    config = LogConfig()
    started = time.process_time()
    for found in directory.list_logs():
        directory.open_log(found, config)
    return directory, (time.process_time() - started) / LOGS


def memory_of_one(path: Path) -> float:
    tracemalloc.start()
    directory, _ = open_all(path)
    gc.collect()
    per_log = tracemalloc.get_traced_memory()[0] / LOGS
    tracemalloc.stop()
    assert directory.files.open_count == LOGS, "the active segment's file and no other"
    directory.close(clean=True)
    directory.unlock()
    return per_log


def test_many_small_logs(tmp_path: Path) -> None:
    directory, _ = open_all(tmp_path)
    topic_id = random_uuid()
    for partition in range(LOGS):
        append(directory.create_log("t", partition, topic_id, LogConfig()), batch(5))
    directory.close(clean=True)
    directory.unlock()

    # The lower of two, because one may meet a table of the interpreter's own that grows.
    per_log = min(memory_of_one(tmp_path), memory_of_one(tmp_path))
    assert per_log < 6_000, "an idle log must cost next to nothing"

    # A guard against something quadratic or a second pass, several times above what is measured (0.25 ms a log), because
    # the machine is shared. It does not show the goal of 10,000 logs in 3 s.
    directory, clean_s = open_all(tmp_path)
    directory.close(clean=False)
    directory.unlock()
    directory, crashed_s = open_all(tmp_path)
    assert all(log.log_end_offset == 5 for log in directory.logs.values())
    directory.close(clean=True)
    directory.unlock()
    assert clean_s < 0.001 and crashed_s < 0.0015
