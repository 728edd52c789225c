"""The real Apache Kafka as oracle, anchor and second home: install, format, start, stop, run its tools.

`python -m conformance.apache_kafka --port 9092` keeps one running until Ctrl-C;
`with apache_kafka({"num.partitions": "4"}) as kafka:` gives one to a test or a benchmark.
Jars come from Maven Central by coordinates, once, into the cache. Owns one process and one temporary directory each.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from xml.sax.saxutils import escape

from conformance.cache import CACHE, MissingPeer, free_port
from conformance.node import Node

VERSION = "4.3.0"
LIBS = CACHE / f"kafka-{VERSION}" / "libs"
HEAP = "1g"
COORDINATES = (
    ("org.apache.kafka", "kafka_2.13", VERSION),
    ("org.apache.kafka", "kafka-server", VERSION),
    ("org.apache.kafka", "kafka-tools", VERSION),
    ("org.apache.kafka", "kafka-streams", VERSION),
    ("org.apache.kafka", "kafka-streams-test-utils", VERSION),
    ("org.apache.kafka", "connect-runtime", VERSION),
    ("org.apache.kafka", "connect-file", VERSION),
    ("org.slf4j", "slf4j-reload4j", "1.7.36"),
)
LOG4J = """\
log4j.rootLogger=WARN, stderr
log4j.appender.stderr=org.apache.log4j.ConsoleAppender
log4j.appender.stderr.target=System.err
log4j.appender.stderr.layout=org.apache.log4j.PatternLayout
log4j.appender.stderr.layout.ConversionPattern=%d{ISO8601} %p %c{1}: %m%n
"""


def is_installed() -> bool:
    complete = LIBS / "COMPLETE"
    return complete.exists() and complete.read_text() == _pom()


def install() -> Path:
    """Fetch the jars unless they are here; returns their folder."""
    if is_installed():
        return LIBS
    for program in ("java", "mvn"):
        if shutil.which(program) is None:
            raise MissingPeer(f"Apache Kafka needs `{program}` (Debian: openjdk-17-jre-headless, maven)")
    LIBS.mkdir(parents=True, exist_ok=True)
    pom = LIBS.parent / "pom.xml"
    pom.write_text(_pom())
    subprocess.run(
        ["mvn", "-q", "-B", "-f", str(pom), "dependency:copy-dependencies", f"-DoutputDirectory={LIBS}"], check=True
    )
    (LIBS.parent / "log4j.properties").write_text(LOG4J)
    (LIBS / "COMPLETE").write_text(pom.read_text())
    return LIBS


def _pom() -> str:
    dependencies = "".join(
        f"<dependency><groupId>{escape(group)}</groupId><artifactId>{escape(artifact)}</artifactId>"
        f"<version>{escape(version)}</version></dependency>"
        for group, artifact, version in COORDINATES
    )
    return (
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        "<groupId>headrace</groupId><artifactId>apache-kafka</artifactId><version>1</version>"
        f"<dependencies>{dependencies}</dependencies></project>\n"
    )


def java_command(
    main_class: str, *arguments: str, heap: str = "256m", short_lived: bool = True, classes: Path | None = None
) -> list[str]:
    """The command line of one of Kafka's own classes, or of ours compiled into the folder `classes`.

    Tools that live for seconds get the quick compiler.
    """
    class_path = f"{LIBS}/*" if classes is None else f"{classes}:{LIBS}/*"
    log4j = LIBS.parent / "log4j.properties"
    flags = [f"-Xmx{heap}", f"-Dlog4j.configuration=file:{log4j}"]
    flags += ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"] if short_lived else [f"-Xms{heap}", "-XX:+UseG1GC"]
    return ["java", *flags, "-cp", class_path, main_class, *arguments]


def run_tool(
    main_class: str, *arguments: str, stdin: str | None = None, timeout: float = 120, check: bool = True
) -> subprocess.CompletedProcess[str]:
    """Run one of Kafka's Java tools (`org.apache.kafka.tools.TopicCommand` and so on) and return what it printed."""
    install()
    return subprocess.run(
        java_command(main_class, *arguments), input=stdin, capture_output=True, text=True, timeout=timeout, check=check
    )


class ApacheKafka(Node):
    """One Apache Kafka process as broker and controller at once."""

    name = "apache-kafka"

    @property
    def _properties(self) -> Path:
        return self.data_dir.parent / f"{self.data_dir.name}.server.properties"

    def _command(self) -> list[str]:
        return java_command("kafka.Kafka", str(self._properties), heap=HEAP, short_lived=False)

    def prepare(self) -> None:
        install()
        self._write_properties()
        if not (self.data_dir / "meta.properties").exists():
            cluster_id = run_tool("kafka.tools.StorageTool", "random-uuid").stdout.split()[-1]
            run_tool("kafka.tools.StorageTool", "format", "-t", cluster_id, "-c", str(self._properties))

    def _write_properties(self) -> None:
        controller_port = free_port()
        node_id = self.settings.get("node.id", "1")
        settings = {
            "process.roles": "broker,controller",
            "node.id": node_id,
            "controller.quorum.voters": f"{node_id}@127.0.0.1:{controller_port}",
            "listeners": f"PLAINTEXT://127.0.0.1:{self.port},CONTROLLER://127.0.0.1:{controller_port}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{self.port}",
            "controller.listener.names": "CONTROLLER",
            "log.dirs": str(self.data_dir),
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "share.coordinator.state.topic.replication.factor": "1",
            "share.coordinator.state.topic.min.isr": "1",
            "group.initial.rebalance.delay.ms": "0",
            **self.settings,
        }
        self._properties.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))


def apache_kafka(
    settings: Mapping[str, str] | None = None, *, port: int | None = None, data_dir: Path | None = None
) -> ApacheKafka:
    """For `with`: a running Apache Kafka; a temporary data directory is removed afterwards, a given one stays."""
    return ApacheKafka(settings, port=port, data_dir=data_dir)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m conformance.apache_kafka", description="Run one Apache Kafka node."
    )
    parser.add_argument("--port", type=int, default=None)
    parser.add_argument("--data-dir", type=Path, default=None, help="kept afterwards; without it a temporary one")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a server setting")
    parser.add_argument("--install-only", action="store_true")
    arguments = parser.parse_args()
    if arguments.install_only:
        print(install())
        return
    settings = dict(item.split("=", 1) for item in arguments.set)
    stop = [signal.SIGINT, signal.SIGTERM]
    with apache_kafka(settings, port=arguments.port, data_dir=arguments.data_dir) as kafka:
        signal.pthread_sigmask(signal.SIG_BLOCK, stop)
        print(
            f"Apache Kafka {VERSION} pid {kafka.pid} at {kafka.bootstrap_servers}, data in {kafka.data_dir}", flush=True
        )
        signal.sigwait(stop)
    print("stopped", flush=True)


if __name__ == "__main__":
    main()
