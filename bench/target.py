"""A broker under measurement: its process, the scratch directory it writes to, topics for one run each."""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from bench.process_meter import CpuMeter, peak_rss_mb, rss_mb
from bench.raw_client import RawClient, wait_until_ready
from conformance.apache_kafka import ApacheKafka
from conformance.cache import CACHE
from conformance.node import Node
from headrace.wire.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from headrace.wire.messages.delete_topics import DeleteTopicsRequest
from headrace.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)

SCRATCH = CACHE / "bench" / "scratch"
SETTINGS = {
    "num.partitions": "4",
    "auto.create.topics.enable": "false",
    "group.initial.rebalance.delay.ms": "0",
    # A deleted topic leaves the disk at once, so that one run's files do not weigh on the next.
    "log.segment.delete.delay.ms": "100",
}
TOPIC_RESOURCE = 2
_numbers = itertools.count(1)


class Target:
    """One broker, either of the two. `name` heads its column."""

    def __init__(self, node_class: type[Node], title: str) -> None:
        self.title = title
        self._node_class = node_class
        self._settings: dict[str, str] = {}
        self._has_worked = False
        self.node = self._new_node()

    def _new_node(self) -> Node:
        return self._node_class(SETTINGS | self._settings, data_dir=SCRATCH / self._node_class.name / "data")

    def warm_up_runs(self, *, quick: bool) -> int:
        """At most so many unmeasured runs now: a JVM gets faster for a while, most of all a new one. Python does not."""
        if self._node_class is not ApacheKafka:
            return 1
        return 2 if quick and self._has_worked else 4

    def use(self, settings: Mapping[str, str]) -> None:
        """Another broker on an empty directory, if these settings are not those it has beside the bench's own."""
        if self._settings != settings:
            self._settings = dict(settings)
            self.wipe()

    @property
    def bootstrap_servers(self) -> str:
        return self.node.bootstrap_servers

    def start(self) -> None:
        self._has_worked = self.node.alive
        if not self.node.alive:
            self.node.start()

    def stop(self) -> None:
        self.node.stop()

    def wipe(self) -> None:
        """End the broker and remove everything it wrote; the next start is a first one."""
        self.node.kill()
        shutil.rmtree(self.node.data_dir.parent, ignore_errors=True)
        self.node = self._new_node()

    def cpu(self) -> CpuMeter:
        return CpuMeter(self.node.pid)

    def memory_mb(self) -> dict[str, float]:
        return {"rss_mb": rss_mb(self.node.pid), "peak_rss_mb": peak_rss_mb(self.node.pid)}

    def create_topic(self, partitions: int, configs: Mapping[str, str] | None = None) -> str:
        name = f"bench-{next(_numbers)}-{os.getpid()}"
        set_configs = [CreatableTopicConfig(name=key, value=value) for key, value in (configs or {}).items()]
        topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1, configs=set_configs)
        with RawClient(self.node.port, timeout=120) as client:
            response = client.ask(CreateTopicsRequest(topics=[topic], timeout_ms=110_000), 5)
        if response.topics[0].error_code != 0:  # type: ignore[attr-defined]
            raise RuntimeError(f"{self.title} did not create a topic: {response}")
        wait_until_ready(self.node.port, {name: partitions})
        return name

    def set_config(self, topic: str, name: str, value: str) -> None:
        configs = [AlterableConfig(name=name, value=value)]
        resource = AlterConfigsResource(resource_type=TOPIC_RESOURCE, resource_name=topic, configs=configs)
        with RawClient(self.node.port, timeout=120) as client:
            response = client.ask(IncrementalAlterConfigsRequest(resources=[resource]), 1)
        if response.responses[0].error_code != 0:  # type: ignore[attr-defined]
            raise RuntimeError(f"{self.title} did not take {name}={value}: {response}")

    def delete_topic(self, name: str) -> None:
        with RawClient(self.node.port, timeout=120) as client:
            client.ask(DeleteTopicsRequest(topic_names=[name], timeout_ms=110_000), 5)

    @contextmanager
    def topic(self, partitions: int = 4, configs: Mapping[str, str] | None = None) -> Iterator[str]:
        """A topic for one run; afterwards it is gone and the disk is quiet."""
        name = self.create_topic(partitions, configs)
        try:
            yield name
        finally:
            self.delete_topic(name)
            settle(self.node.data_dir, name)


def settle(data_dir: Path, topic: str) -> None:
    """Wait until the topic's files are gone and the kernel owes the disk nothing: no run pays for the one before."""
    import time

    deadline = time.monotonic() + 60
    while any(data_dir.glob(f"{topic[:40]}*")) and time.monotonic() < deadline:
        time.sleep(0.05)
    os.sync()
