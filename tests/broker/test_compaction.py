"""Compaction on a running broker, seen through real clients."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from headrace.broker.cleaner_worker import Worker
from headrace.fs import Fs
from headrace.storage.checkpoint import read_offsets
from headrace.storage.compaction.cleaning import SourceSegment, Task
from headrace.storage.compaction.worker import RoundFailed
from headrace.testing import LocalBroker, broker, wait_until

QUICK = {"log_cleaner_backoff_ms": 100, "log_segment_delete_delay_ms": 0}


@pytest.fixture
def server() -> Iterator[LocalBroker]:
    with broker(**QUICK) as running:
        yield running


def fill(server: LocalBroker, topic: str, count: int, keys: int = 7) -> dict[bytes, bytes]:
    """`count` values over a few keys; what a dictionary would hold."""
    producer = server.producer(batch_num_messages=20)
    expected: dict[bytes, bytes] = {}
    for number in range(count):
        key, value = b"k%d" % (number % keys), b"%d" % number * 30
        producer.produce(topic, key=key, value=value)
        expected[key] = value
    assert producer.flush(20) == 0
    return expected


def size(server: LocalBroker, topic: str) -> int:
    return sum(path.stat().st_size for path in (server.data_dir / f"{topic}-0").glob("*.log"))


def table(server: LocalBroker, topic: str, end: int) -> dict[bytes, bytes]:
    """The last value of each key, as a reader from the start sees it."""
    values: dict[bytes, bytes] = {}
    consumer = server.consumer(group_id="reader", auto_offset_reset="earliest", enable_auto_commit=False)
    consumer.subscribe([topic])
    try:
        position = 0
        while position < end:
            message = consumer.poll(10)
            assert message is not None
            assert message.error() is None
            values[message.key()] = message.value()
            position = message.offset() + 1
    finally:
        consumer.close()
    return values


def test_a_compacted_topic_stays_small_and_whole(server: LocalBroker) -> None:
    server.create_topic("t", cleanup_policy="compact", segment_bytes=1_048_576, min_cleanable_dirty_ratio=0.01)
    expected = fill(server, "t", 20_000)
    server.create_topic("plain", segment_bytes=1_048_576)
    fill(server, "plain", 5_000)
    wait_until(lambda: size(server, "t") < 1_500_000, timeout_s=30)
    assert size(server, "plain") > 500_000
    assert table(server, "t", 20_000) == expected
    path = f"{server.data_dir}/cleaner-offset-checkpoint"
    wait_until(lambda: ("t", 0) in offsets(path))
    server.restart()
    assert table(server, "t", 20_000) == expected
    expected |= fill(server, "t", 20_000, keys=3)
    wait_until(lambda: offsets(path)["t", 0] > 20_000, timeout_s=30)
    assert table(server, "t", 40_000) == expected
    folder = server.data_dir / "t-0"
    wait_until(lambda: not [file for file in folder.iterdir() if file.suffix in (".cleaned", ".swap", ".deleted")])


def offsets(path: str) -> dict[tuple[str, int], int]:
    return read_offsets(Fs(), path)


def test_a_damaged_log_is_left_alone(server: LocalBroker, caplog: pytest.LogCaptureFixture) -> None:
    server.create_topic("d", cleanup_policy="compact", segment_bytes=1_048_576, min_compaction_lag_ms=10**9)
    fill(server, "d", 12_000)
    first = server.data_dir / "d-0" / f"{0:020d}.log"
    with first.open("r+b") as file:
        file.seek(5000)
        file.write(b"\xff" * 8)
    before = first.stat().st_size
    entries = [
        ConfigEntry(name, "0", incremental_operation=AlterConfigOpType.SET)
        for name in ("min.compaction.lag.ms", "min.cleanable.dirty.ratio")
    ]
    resource = ConfigResource(ResourceType.TOPIC, "d", incremental_configs=entries)
    admin = server.admin()
    admin.incremental_alter_configs([resource])[resource].result(10)
    wait_until(lambda: "is not compacted any more" in caplog.text, timeout_s=30)
    assert first.stat().st_size == before
    assert not list((server.data_dir / "d-0").glob("*.cleaned"))


def test_nothing_is_compacted_when_told_so() -> None:
    with broker(**QUICK, log_cleaner_enable=False) as server:
        server.create_topic("t", cleanup_policy="compact", segment_bytes=1_048_576, min_cleanable_dirty_ratio=0)
        fill(server, "t", 12_000)
        before = size(server, "t")
        assert server.call(lambda running: running.cleaner.run()) is None
        assert size(server, "t") == before


def test_a_full_disk_takes_its_directory_offline_and_no_other(tmp_path: Path) -> None:
    dirs = [tmp_path / "a", tmp_path / "b"]
    with broker(**QUICK, log_dirs=",".join(map(str, dirs))) as server:
        for name in "xyz":
            server.create_topic(name, cleanup_policy="compact", segment_bytes=1_048_576, min_cleanable_dirty_ratio=0)
        # The first directory has the metadata, too, which cannot be lost.
        fine, full = (next(path for path in folder.glob("?-0")) for folder in dirs)
        (full / f"{0:020d}.log.cleaned").symlink_to("/dev/full")  # whatever is written there finds no room
        for folder in (full, fine):
            fill(server, folder.name[0], 12_000)
        wait_until(lambda: offline(server)[1] is not None, timeout_s=30)
        assert "No space left" in str(offline(server)[1]) and full.name in str(offline(server)[1])
        wait_until(lambda: offsets(f"{dirs[0]}/cleaner-offset-checkpoint").get((fine.name[0], 0), 0) > 0, timeout_s=30)
        assert offline(server)[0] is None


def offline(server: LocalBroker) -> list[OSError | None]:
    return server.call(lambda b: [each.files.offline for each in b.replicas.directories])


def test_a_log_of_many_producers_holds_up_no_client(tmp_path: Path) -> None:
    """A task names every producer that the log remembers: what takes long of that happens away from the event loop."""
    wrote: list[int] = []

    class Noted(Task):
        def to_json(self) -> str:
            wrote.append(threading.get_ident())
            return super().to_json()

    producers = tuple((number, number, 0) for number in range(100_000))
    missing = SourceSegment(0, 100)
    task = Noted(str(tmp_path), (missing,), 0, 1, 0, 0, 1 << 20, 1 << 20, 4096, 10, producers=producers)

    async def main() -> None:
        worker = await Worker.start()
        try:
            with pytest.raises(RoundFailed):
                await worker.begin(task)
        finally:
            await worker.close()

    asyncio.run(main())
    assert len(wrote) == 1 and wrote != [threading.get_ident()]
    assert Task.from_json(task.to_json()) == Task(**{field.name: getattr(task, field.name) for field in fields(task)})
