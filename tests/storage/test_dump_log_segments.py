"""Apache Kafka's own DumpLogSegments reads every file that Headrace writes, and finds nothing to complain about."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from conformance.apache_kafka import java_command
from headrace.storage.config import LogConfig
from headrace.storage.log import Log
from headrace.wire.control import encode_marker
from tests.storage.builders import NOW, append, batch, crash, idempotent, new_log

pytestmark = pytest.mark.peer("apache-kafka")

SUFFIXES = (".log", ".index", ".timeindex", ".txnindex", ".snapshot")
CONFIG = LogConfig(segment_bytes=64 * 1024, index_interval_bytes=1000)


def fill(log: Log) -> None:
    sequences = dict.fromkeys(range(5), 0)
    for number in range(120):
        if number % 3 == 0:
            append(
                log, batch(20, size=50, codec=number // 3 % 5, timestamp=NOW + number * 10), leader_epoch=number // 50
            )
        else:
            producer = number % 5
            data = idempotent(sequences[producer], 15, producer_id=producer, size=100, timestamp=NOW + number * 10)
            sequences[producer] += 15
            append(log, data, leader_epoch=number // 50)
        if number % 10 == 9:
            _transaction(log, number // 10)
    # Older than what came before: the time index must not go back.
    append(log, batch(3, timestamp=NOW - 1000), leader_epoch=3)


def _transaction(log: Log, number: int) -> None:
    """One of producer 10 + number, begun here and ended with the next one; every other is aborted."""
    began = idempotent(0, 3, producer_id=10 + number, is_transactional=True)
    append(log, began, leader_epoch=number // 5)
    if number:
        marker = memoryview(encode_marker(9 + number, 1, number % 2 == 0, 3, NOW))
        append(log, marker, leader_epoch=number // 5, origin="coordinator", transaction_version=2)


def dump(*options: str) -> subprocess.CompletedProcess[str]:
    command = java_command("org.apache.kafka.tools.DumpLogSegments", *options)
    return subprocess.run(command, capture_output=True, text=True, timeout=100, check=True)


def files_of(path: Path, *suffixes: str) -> str:
    names = sorted(str(file) for file in path.iterdir() if file.suffix in suffixes)
    assert names
    return ",".join(names)


def complaints(text: str, path: Path) -> list[str]:
    """What it wrote to stderr, without what Kafka 4.3 says of every segment that does not start at offset 0."""
    lines = [line for line in text.splitlines() if line.strip()]
    for segment in path.glob("*.log"):
        first = f"  -1 is followed by {int(segment.stem)}"
        if first in lines:
            lines.remove(first)
            lines.remove(f"Non-consecutive offsets in {segment}")
    return lines


@pytest.fixture(params=["clean", "recovered", "log append time"])
def log_path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "t-0"
    config = CONFIG
    if request.param == "log append time":
        config = LogConfig(segment_bytes=64 * 1024, index_interval_bytes=1000, message_timestamp_type="LogAppendTime")
    log = new_log(path, config)
    fill(log)
    if request.param == "recovered":
        crash(log)
        (path / "00000000000000000000.index").unlink()
        log = new_log(path, config)
        fill_more = idempotent(0, 1, producer_id=99)
        append(log, fill_more, leader_epoch=4)
    assert len(log.segments) > 2
    log.close()
    return path


def test_every_file_is_read_without_complaint(log_path: Path) -> None:
    read = dump("--deep-iteration", "--files", files_of(log_path, *SUFFIXES))
    assert complaints(read.stderr, log_path) == []
    assert "isvalid: false" not in read.stdout
    assert "Found timestamp mismatch" not in read.stdout
    assert read.stdout.count("producerId:") > 5
    assert read.stdout.count("endTxnMarker: ABORT coordinatorEpoch: 3") == 6
    assert read.stdout.count("endTxnMarker: COMMIT coordinatorEpoch: 3") == 5
    assert "version: 0 producerId: 12 firstOffset: " in read.stdout
    assert read.stdout.count("version: 0 producerId: ") == 6
    # The one that nobody has ended.
    assert read.stdout.count("producerId: 21 ") and "currentTxnFirstOffset: OptionalLong[" in read.stdout
    sane = dump("--deep-iteration", "--index-sanity-check", "--files", files_of(log_path, ".index", ".timeindex"))
    assert complaints(sane.stderr, log_path) == []
    assert "passed sanity check" in sane.stdout
