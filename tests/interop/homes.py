"""The two brokers as homes of a data directory: started on a copy, asked, worked with, and ended.

Both run with the same few settings, as processes of their own. Apache Kafka gets ports that nobody told the data of before.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

from conformance.apache_kafka import ApacheKafka, run_tool
from conformance.cache import PROJECT, free_port
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
PAGE = PROJECT / "docs" / "how-to" / "move-between-headrace-and-kafka.md"
MORE = "-more"
TWO_DIRECTORIES = {"log.dirs": f"{DATA_DIR},{DATA_DIR}{MORE}"}


def headrace_on(path: Path, **settings: str) -> Headrace:
    return Headrace({**SETTINGS, **settings}, data_dir=path)


class KafkaByThePage(ApacheKafka):
    """Apache Kafka with the properties that the documentation tells to use, on other ports."""

    def _write_properties(self) -> None:
        settings = dict(line.split("=", 1) for line in _properties_of_the_page())
        assert settings["log.dirs"] == "/var/lib/headrace"
        ports = {"9092": str(self.port), "9093": str(free_port())}
        for name, value in settings.items():
            settings[name] = re.sub("909[23]", lambda found: ports[found[0]], value)
        settings |= {"log.dirs": str(self.data_dir)} | self.settings
        self._properties.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))


def _properties_of_the_page() -> list[str]:
    (block,) = re.findall("```properties\n(.*?)```", PAGE.read_text(), re.DOTALL)
    return block.splitlines()


def kafka_on(path: Path, **settings: str) -> ApacheKafka:
    return KafkaByThePage({**SETTINGS, **settings}, data_dir=path)


def kafka_with_static_voters(path: Path, **settings: str) -> ApacheKafka:
    """Apache Kafka whose voters stand in its properties."""
    return ApacheKafka({**SETTINGS, **settings}, data_dir=path)


class StandaloneKafka(KafkaByThePage):
    """Formatted as the quick start of Apache Kafka does it."""

    def prepare(self) -> None:
        self._write_properties()
        arguments = ["--standalone", "-t", "4L6g3nShT-eMCtK--X86sw", "-c", str(self._properties)]
        run_tool("kafka.tools.StorageTool", "format", *arguments)


def new_standalone_kafka(path: Path) -> StandaloneKafka:
    return StandaloneKafka(SETTINGS, data_dir=path)


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
