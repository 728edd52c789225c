"""A broker under measurement: its process, the scratch directory it writes to, topics for one run each."""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.process_meter import CpuMeter, peak_rss_mb, rss_mb
from bench.raw_client import RawClient, wait_until_ready
from conformance.cache import CACHE
from conformance.node import Node
from headrace.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from headrace.wire.messages.delete_topics import DeleteTopicsRequest

SCRATCH = CACHE / "bench" / "scratch"
SETTINGS = {
    "num.partitions": "4",
    "auto.create.topics.enable": "false",
    "group.initial.rebalance.delay.ms": "0",
    # A deleted topic leaves the disk at once, so that one run's files do not weigh on the next.
    "log.segment.delete.delay.ms": "100",
}
_numbers = itertools.count(1)


class Target:
    """One broker, either of the two. `name` heads its column."""

    def __init__(self, node_class: type[Node], title: str) -> None:
        self.title = title
        self._node_class = node_class
        self.node = self._new_node()

    def _new_node(self) -> Node:
        return self._node_class(SETTINGS, data_dir=SCRATCH / self._node_class.name / "data")

    @property
    def bootstrap_servers(self) -> str:
        return self.node.bootstrap_servers

    def start(self) -> None:
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

    def create_topic(self, partitions: int) -> str:
        name = f"bench-{next(_numbers)}-{os.getpid()}"
        topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
        with RawClient(self.node.port, timeout=120) as client:
            response = client.ask(CreateTopicsRequest(topics=[topic], timeout_ms=110_000), 5)
        if response.topics[0].error_code != 0:  # type: ignore[attr-defined]
            raise RuntimeError(f"{self.title} did not create a topic: {response}")
        wait_until_ready(self.node.port, {name: partitions})
        return name

    def delete_topic(self, name: str) -> None:
        with RawClient(self.node.port, timeout=120) as client:
            client.ask(DeleteTopicsRequest(topic_names=[name], timeout_ms=110_000), 5)

    @contextmanager
    def topic(self, partitions: int = 4) -> Iterator[str]:
        """A topic for one run; afterwards it is gone and the disk is quiet."""
        name = self.create_topic(partitions)
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
