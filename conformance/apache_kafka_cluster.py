"""Apache Kafka with three nodes, each broker and controller at once: replication factor 3, two replicas must have a record.

`with ApacheKafkaCluster() as kafka:`; `kafka.nodes[0].kill()` takes one away, and `start` brings it back.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Self

from conformance.apache_kafka import ApacheKafka, install, java_command, run_tool
from conformance.cache import free_port

START_TIMEOUT_S = 300.0  # Three starts side by side share the machine.
REPLICATION = {
    "default.replication.factor": "3",
    "min.insync.replicas": "2",
    "offsets.topic.replication.factor": "3",
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "transaction.state.log.num.partitions": "4",
    # A node that is gone is noticed within seconds.
    "broker.session.timeout.ms": "6000",
    "auto.create.topics.enable": "false",
}


class ClusterNode(ApacheKafka):
    """One of several. Its heap is small: they share a machine."""

    name = "apache-kafka-node"

    def __init__(
        self, node_id: int, cluster_id: str, controllers: Mapping[int, int], settings: Mapping[str, str]
    ) -> None:
        voters = ",".join(f"{number}@127.0.0.1:{port}" for number, port in controllers.items())
        self._cluster_id = cluster_id
        super().__init__({**REPLICATION, **settings, "node.id": str(node_id), "controller.quorum.voters": voters})
        own = f"PLAINTEXT://127.0.0.1:{self.port},CONTROLLER://127.0.0.1:{controllers[node_id]}"
        self.settings["listeners"] = own

    def _command(self) -> list[str]:
        return java_command("kafka.Kafka", str(self._properties), heap="384m", short_lived=False)

    def prepare(self) -> None:
        self._write_properties()
        if not (self.data_dir / "meta.properties").exists():
            run_tool("kafka.tools.StorageTool", "format", "-t", self._cluster_id, "-c", str(self._properties))


class ApacheKafkaCluster:
    """Three nodes. `bootstrap_servers` names all of them."""

    def __init__(self, settings: Mapping[str, str] | None = None, nodes: int = 3) -> None:
        install()
        cluster_id = run_tool("kafka.tools.StorageTool", "random-uuid").stdout.split()[-1]
        controllers = {number: free_port() for number in range(1, nodes + 1)}
        self.nodes = [ClusterNode(number, cluster_id, controllers, settings or {}) for number in controllers]
        self.bootstrap_servers = ",".join(node.bootstrap_servers for node in self.nodes)

    def start(self) -> Self:
        """All at once: none is ready before most of them are."""
        for node in self.nodes:
            node.prepare()
        for node in self.nodes:
            node.launch()
        for node in self.nodes:
            node.wait_until_ready(START_TIMEOUT_S)
        return self

    def logs(self) -> dict[str, Path]:
        return {f"node {number}": node.log_file for number, node in enumerate(self.nodes, 1)}

    def close(self) -> None:
        # Together: the last ones would wait in vain for a quorum to say good-bye to.
        for node in self.nodes:
            node.kill()
        for node in self.nodes:
            node.close()

    def __enter__(self) -> Self:
        try:
            return self.start()
        except BaseException:
            self.close()
            raise

    def __exit__(self, *_: object) -> None:
        self.close()
