"""Ten thousand partitions on one broker: created, listed, produced to, restarted cleanly and after kill -9.

python -m tests.faults.many_partitions --partitions 10000
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path

from confluent_kafka import OFFSET_BEGINNING, TopicPartition
from confluent_kafka.admin import NewTopic

from headrace.testing import BrokerProcess, broker_process

PER_TOPIC = 100


def run(partitions: int, *, report=lambda text: None) -> dict[str, object]:
    """Run through the life of a broad broker; the figures."""
    figures: dict[str, object] = {"partitions": partitions}
    topics = [f"wide-{number:04d}" for number in range(partitions // PER_TOPIC)]
    with broker_process() as broker:
        figures["create_s"] = timed(lambda: create(broker, topics))
        report(f"created {partitions} partitions: {figures}")
        figures["list_s"] = timed(lambda: check_listed(broker, topics))
        figures["produce_s"] = timed(lambda: produce(broker, topics, 1))
        figures["file_descriptors"] = len(os.listdir(f"/proc/{broker.pid}/fd"))
        figures["rss_mb"] = rss_mb(broker.pid)
        report(f"produced one record to each: {figures}")
        assert broker.stop() == 0
        figures["clean_restart_s"] = timed(broker.restart)
        report(f"restarted: {figures}")
        check_read(broker, topics, 1)
        produce(broker, topics, 1)
        broker.kill()
        figures["restart_after_kill_s"] = timed(broker.restart)
        check_read(broker, topics, 2)
        figures["rss_after_mb"] = rss_mb(broker.pid)
        figures["file_descriptors_after"] = len(os.listdir(f"/proc/{broker.pid}/fd"))
        assert broker.stop() == 0
    return figures


def timed(action) -> float:
    started = time.perf_counter()
    action()
    return round(time.perf_counter() - started, 2)


def rss_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    kilobytes = next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS"))
    return round(int(kilobytes) / 1024, 1)


def create(broker: BrokerProcess, topics: list[str]) -> None:
    admin = broker.admin()
    for start in range(0, len(topics), 10):
        wanted = [NewTopic(name, PER_TOPIC, 1) for name in topics[start : start + 10]]
        for future in admin.create_topics(wanted, operation_timeout=120, request_timeout=120).values():
            future.result(120)


def check_listed(broker: BrokerProcess, topics: list[str]) -> None:
    listed = broker.admin().list_topics(timeout=60).topics
    assert set(topics) <= set(listed)
    assert all(len(listed[name].partitions) == PER_TOPIC for name in topics)


def produce(broker: BrokerProcess, topics: list[str], each: int) -> None:
    failures: list[object] = []
    producer = broker.producer(queue_buffering_max_messages=1_000_000)
    for _ in range(each):
        for name in topics:
            for partition in range(PER_TOPIC):
                producer.produce(
                    name,
                    b"v",
                    partition=partition,
                    on_delivery=lambda error, _: failures.append(error) if error else None,
                )
            producer.poll(0)
    left = producer.flush(300)
    assert not left and not failures, (left, failures[:3])


def check_read(broker: BrokerProcess, topics: list[str], each: int) -> None:
    """Every partition holds as many records as were acknowledged."""
    consumer = broker.consumer(fetch_wait_max_ms=10)
    try:
        consumer.assign(
            [TopicPartition(name, partition, OFFSET_BEGINNING) for name in topics for partition in range(PER_TOPIC)]
        )
        wanted, seen = len(topics) * PER_TOPIC * each, 0
        deadline = time.monotonic() + 240
        while seen < wanted:
            assert time.monotonic() < deadline, f"read {seen} of {wanted} records"
            for message in consumer.consume(10_000, 0.5):
                assert message.error() is None, message.error()
                seen += 1
        assert seen == wanted, (seen, wanted)
    finally:
        consumer.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--partitions", type=int, default=10_000)
    parser.add_argument("--out", type=Path, help="write the figures to this file as JSON")
    options = parser.parse_args()
    figures = run(options.partitions, report=lambda text: print(text, flush=True))
    print(json.dumps(figures))
    if options.out:
        options.out.write_text(json.dumps(figures, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
