"""A data directory that Apache Kafka filled: Headrace opens it, finds every record, and agrees with Kafka's own indexes.

One Kafka is started for the whole file; idempotent and transactional producers write with every codec, into segments
small enough to roll. Its files are taken once while it runs, as a crash would leave them, and once after a clean stop.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.apache_kafka import apache_kafka
from headrace.storage.config import LogConfig
from headrace.storage.directory import LogDirectory
from headrace.storage.log import Log
from headrace.testing.waiting import wait_until
from headrace.wire.batch import check_crc, decode_records, iter_batches
from tests.storage.builders import UnsyncedFs, new_log, read_all

pytestmark = pytest.mark.peer("apache-kafka")

SETTINGS = {
    "num.partitions": "1",
    "log.segment.bytes": "1048576",
    "log.index.size.max.bytes": "65536",
    "transaction.state.log.num.partitions": "1",
}
RECORDS = 400
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


@pytest.fixture(scope="module")
def directories(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Path]]:
    base = tmp_path_factory.mktemp("kafka")
    data_dir = base / "data"
    with apache_kafka(SETTINGS, data_dir=data_dir) as kafka:
        produce(kafka.bootstrap_servers, "lz4", transactional=True)
        for codec in CODECS:
            produce(kafka.bootstrap_servers, codec, transactional=False)
        wait_for_end(kafka.bootstrap_servers, "transactions", 2 * RECORDS + 2)
        # The files of a running broker are what a kill -9 leaves behind.
        shutil.copytree(data_dir, base / "killed")
        kafka.stop()
        shutil.copytree(data_dir, base / "clean")
    yield {"clean": base / "clean", "killed": base / "killed"}
    shutil.rmtree(base)


def produce(servers: str, codec: str, *, transactional: bool) -> None:
    from confluent_kafka import Producer

    options = {"bootstrap.servers": servers, "compression.type": codec, "enable.idempotence": True}
    options |= {"linger.ms": 20, "batch.num.messages": 5}
    if transactional:
        options["transactional.id"] = "writer"
    producer = Producer(options)
    generator = random.Random(codec)
    topic = "transactions" if transactional else f"codec-{codec}"
    for outcome in ("commit", "abort") if transactional else ("plain",):
        if transactional:
            if outcome == "commit":
                producer.init_transactions()
            producer.begin_transaction()
        for number in range(RECORDS):
            producer.produce(topic, key=b"%d" % number, value=generator.randbytes(4000))
            producer.poll(0)
        producer.flush()
        if outcome == "commit":
            producer.commit_transaction()
        elif outcome == "abort":
            producer.abort_transaction()


def wait_for_end(servers: str, topic: str, end: int) -> None:
    """The marker of a transaction is written after its producer has its answer."""
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer({"bootstrap.servers": servers, "group.id": "nobody"})
    wait_until(lambda: consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=5)[1] == end)
    consumer.close()


def open_all(path: Path) -> tuple[LogDirectory, dict[str, Log]]:
    directory = LogDirectory.open(path, node_id=1, fs=UnsyncedFs())
    config = LogConfig(segment_bytes=1048576)
    logs = {found.topic: directory.open_log(found, config) for found in directory.list_logs() if found.partition == 0}
    return directory, logs


@pytest.mark.parametrize("state", ["clean", "killed"])
def test_every_record_is_there(directories: dict[str, Path], state: str) -> None:
    directory, logs = open_all(directories[state])
    assert directory.cluster_id is not None and directory.directory_id is not None
    for codec in CODECS:
        log = logs[f"codec-{codec}"]
        assert log.topic_id is not None
        data = read_all(log)
        assert all(check_crc(data, position) for position, _ in iter_batches(data))
        records = [record for position, _ in iter_batches(data) for record in decode_records(data, position)]
        assert [record.key for record in records] == [b"%d" % number for number in range(RECORDS)]
        assert [record.offset for record in records] == list(range(RECORDS))
        (entry,) = log.producers.entries.values()
        assert (entry.last_sequence, entry.last_offset) == (RECORDS - 1, RECORDS - 1)
        found = log.offset_for_timestamp(records[RECORDS // 2].timestamp)
        assert found is not None and records[found.offset].timestamp == records[RECORDS // 2].timestamp
        assert log.end_offset_for_epoch(log.leader_epochs.latest)[1] == RECORDS
    log = logs["transactions"]
    assert log.log_end_offset == 2 * RECORDS + 2
    ((producer_id, entry),) = log.producers.entries.items()
    assert log.aborted_transactions(0, log.log_end_offset) == [(producer_id, RECORDS + 1)]
    assert log.aborted_transactions(0, RECORDS) == []
    assert entry.txn_first_offset == -1 and log.last_stable_offset == log.log_end_offset
    assert len(logs["codec-none"].segments) > 1
    directory.close(clean=True)
    directory.unlock()


def test_what_we_rebuild_is_what_kafka_wrote(directories: dict[str, Path]) -> None:
    """Kafka's index files of finished segments, and ours after losing them."""
    source = directories["clean"] / "codec-none-0"
    bases = sorted(file.stem for file in source.glob("*.log"))
    names = [base + suffix for base in bases[:-1] for suffix in (".index", ".timeindex")]
    assert all((source / name).stat().st_size > 0 for name in names) and names
    path = source.parent / "rebuilt-0"
    shutil.copytree(source, path)
    for file in [*path.glob("*.index"), *path.glob("*.timeindex")]:
        file.unlink()
    new_log(path, LogConfig(segment_bytes=1048576)).close()
    for name in names:
        assert (path / name).read_bytes() == (source / name).read_bytes(), name
    shutil.rmtree(path)


def test_the_transaction_index_that_we_rebuild_is_what_kafka_wrote(directories: dict[str, Path]) -> None:
    source = directories["clean"] / "transactions-0"
    written = {file.name: file.read_bytes() for file in source.glob("*.txnindex")}
    assert sum(map(len, written.values())) == 34
    path = source.parent / "rebuilt-0"
    shutil.copytree(source, path)
    for file in path.glob("*.txnindex"):
        file.unlink()
    new_log(path, LogConfig(segment_bytes=1048576)).close()
    rebuilt = {file.name: file.read_bytes() for file in path.glob("*.txnindex")}
    assert rebuilt == {name: data for name, data in written.items() if data}
    shutil.rmtree(path)
