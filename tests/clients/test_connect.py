"""An Apache Kafka Connect worker with its file connectors: a file becomes a topic and a file again, through restarts."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource

from tests.clients.conftest import RunningBroker, running_broker
from tests.clients.connect_worker import SEGMENT_MS, ConnectWorker
from tests.clients.java_program import JavaProgram
from tests.clients.reference_client import read_to_end

pytestmark = pytest.mark.peer("apache-kafka")
STEPS, STEP = 4, 50


@pytest.fixture
def broker_that_compacts() -> Iterator[RunningBroker]:
    settings = {
        "log.cleaner.backoff.ms": "300",
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
        "transaction.state.log.num.partitions": "4",
        "offsets.topic.num.partitions": "4",
    }
    with running_broker(settings) as running:
        yield running


class Files:
    """The source file, which grows, and the sink file."""

    def __init__(self, folder: Path) -> None:
        self.source, self.sink = folder / "source.txt", folder / "sink.txt"
        self.written: list[str] = []

    def grow(self, lines: int) -> None:
        new = [f"line-{len(self.written) + number}" for number in range(lines)]
        with open(self.source, "a") as source:
            source.write("".join(f"{line}\n" for line in new))
        self.written += new

    def received(self) -> list[str]:
        return self.sink.read_text().splitlines() if self.sink.exists() else []


@pytest.mark.timeout(400)
def test_file_to_topic_to_file(broker_that_compacts: RunningBroker, name: str, tmp_path: Path) -> None:
    servers = broker_that_compacts.bootstrap_servers
    worker, files = ConnectWorker(tmp_path, servers, name), Files(tmp_path)
    topic = f"{name}-lines"
    with worker.start() as running:
        running.until(lambda: worker.ask("GET", "/connectors") == [], "an answer over REST")
        files.grow(STEP)
        worker.create("source", "FileStreamSourceConnector", file=str(files.source), topic=topic)
        worker.create("sink", "FileStreamSinkConnector", file=str(files.sink), topics=topic)
        grow_and_wait(running, files)
        running.terminate()
    assert files.received() == files.written

    files.grow(STEP)
    with worker.start() as running:
        wait_for_tasks(running, worker)
        grow_and_wait(running, files)
        assert files.received() == files.written, "a clean restart repeats nothing"
        roll_segments(running, files)
        running.until(lambda: is_compacted(servers, worker.topics["offset"]), "compacted offsets")
        files.grow(STEP)
        running.kill()

    with worker.start() as running:
        wait_for_tasks(running, worker)
        grow_and_wait(running, files)
        running.terminate()
    # The source is exactly once. The sink is told at least once, so a kill may repeat what it had written.
    (records,) = read_to_end(servers, topic, 1, "read_committed")
    assert [record.value().decode() for record in records] == files.written
    assert list(dict.fromkeys(files.received())) == files.written
    assert_compact(servers, list(worker.topics.values()))


def grow_and_wait(running: JavaProgram, files: Files) -> None:
    """Several steps, because every step is a transaction of its own."""
    for _ in range(STEPS):
        files.grow(STEP)
        running.until(lambda: files.received()[-1:] == files.written[-1:], "all lines in the sink")


def roll_segments(running: JavaProgram, files: Files) -> None:
    """Leaves the positions so far in segments that may be cleaned: a record that is younger by segment.ms begins another."""
    time.sleep(SEGMENT_MS / 1000)
    files.grow(STEP)
    running.until(lambda: files.received()[-1:] == files.written[-1:], "the last lines in the sink")


def wait_for_tasks(running: JavaProgram, worker: ConnectWorker) -> None:
    """Nobody told this process of connectors: it has read of them in its topics."""
    for connector in ("source", "sink"):
        running.until(lambda each=connector: worker.states(each) == ["RUNNING"] * 2, f"{connector} running")


def is_compacted(bootstrap_servers: str, topic: str) -> bool:
    """Whether earlier positions in the file are gone: there was a transaction, so a record and its marker, for each step."""
    consumer = Consumer({"bootstrap.servers": bootstrap_servers, "group.id": "unused"})
    _, end = consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=20)
    consumer.close()
    (records,) = read_to_end(bootstrap_servers, topic, 1, "read_uncommitted")
    return end >= 4 * STEPS and 0 < len(records) < STEPS


def assert_compact(bootstrap_servers: str, topics: list[str]) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap_servers})
    resources = [ConfigResource(ConfigResource.Type.TOPIC, topic) for topic in topics]
    described = admin.describe_configs(resources)
    assert [described[each].result(10)["cleanup.policy"].value for each in resources] == ["compact"] * len(topics)
