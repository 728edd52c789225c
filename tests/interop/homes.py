"""The two brokers as homes of a data directory: started on a copy, asked, worked with, and ended.

Both run with the same few settings, as processes of their own. Apache Kafka gets ports that nobody told the data of before.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from conformance.apache_kafka import ApacheKafka, run_tool
from conformance.cache import free_port
from conformance.headrace_node import Headrace
from conformance.node import DATA_DIR, Node
from headrace.testing import wait_until
from tests.interop.contents import Contents, contents, differences
from tests.interop.programs import Programs

SETTINGS = {
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.num.partitions": "4",
    "group.initial.rebalance.delay.ms": "0",
    "log.cleaner.backoff.ms": "100",
    # What a kill would forget otherwise: how far records were deleted.
    "log.initial.task.delay.ms": "100",
    "log.flush.start.offset.checkpoint.interval.ms": "100",
}
MORE = "-more"
TWO_DIRECTORIES = {"log.dirs": f"{DATA_DIR},{DATA_DIR}{MORE}"}


def headrace_on(path: Path, **settings: str) -> Headrace:
    return Headrace({**SETTINGS, **settings}, data_dir=path)


def kafka_on(path: Path, **settings: str) -> ApacheKafka:
    """Apache Kafka whose voters stand in the data (`kafka-storage format --standalone`, and Headrace's own)."""
    port, controller_port = free_port(), free_port()
    quorum = {
        "controller.quorum.voters": "",
        "controller.quorum.bootstrap.servers": f"127.0.0.1:{controller_port}",
        "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}",
    }
    return ApacheKafka({**SETTINGS, **quorum, **settings}, port=port, data_dir=path)


def kafka_with_static_voters(path: Path, **settings: str) -> ApacheKafka:
    """Apache Kafka whose voters stand in its properties."""
    return ApacheKafka({**SETTINGS, **settings}, data_dir=path)


class StandaloneKafka(ApacheKafka):
    """Formatted as the quick start of Apache Kafka does it."""

    def prepare(self) -> None:
        self._write_properties()
        arguments = ["--standalone", "-t", "4L6g3nShT-eMCtK--X86sw", "-c", str(self._properties)]
        run_tool("kafka.tools.StorageTool", "format", *arguments)


def new_standalone_kafka(path: Path) -> StandaloneKafka:
    like = kafka_on(path)
    return StandaloneKafka(like.settings, port=like.port, data_dir=path)


def copy(source: Path, target: Path) -> Path:
    for suffix in ("", MORE):
        if Path(f"{source}{suffix}").exists():
            shutil.copytree(f"{source}{suffix}", f"{target}{suffix}")
    return target


def begin(node: Node, programs: Programs, end: Callable[[Node], object] = Node.stop) -> Contents:
    """Fill a new broker; what it showed before its end."""
    with node:
        programs.fill(node.port)
        return _leave(node, end)


def move_in(node: Node, programs: Programs, before: Contents, end: Callable[[Node], object] = Node.stop) -> Contents:
    """Start a broker on the data of another: it shows the same, and everybody goes on. What it showed before its end."""
    with node:
        assert differences(before, contents(node.port)) == []
        programs.go_on(node.port)
        return _leave(node, end)


def _leave(node: Node, end: Callable[[Node], object]) -> Contents:
    wait_until(lambda: _compacted_bytes(node.data_dir) < 1_500_000, timeout_s=60, message="cleaning")
    shown = contents(node.port)
    end(node)
    return shown


def _compacted_bytes(data_dir: Path) -> int:
    folders = [folder for suffix in ("", MORE) for folder in Path(f"{data_dir}{suffix}").glob("compacted-*")]
    return sum(file.stat().st_size for folder in folders for file in folder.glob("*.log"))
