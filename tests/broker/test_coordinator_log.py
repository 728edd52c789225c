"""A coordinator's log: every append is settled once, in the order of the log, with how it ended."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path

import pytest

from headrace.broker.coordinator_log import CoordinatorLog, encode_records, read_batches, read_records
from headrace.replica.partition import Partition
from headrace.storage.config import LogConfig
from headrace.storage.errors import AppendError
from headrace.wire.errors import ErrorCode
from tests.replica.held_directory import HeldDirectory, run
from tests.storage.builders import NOW

log = logging.getLogger("headrace.groups")
Told = asyncio.Queue[tuple[str, ErrorCode]]


def write(partition: Partition, name: str, told: Told) -> None:
    batch = encode_records([(name.encode(), None)], NOW)
    CoordinatorLog(partition, log).append(batch, NOW, lambda error: told.put_nowait((name, error)))


def keys(partition: Partition, decode: Callable[[bytes, bytes | None], bytes | None]) -> list[bytes]:
    return [key for _, batch in read_batches(partition.log, 100) for key in read_records(batch, decode)]


def test_on_a_fast_disk_an_append_is_settled_at_once(tmp_path: Path) -> None:
    async def scenario(partition: Partition, _: HeldDirectory) -> None:
        told = Told()
        for name in ("first", "second", "third"):
            write(partition, name, told)
        assert [told.get_nowait() for _ in range(3)] == [
            ("first", ErrorCode.NONE),
            ("second", ErrorCode.NONE),
            ("third", ErrorCode.NONE),
        ]
        assert keys(partition, lambda key, value: key) == [b"first", b"second", b"third"]
        assert keys(partition, lambda key, value: key if key != b"second" else None) == [b"first", b"third"]

    run(tmp_path, scenario)


def test_on_a_slow_disk_appends_are_settled_later_and_in_order(tmp_path: Path) -> None:
    async def scenario(partition: Partition, directory: HeldDirectory) -> None:
        told = Told()
        directory.writer.note_slow()
        write(partition, "first", told)
        write(partition, "second", told)
        assert told.empty()
        assert [await told.get(), await told.get()] == [("first", ErrorCode.NONE), ("second", ErrorCode.NONE)]

    run(tmp_path, scenario)


def test_a_refused_append_is_settled_with_its_error(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(partition: Partition, _: HeldDirectory) -> None:
        told = Told()
        partition.offline = True
        write(partition, "lost", told)
        assert told.get_nowait() == ("lost", ErrorCode.KAFKA_STORAGE_ERROR)
        assert keys(partition, lambda key, value: key) == []

    run(tmp_path, scenario)
    assert "t-0: coordinator records not written" in caplog.text


def test_an_append_that_fails_later_is_settled_with_its_error(tmp_path: Path) -> None:
    async def scenario(partition: Partition, directory: HeldDirectory) -> None:
        told = Told()
        write(partition, "awaits its flush", told)
        assert told.empty()
        directory.flushes[0][1].set_exception(AppendError(ErrorCode.KAFKA_STORAGE_ERROR, "the disk is gone"))
        assert await told.get() == ("awaits its flush", ErrorCode.KAFKA_STORAGE_ERROR)

    run(tmp_path, scenario, LogConfig(flush_messages=1))


def test_records_of_a_producer_belong_to_its_transaction(tmp_path: Path) -> None:
    async def scenario(partition: Partition, _: HeldDirectory) -> None:
        for batch in (
            encode_records([(b"k", b"v")], NOW),
            encode_records([(b"k", b"v")], NOW, producer_id=7, producer_epoch=3),
        ):
            CoordinatorLog(partition, log).append(batch, NOW, lambda error: None)
        headers = [header for header, _ in read_batches(partition.log, 1 << 20)]
        producers = [(each.producer_id, each.producer_epoch, each.is_transactional) for each in headers]
        assert producers == [(-1, -1, False), (7, 3, True)]

    run(tmp_path, scenario)
