"""The loads behind the cases for guarantees, on a running broker."""

from __future__ import annotations

import uuid
from pathlib import Path

from confluent_kafka import Consumer
from confluent_kafka.admin import AdminClient, NewTopic

from bench import loads, transactional_client
from bench.compaction import first_dirty_offset


def _topic(bootstrap_servers: str, partitions: int) -> str:
    name = f"bench-{uuid.uuid4().hex[:8]}"
    admin = AdminClient({"bootstrap.servers": bootstrap_servers})
    admin.create_topics([NewTopic(name, partitions, 1)])[name].result(30)
    return name


def _count(bootstrap_servers: str, topic: str, isolation_level: str) -> int:
    settings = {"bootstrap.servers": bootstrap_servers, "group.id": f"{topic}-{isolation_level}"}
    settings |= {"auto.offset.reset": "earliest", "isolation.level": isolation_level}
    consumer = Consumer({**settings, "enable.partition.eof": True})
    consumer.subscribe([topic])
    ended, records = set(), 0
    while len(ended) < 4:
        message = consumer.poll(30)
        assert message is not None
        if message.error() is None:
            records += 1
        else:
            ended.add(message.partition())
    consumer.close()
    return records


def test_a_tenth_of_what_is_written_is_aborted(headrace_shared_broker) -> None:  # type: ignore[no-untyped-def]
    servers = headrace_shared_broker.bootstrap_servers
    topic = _topic(servers, 4)
    committed = loads.write_transactions(servers, topic, 20_000, 10)
    assert committed == 18_000
    assert _count(servers, topic, "read_committed") == committed
    assert _count(servers, topic, "read_uncommitted") == 20_000


def test_transactions_are_counted(headrace_shared_broker) -> None:  # type: ignore[no-untyped-def]
    servers = headrace_shared_broker.bootstrap_servers
    topic = _topic(servers, 4)
    done = transactional_client.rate(servers, topic, 0.3, 0.1)
    assert done["per_second"] > 0
    assert _count(servers, topic, "read_committed") == (done["with_warm_up"]) * transactional_client.RECORDS


def test_the_checkpoint_says_how_far_a_log_is_clean(tmp_path: Path) -> None:
    checkpoint = tmp_path / "cleaner-offset-checkpoint"
    assert first_dirty_offset(checkpoint, "a") == -1
    checkpoint.write_text("0\n2\nother-a 0 7\na 0 42\n")
    assert (first_dirty_offset(checkpoint, "a"), first_dirty_offset(checkpoint, "b")) == (42, -1)
