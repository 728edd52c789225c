"""Apache Kafka's own console clients and admin tools, and DumpLogSegments on the files that the broker wrote."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from conformance.apache_kafka import run_tool
from tests.clients.conftest import RunningBroker
from tests.clients.reference_client import produce, read_all, read_values

pytestmark = pytest.mark.peer("apache-kafka")
VALUES = sorted(f"value-{number}" for number in range(100))
TOPICS = "org.apache.kafka.tools.TopicCommand"
GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
CONFIGS = "kafka.admin.ConfigCommand"
FEATURES = "org.apache.kafka.tools.FeatureCommand"
TRANSACTIONS = "org.apache.kafka.tools.TransactionsCommand"
REASSIGN = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"


def tool(bootstrap_servers: str, main_class: str, *arguments: str, stdin: str | None = None) -> str:
    done = run_tool(main_class, "--bootstrap-server", bootstrap_servers, *arguments, stdin=stdin, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_console_producer(bootstrap_servers: str, topic: str) -> None:
    options = ["--reader-property", "parse.key=true", "--reader-property", "key.separator=:"]
    lines = "".join(f"k:{value}\n" for value in VALUES)
    producer = "org.apache.kafka.tools.ConsoleProducer"
    tool(bootstrap_servers, producer, "--topic", topic, "--compression-codec", "lz4", *options, stdin=lines)
    records = read_all(bootstrap_servers, topic, 100)
    assert sorted(record.value().decode() for record in records) == VALUES
    assert {record.key() for record in records} == {b"k"}


def test_console_consumer(bootstrap_servers: str, topic: str, name: str) -> None:
    produce(bootstrap_servers, topic, VALUES)
    limits = ["--max-messages", "100", "--timeout-ms", "30000"]
    consumer = "org.apache.kafka.tools.consumer.ConsoleConsumer"
    read = tool(bootstrap_servers, consumer, "--topic", topic, "--from-beginning", "--group", name, *limits)
    assert sorted(read.splitlines()) == VALUES


def test_topic_command(bootstrap_servers: str, name: str) -> None:
    tool(bootstrap_servers, TOPICS, "--create", "--topic", name, "--partitions", "2", "--config", "retention.ms=1000")
    tool(bootstrap_servers, TOPICS, "--alter", "--topic", name, "--partitions", "4")
    described = tool(bootstrap_servers, TOPICS, "--describe", "--topic", name)
    assert "PartitionCount: 4" in described
    assert "retention.ms=1000" in described
    assert name in tool(bootstrap_servers, TOPICS, "--list").split()
    tool(bootstrap_servers, TOPICS, "--delete", "--topic", name)
    assert name not in tool(bootstrap_servers, TOPICS, "--list").split()


def test_consumer_group_command(bootstrap_servers: str, topic: str, name: str) -> None:
    produce(bootstrap_servers, topic, VALUES)
    consumer = Consumer({"bootstrap.servers": bootstrap_servers, "group.id": name})
    consumer.commit(offsets=[TopicPartition(topic, partition, 0) for partition in range(3)], asynchronous=False)
    consumer.close()
    assert name in tool(bootstrap_servers, GROUPS, "--list").split()
    assert _lag(tool(bootstrap_servers, GROUPS, "--describe", "--group", name), topic) == 100
    reset = ["--group", name, "--topic", topic, "--reset-offsets", "--to-latest", "--execute"]
    tool(bootstrap_servers, GROUPS, *reset)
    assert _lag(tool(bootstrap_servers, GROUPS, "--describe", "--group", name), topic) == 0
    tool(bootstrap_servers, GROUPS, "--delete", "--group", name)
    assert name not in tool(bootstrap_servers, GROUPS, "--list").split()


def _lag(described: str, topic: str) -> int:
    """GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG ..."""
    rows = [line.split() for line in described.splitlines() if f" {topic} " in f"{line} "]
    assert len(rows) == 3, described
    return sum(int(row[5]) for row in rows)


def test_feature_command(bootstrap_servers: str) -> None:
    def level(described: str) -> list[str]:
        rows = [line.split() for line in described.splitlines()]
        return [row[7] for row in rows if row[:2] == ["Feature:", "transaction.version"]]

    assert level(tool(bootstrap_servers, FEATURES, "describe")) == ["2"]
    tool(bootstrap_servers, FEATURES, "downgrade", "--feature", "transaction.version=1")
    assert level(tool(bootstrap_servers, FEATURES, "describe")) == ["1"]
    tool(bootstrap_servers, FEATURES, "upgrade", "--feature", "transaction.version=2")
    assert level(tool(bootstrap_servers, FEATURES, "describe")) == ["2"]


def test_transactions_command(bootstrap_servers: str, topic: str, name: str) -> None:
    producer = Producer({"bootstrap.servers": bootstrap_servers, "transactional.id": name, "linger.ms": 0})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, "open", partition=1)
    assert producer.flush(30) == 0
    where = ["--topic", topic, "--partition", "1"]
    listed = tool(bootstrap_servers, TRANSACTIONS, "list")
    assert re.search(rf"{name}\s+\d+\s+\d+\s+Ongoing", listed)
    assert f"{topic}-1" in tool(bootstrap_servers, TRANSACTIONS, "describe", "--transactional-id", name)
    producers = tool(bootstrap_servers, TRANSACTIONS, "describe-producers", *where).splitlines()
    assert [row.split()[-1] for row in producers[1:]] == ["0"]
    assert len(tool(bootstrap_servers, TRANSACTIONS, "find-hanging", *where).splitlines()) == 1
    tool(bootstrap_servers, TRANSACTIONS, "abort", *where, "--start-offset", "0")
    producers = tool(bootstrap_servers, TRANSACTIONS, "describe-producers", *where).splitlines()
    assert [row.split()[-1] for row in producers[1:]] == ["None"]


def test_config_command(bootstrap_servers: str, topic: str) -> None:
    entity = ["--entity-type", "topics", "--entity-name", topic]
    tool(bootstrap_servers, CONFIGS, *entity, "--alter", "--add-config", "segment.bytes=1048576")
    described = tool(bootstrap_servers, CONFIGS, *entity, "--describe", "--all")
    assert re.search(r"segment\.bytes=1048576 .*DYNAMIC_TOPIC_CONFIG:segment\.bytes=1048576", described)
    assert "retention.ms=604800000" in described
    tool(bootstrap_servers, CONFIGS, *entity, "--alter", "--delete-config", "segment.bytes")
    assert "segment.bytes" not in tool(bootstrap_servers, CONFIGS, *entity, "--describe")


def test_get_offset_shell(bootstrap_servers: str, topic: str) -> None:
    produce(bootstrap_servers, topic, VALUES)
    offsets = tool(bootstrap_servers, "org.apache.kafka.tools.GetOffsetShell", "--topic", topic).split()
    assert [line.rsplit(":", 1)[0] for line in offsets] == [f"{topic}:{partition}" for partition in range(3)]
    assert sum(int(line.rsplit(":", 1)[1]) for line in offsets) == 100


@pytest.mark.parametrize("command", ["LogDirsCommand", "BrokerApiVersionsCommand"])
def test_describing_commands(bootstrap_servers: str, topic: str, command: str) -> None:
    described = ["--describe"] if command == "LogDirsCommand" else []
    printed = tool(bootstrap_servers, f"org.apache.kafka.tools.{command}", *described)
    assert f'"{topic}-0"' in printed if described else "Produce(0): 0 to 13" in printed


def test_reassign_partitions(broker: RunningBroker, topic: str, tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    wanted = {"topic": topic, "partition": 0, "replicas": [1], "log_dirs": [str(broker.data_dir)]}
    plan.write_text(json.dumps({"version": 1, "partitions": [wanted]}))
    with_plan = ["--reassignment-json-file", str(plan)]
    executed = tool(broker.bootstrap_servers, REASSIGN, "--execute", *with_plan)
    assert f"Successfully started partition reassignment for {topic}-0" in executed
    assert f"Successfully started moving log directory to {broker.data_dir} for replica {topic}-0" in executed
    verified = tool(broker.bootstrap_servers, REASSIGN, "--verify", *with_plan)
    assert f"Reassignment of partition {topic}-0 is completed." in verified
    assert f"Reassignment of replica {topic}-0-1 completed successfully." in verified
    assert "No partition reassignments found." in tool(broker.bootstrap_servers, REASSIGN, "--list")


def test_dump_log_segments(broker: RunningBroker, topic: str) -> None:
    produce(broker.bootstrap_servers, topic, VALUES, **{"compression.type": "zstd", "enable.idempotence": True})
    read_values(broker.bootstrap_servers, topic, 100)
    segments = [str(path) for path in sorted(Path(broker.data_dir).rglob(f"{topic}-*/*.log"))]
    assert len(segments) == 3
    dump = "org.apache.kafka.tools.DumpLogSegments"
    done = run_tool(dump, "--deep-iteration", "--print-data-log", "--files", ",".join(segments))
    printed = re.findall(r"payload: (value-\d+)", done.stdout)
    assert sorted(printed) == VALUES
    assert "isvalid: false" not in done.stdout
    assert "isvalid: true" in done.stdout
