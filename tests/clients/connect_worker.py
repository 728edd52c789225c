"""An Apache Kafka Connect worker in distributed mode, asked over its REST interface."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from conformance.cache import free_port
from tests.clients.java_program import JavaProgram

FILE_CONNECTORS = "org.apache.kafka.connect.file"
SEGMENT_MS = 1000
INTERNAL_TOPICS = ("config", "offset", "status")


class ConnectWorker:
    """One group's only worker: `start` gives a process of it, which finds again in its topics what earlier ones were told."""

    def __init__(self, folder: Path, bootstrap_servers: str, group: str) -> None:
        self._folder = folder
        self._port = free_port()
        self.topics = {kind: f"{group}-{kind}" for kind in INTERNAL_TOPICS}
        settings = {
            "bootstrap.servers": bootstrap_servers,
            "group.id": group,
            "listeners": f"http://127.0.0.1:{self._port}",
            "plugin.discovery": "service_load",
            "key.converter": "org.apache.kafka.connect.storage.StringConverter",
            "value.converter": "org.apache.kafka.connect.storage.StringConverter",
            "exactly.once.source.support": "enabled",
            "offset.flush.interval.ms": "1000",
            **{f"{of}session.timeout.ms": "6000" for of in ("", "consumer.")},
            **{f"{of}heartbeat.interval.ms": "500" for of in ("", "consumer.")},
            "scheduled.rebalance.max.delay.ms": "0",
            **{f"{kind}.storage.topic": topic for kind, topic in self.topics.items()},
            **{f"{kind}.storage.replication.factor": "1" for kind in INTERNAL_TOPICS},
            "offset.storage.partitions": "1",
            # As soon as something is older than a second, there is something to compact.
            **{f"{kind}.storage.segment.ms": str(SEGMENT_MS) for kind in INTERNAL_TOPICS},
            **{f"{kind}.storage.min.cleanable.dirty.ratio": "0.01" for kind in INTERNAL_TOPICS},
        }
        self._properties = folder / "worker.properties"
        self._properties.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))

    def start(self) -> JavaProgram:
        return JavaProgram(self._folder, "org.apache.kafka.connect.cli.ConnectDistributed", str(self._properties))

    def ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        """One request; None when there is no worker, or none that can answer yet."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self._port}{path}", data, method=method)
        request.add_header("Content-Type", "application/json")
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return json.loads(answer.read())
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            return None

    def create(self, name: str, kind: str, **settings: str) -> None:
        config = {"connector.class": f"{FILE_CONNECTORS}.{kind}", "tasks.max": "1", **settings}
        assert self.ask("PUT", f"/connectors/{name}/config", config) is not None

    def states(self, name: str) -> list[str]:
        """Of the connector and its tasks."""
        status = self.ask("GET", f"/connectors/{name}/status")
        return [] if status is None else [each["state"] for each in (status["connector"], *status["tasks"])]
