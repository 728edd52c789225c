"""Batches and logs for the tests of storage."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from headrace.fs import Fs
from headrace.storage.config import LogConfig
from headrace.storage.descriptors import Folder, OpenFiles
from headrace.storage.log import Log
from headrace.storage.recovery import open_log
from headrace.wire.batch import BatchHeader, Record, encode_batch, iter_batches

NOW = 1_700_000_000_000


def batch(count: int = 1, *, size: int = 10, timestamp: int = NOW, step: int = 1, **options: Any) -> memoryview:
    """`count` records of about `size` bytes each, one millisecond apart."""
    records = [
        Record(timestamp=timestamp + index * step, key=b"k%d" % index, value=b"v" * size) for index in range(count)
    ]
    return memoryview(encode_batch(records, **options))


def idempotent(sequence: int, count: int = 1, *, producer_id: int = 7, epoch: int = 0, **options: Any) -> memoryview:
    return batch(count, producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence, **options)


class UnsyncedFs(Fs):
    """Does not wait for the disk: a crash in these tests is that of a process, and files outlive it."""

    def fsync(self, fd: int) -> None:
        pass

    def sync_file_system(self, path: str) -> bool:
        return True


def folder(path: Path, fs: Fs | None = None, limit: int = 1000) -> Folder:
    path.mkdir(parents=True, exist_ok=True)
    return Folder(str(path), OpenFiles(fs or UnsyncedFs(), limit))


def new_log(
    path: Path, config: LogConfig | None = None, *, fs: Fs | None = None, limit: int = 1000, **options: Any
) -> Log:
    """Opens the log in `path`, as after a crash unless told otherwise; makes it if need be."""
    options.setdefault("now_ms", NOW)
    return open_log(folder(path, fs, limit), "t", 0, config or LogConfig(), **options)


def append(log: Log, data: memoryview | None = None, **options: Any) -> Any:
    options.setdefault("leader_epoch", 0)
    options.setdefault("now_ms", NOW)
    return log.append(batch() if data is None else data, **options)


def read_all(log: Log, max_bytes: int = 1 << 20) -> bytes:
    """Every batch from the log's start to its end, in slices."""
    data = b""
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        part = log.read(offset, max_bytes).data
        if not part:
            break
        data += part
        offset = headers(part)[-1].last_offset + 1
    return data


def headers(data: Any) -> list[BatchHeader]:
    return [header for _, header in iter_batches(data)]


def crash(log: Log) -> None:
    """The process is gone: nothing more is written."""
    log.drop()
