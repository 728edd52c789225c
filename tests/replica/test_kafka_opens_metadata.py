"""Apache Kafka on a directory that Headrace made: its tools read it, its broker starts on it, and Headrace takes it back."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.apache_kafka import apache_kafka, run_tool
from conformance.cache import free_port
from tests.replica.test_metadata_log import Node

pytestmark = pytest.mark.peer("apache-kafka")


def test_dump_log_segments_reads_log_and_snapshots(tmp_path: Path) -> None:
    node = Node(tmp_path).start()
    node.register()
    node.create("alpha", "beta", partitions=2)
    snapshot = node.log.snapshot()
    node.create("gamma")
    node.stop()
    folder = tmp_path / "__cluster_metadata-0"
    files = [folder / "00000000000000000000.log", folder / snapshot.file_name, tmp_path / "bootstrap.checkpoint"]
    arguments = ["--cluster-metadata-decoder", "--files", ",".join(map(str, files))]
    printed = run_tool("org.apache.kafka.tools.DumpLogSegments", *arguments).stdout
    assert "Could not" not in printed
    assert "isvalid: false" not in printed
    for expected in ("LeaderChange", "KRaftVoters", "SnapshotFooter", '"name":"gamma"', "REGISTER_BROKER_RECORD"):
        assert expected in printed
    assert printed.count('"type":"TOPIC_RECORD"') == 5, "three in the log, two in the snapshot"


@pytest.mark.timeout(180)
def test_kafka_starts_on_the_directory_and_headrace_takes_it_back(tmp_path: Path) -> None:
    controller_port, port = free_port(), free_port()
    node = Node(tmp_path, listeners=f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}").start()
    node.register()
    node.create("alpha", partitions=2)
    node.log.snapshot()
    node.create("beta")
    node.stop()
    settings = {
        "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}",
        "controller.quorum.voters": "",
        "controller.quorum.bootstrap.servers": f"127.0.0.1:{controller_port}",
    }
    with apache_kafka(settings, port=port, data_dir=tmp_path) as kafka:
        server = ["--bootstrap-server", kafka.bootstrap_servers]
        run_tool("org.apache.kafka.tools.TopicCommand", *server, "--create", "--topic", "delta")
        listed = run_tool("org.apache.kafka.tools.TopicCommand", *server, "--list").stdout.split()
    assert sorted(listed) == ["alpha", "beta", "delta"]
    node.start()
    assert sorted(node.image.topics) == ["alpha", "beta", "delta"]
    node.stop()
