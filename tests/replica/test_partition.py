"""The last stable offset of a partition: what is decided, and no more than what the high watermark lets readers see."""

from __future__ import annotations

import asyncio
from pathlib import Path

from headrace.replica.partition import Partition
from headrace.storage.config import LogConfig
from headrace.storage.log import Appended
from headrace.wire.control import encode_marker
from tests.replica.held_directory import HeldDirectory, run
from tests.storage.builders import NOW, batch, idempotent


def write(partition: Partition, sequence: int) -> Appended | asyncio.Future[Appended]:
    return partition.append(idempotent(sequence, is_transactional=True), NOW)


def abort(partition: Partition) -> Appended | asyncio.Future[Appended]:
    return partition.append(memoryview(encode_marker(7, 1, False, 0, NOW)), NOW, "coordinator", transaction_version=2)


def test_readers_of_committed_records_stop_at_an_open_transaction(tmp_path: Path) -> None:
    async def scenario(partition: Partition, _: HeldDirectory) -> None:
        partition.append(batch(2), NOW)
        write(partition, 0)
        partition.append(batch(2), NOW)
        assert (partition.last_stable_offset, partition.high_watermark) == (2, 5)
        abort(partition)
        assert (partition.last_stable_offset, partition.high_watermark) == (6, 6)

    run(tmp_path, scenario)


def test_a_marker_that_awaits_a_flush_is_not_seen_yet(tmp_path: Path) -> None:
    async def scenario(partition: Partition, directory: HeldDirectory) -> None:
        write(partition, 0)
        write(partition, 1)
        assert partition.high_watermark == 2
        appended = abort(partition)
        assert isinstance(appended, asyncio.Future)
        # The transaction is decided in the log; its records lie below the high watermark and the marker above it.
        assert partition.log.last_stable_offset == 3
        assert (partition.last_stable_offset, partition.high_watermark) == (0, 2)
        directory.finish_flush()
        assert (await appended).first_offset == 2
        assert (partition.last_stable_offset, partition.high_watermark) == (3, 3)

    run(tmp_path, scenario, LogConfig(flush_messages=3))


def test_a_marker_on_its_way_to_a_slow_disk_is_not_seen_yet(tmp_path: Path) -> None:
    async def scenario(partition: Partition, directory: HeldDirectory) -> None:
        write(partition, 0)
        directory.writer.note_slow()
        appended = abort(partition)
        behind = partition.append(idempotent(0, epoch=1, is_transactional=True), NOW)
        assert isinstance(appended, asyncio.Future) and isinstance(behind, asyncio.Future)
        assert (partition.last_stable_offset, partition.high_watermark) == (0, 1)
        assert partition.log.aborted_transactions(0, 10) == []
        await asyncio.gather(appended, behind)
        assert (partition.last_stable_offset, partition.high_watermark) == (2, 3)
        assert partition.log.aborted_transactions(0, 10) == [(7, 0)]

    run(tmp_path, scenario)


def record(partition: Partition) -> Appended | asyncio.Future[Appended]:
    return partition.append(batch(1), NOW, "coordinator")


def test_an_append_does_not_overtake_the_answer_to_one_that_took_the_slow_way(tmp_path: Path) -> None:
    """Coordinators take over what they wrote when they are told of it, and must do so in the order of the log."""

    async def scenario(partition: Partition, directory: HeldDirectory) -> None:
        told = Told()
        loop = asyncio.get_running_loop()

        class Reader:
            def on_growth(self, partition: Partition, size: int) -> None:
                # The next thing that the loop does once the write has ended.
                partition.waiters.clear()
                loop.call_soon(lambda: told.note(record(partition), "second"))

        directory.writer.slow = True
        partition.waiters.add(Reader())
        told.note(record(partition), "first")
        directory.writer.slow = False
        assert await told.both() == ["first", "second"]

    run(tmp_path, scenario)


def test_an_append_does_not_overtake_the_answer_to_one_that_was_flushed(tmp_path: Path) -> None:
    async def scenario(partition: Partition, directory: HeldDirectory) -> None:
        told = Told()
        record(partition)
        told.note(record(partition), "flushed")
        directory.finish_flush()
        told.note(record(partition), "behind it")
        while directory.flushes:
            directory.finish_flush()
        assert await told.both() == ["flushed", "behind it"]
        assert partition.high_watermark == 3

    run(tmp_path, scenario, LogConfig(flush_messages=2))


class Told:
    """A coordinator that hears what became of two appends."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._both = asyncio.Event()

    def note(self, appended: Appended | asyncio.Future[Appended], name: str) -> None:
        if isinstance(appended, asyncio.Future):
            appended.add_done_callback(lambda done: self.note(done.result(), name))
            return
        self._names.append(name)
        if len(self._names) == 2:
            self._both.set()

    async def both(self) -> list[str]:
        await asyncio.wait_for(self._both.wait(), 10)
        return self._names
