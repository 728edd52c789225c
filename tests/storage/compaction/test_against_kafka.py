"""Apache Kafka's cleaner and ours, given the same files, leave the same batches with the same records.

Kafka compacts a topic in two rounds. Before each, its files are copied; a round of ours over the copy must end as Kafka's
did. The topic holds every codec, idempotent producers, transactions of both ends, tombstones that stay and that go.
"""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic, ResourceType

from conformance.apache_kafka import apache_kafka
from headrace.clock import Clock
from headrace.fs import Fs
from headrace.storage import checkpoint, files, transaction_index
from headrace.storage.compaction.cleaning import Finished, Round, SourceSegment, Task
from headrace.testing import wait_until
from headrace.wire.batch import BatchHeader, Record, decode_records, iter_batches

pytestmark = pytest.mark.peer("apache-kafka")

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
PAUSED, RUNNING = str(10**9), "0"
TOPIC = {
    "cleanup.policy": "compact",
    "segment.bytes": "1048576",
    "min.cleanable.dirty.ratio": "0.0001",
    "min.compaction.lag.ms": PAUSED,
    "delete.retention.ms": "0",
}

Batches = list[tuple[BatchHeader, list[Record]]]


def test_the_same_batches_stay(tmp_path: Path) -> None:
    settings = {
        "log.cleaner.backoff.ms": "100",
        "log.segment.delete.delay.ms": "0",
        "transaction.state.log.num.partitions": "1",
    }
    with apache_kafka(settings, data_dir=tmp_path / "kafka") as kafka:
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
        admin.create_topics([NewTopic("t", 1, 1, config=TOPIC)])["t"].result(20)
        writers = Writers(kafka.bootstrap_servers)
        start = 0
        for number in range(2):
            writers.write(number)
            folder = tmp_path / "kafka" / "t-0"
            copy = tmp_path / f"round-{number}"
            shutil.copytree(folder, copy)
            set_lag(admin, RUNNING)
            end = wait_until(lambda start=start: cleaned_to(tmp_path / "kafka", start), timeout_s=60)
            set_lag(admin, PAUSED)
            # The checkpoint is written after the files have their names.
            theirs = [one for one in batches(folder, files.LOG) if one[0].base_offset < end]
            assert clean(copy, start, end) == end
            ours = batches(copy, files.LOG + files.CLEANED)
            assert [comparable(one) for one in ours] == [comparable(one) for one in theirs]
            assert sum(header.record_count for header, _ in ours) < sum(
                header.record_count for header, _ in batches(copy, files.LOG) if header.base_offset < end
            )
            start = end
        kafka.stop()


class Writers:
    """Clients of every kind, with a few keys between them."""

    def __init__(self, servers: str) -> None:
        self.random = random.Random(4)
        self.plain = [
            Producer(
                {
                    "bootstrap.servers": servers,
                    "compression.type": codec,
                    "enable.idempotence": codec in ("none", "lz4"),
                    "batch.num.messages": 7,
                }
            )
            for codec in CODECS
        ]
        self.transactional = Producer(
            {"bootstrap.servers": servers, "transactional.id": "writer", "batch.num.messages": 3}
        )
        self.transactional.init_transactions(60)

    def write(self, number: int) -> None:
        for turn in range(30):
            producer = self.random.choice(self.plain)
            self._put(producer, 100)
            if turn % 3 == 0:
                self.transactional.begin_transaction()
                self._put(self.transactional, 8)
                end = self.transactional.abort_transaction if turn % 2 else self.transactional.commit_transaction
                end(60)
        # Enough to close the segment with all that.
        for _ in range(2):
            self.plain[0].produce("t", key=b"filler", value=self.random.randbytes(900_000))
            assert self.plain[0].flush(60) == 0

    def _put(self, producer: Producer, count: int) -> None:
        for _ in range(count):
            key = b"key %d" % min(self.random.randrange(300), self.random.randrange(300))
            value = None if self.random.random() < 0.1 else self.random.randbytes(self.random.randrange(600))
            producer.produce("t", key=key, value=value)
        assert producer.flush(60) == 0


def set_lag(admin: AdminClient, value: str) -> None:
    entry = ConfigEntry("min.compaction.lag.ms", value, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, "t", incremental_configs=[entry])
    admin.incremental_alter_configs([resource])[resource].result(20)


def cleaned_to(data_dir: Path, start: int) -> int | None:
    offset = checkpoint.read_offsets(Fs(), f"{data_dir}/cleaner-offset-checkpoint").get(("t", 0), 0)
    return offset if offset > start else None


def clean(folder: Path, start: int, end: int) -> int:
    segments = [path for path in sorted(folder.glob("*.log")) if int(path.stem) < end]
    aborted = [
        entry for path in sorted(folder.glob("*.txnindex")) for entry in transaction_index.decode(path.read_bytes())
    ]
    # The last data of each producer; here every one has some.
    producers: dict[int, tuple[int, int]] = {}
    for header, _ in batches(folder, files.LOG):
        if header.producer_id >= 0 and not header.is_control:
            producers[header.producer_id] = header.last_offset, header.producer_epoch
    task = Task(
        folder=str(folder),
        segments=tuple(SourceSegment(int(path.stem), path.stat().st_size) for path in segments),
        start=start,
        end=end,
        now_ms=Clock().now_ms(),
        delete_retention_ms=0,
        segment_bytes=1 << 20,
        segment_index_bytes=10 << 20,
        index_interval_bytes=4096,
        max_keys=10**6,
        producers=tuple((producer_id, *last) for producer_id, last in producers.items()),
        aborted=tuple(aborted),
    )
    *_, finished = Round(task).run()
    assert isinstance(finished, Finished)
    return finished.first_dirty_offset


def batches(folder: Path, suffix: str) -> Batches:
    found: Batches = []
    for path in sorted(folder.glob("*" + suffix)):
        data = path.read_bytes()
        found += [(header, decode_records(data, position)) for position, header in iter_batches(data)]
    return found


def comparable(batch: tuple[BatchHeader, list[Record]]) -> tuple[Any, ...]:
    """Without what may differ: the time of the round, and from which timestamp those of the records are counted."""
    header, records = batch
    return header._replace(batch_length=0, crc=0, base_timestamp=0), records
