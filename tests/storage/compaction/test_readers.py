"""Readers in other threads never see a log change its form under them."""

from __future__ import annotations

import random
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from headrace.storage.config import LogConfig
from headrace.storage.log import Log
from headrace.wire.batch import Record, check_crc, encode_batch, iter_batches
from tests.storage.builders import NOW, append, new_log
from tests.storage.compaction.rounds import clean

CONFIG = LogConfig(
    segment_bytes=4000, index_interval_bytes=300, cleanup_policy=frozenset({"compact"}), file_delete_delay_ms=0
)
ROUNDS = 25


class Reader(threading.Thread):
    def __init__(self, log: Log, seed: int) -> None:
        super().__init__(daemon=True)
        self.log = log
        self.random = random.Random(seed)
        self.stopped = threading.Event()
        self.reads = 0
        self.problem: BaseException | None = None

    def run(self) -> None:
        try:
            while not self.stopped.is_set():
                self.read()
        except BaseException as error:
            self.problem = error

    def read(self) -> None:
        end = self.log.log_end_offset
        offset = self.random.randrange(end)
        data = self.log.read(offset, self.random.choice([1, 500, 10_000])).data
        # The last batch of every round stays, so there is always something up to the end.
        assert data, f"nothing at {offset} of {end}"
        last = offset - 1
        for position, header in iter_batches(data):
            assert check_crc(data, position)
            assert header.last_offset > last
            last = header.last_offset
        found = self.log.offset_for_timestamp(NOW + offset)
        assert found is not None
        assert found.timestamp >= NOW + offset
        self.reads += 1


def test_reading_while_segments_are_swapped(tmp_path: Path) -> None:
    background = ThreadPoolExecutor(1)
    log = new_log(tmp_path, CONFIG, defer=lambda job: background.submit(job) and None)
    generator = random.Random(1)
    fill(log, generator)
    readers = [Reader(log, seed) for seed in range(3)]
    for reader in readers:
        reader.start()
    cleaned_to = 0
    for number in range(ROUNDS):
        fill(log, generator)
        background.submit(lambda: None).result()
        cleaned_to = clean(log, cleaned_to, now_ms=NOW + number).first_dirty_offset
        log.delete_expired_files(NOW + number)
    for reader in readers:
        reader.stopped.set()
        reader.join(30)
        if reader.problem is not None:
            raise reader.problem
        assert reader.reads > 0
    background.shutdown()
    assert not [path for path in tmp_path.iterdir() if path.suffix in (".cleaned", ".swap")]
    log.close()


def fill(log: Log, generator: random.Random) -> None:
    for _ in range(60):
        offset = log.log_end_offset
        records = [
            Record(timestamp=NOW + offset + at, key=b"%d" % generator.randrange(50), value=b"v" * 40) for at in range(3)
        ]
        append(log, memoryview(encode_batch(records)))
    log.roll(NOW)
    # So that the last record of all is never compacted away.
    append(log, memoryview(encode_batch([Record(timestamp=NOW + 3_000_000, key=b"last", value=b"")])))
