"""An example on a cluster: Spark with a master and two workers, Apache Kafka with three brokers; a worker and a broker are killed with -9 on the way.

    python -m tests.faults.cluster [--guarantee exactly_once at_least_once] [--records 60000] [--keep DIRECTORY]

The example is `examples/streams/card_fraud.py`, submitted with `headrace run` to a `headrace engine --master spark://…`, as on one machine. Every card pays five times within a minute, so
its fourth and fifth payment raise an alarm each: exactly once, or at least once, when payments that are handed from one stage to the next a second time may count as more. Neither the
worker nor the broker comes back. Ends with status 1 when a promise was broken.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, KafkaError, TopicPartition
from confluent_kafka.admin import NewTopic

from conformance.apache_kafka_cluster import ApacheKafkaCluster
from headrace import client
from headrace.plan.engine import Guarantee
from headrace.testing import wait_until
from tests.faults.engine_process import EngineProcess
from tests.faults.spark_cluster import StandaloneCluster

PROJECT = Path(__file__).resolve().parent.parent.parent
EXAMPLE = PROJECT / "examples" / "streams" / "card_fraud.py"
NAME = "card-fraud"
PARTITIONS, PER_CARD, SPAN_MS, START_MS = 4, 5, 540_000, 1_700_000_040_000
TIMEOUT_S = 600.0
Report = Callable[[str], None]


@dataclass
class Figures:
    """`alarms` are distinct ones, `foreign` those with more payments than were made; `restarts` those of the pipeline by the engine."""

    payments: int
    expected: int
    alarms: int
    lost: int
    doubled: int
    foreign: int
    restarts: int
    rows_in: int
    late: int
    seconds: float

    def broken(self, guarantee: Guarantee) -> bool:
        return bool(self.lost or (guarantee is Guarantee.EXACTLY_ONCE and (self.doubled or self.foreign)))


class ClusterTest:
    """Everything is up; the example runs and is struck."""

    def __init__(
        self, kafka: ApacheKafkaCluster, spark: StandaloneCluster, engine: EngineProcess, cards: int, report: Report
    ) -> None:
        self.kafka, self.spark, self.engine, self.cards, self.report = kafka, spark, engine, cards, report
        self._producer = client.producer(kafka.bootstrap_servers)
        self._sent = 0

    def run(self, guarantee: Guarantee) -> Figures:
        begin = time.monotonic()
        self._create_topic()
        self._submit(guarantee)
        third = self.cards // 3
        self._pay(third)
        self._wait_for_alarms(third)
        self._pay(third)
        self.spark.kill_worker(0)
        self.report("worker killed")
        self._wait_for_alarms(2 * third)
        self._pay(self.cards - 2 * third)
        self.kafka.nodes[1].kill()
        self.report("broker killed")
        self._wait_for_alarms(self.cards)
        status = self.engine.shown(NAME)
        return self._judge(status, time.monotonic() - begin)

    def _create_topic(self) -> None:
        admin = client.admin(self.kafka.bootstrap_servers)
        topics = [NewTopic(name, PARTITIONS, 3, config={"retention.ms": "-1"}) for name in ("payments", "alarms")]
        for future in admin.create_topics(topics).values():
            future.result(60)

    def _submit(self, guarantee: Guarantee) -> None:
        place = ("--bootstrap-server", self.kafka.bootstrap_servers, "--engine", self.engine.url)
        command = [
            sys.executable,
            "-m",
            "headrace",
            "run",
            str(EXAMPLE),
            "--detach",
            "--guarantee",
            str(guarantee),
        ]
        done = subprocess.run([*command, *place], capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        wait_until(
            lambda: self.engine.shown(NAME)["state"] == "running",
            timeout_s=TIMEOUT_S,
            interval_s=0.5,
            message="the start",
        )
        self.report("the example runs")

    def _pay(self, cards: int) -> None:
        """Five payments for each of the next cards."""
        for card in range(self._sent, self._sent + cards):
            ts = START_MS + card * SPAN_MS // self.cards
            for number in range(PER_CARD):
                value = {"id": f"{card}-{number}", "amount": 1.0, "country": "DE"}
                self._produce(b"card-%d" % card, json.dumps(value).encode(), ts)
        assert self._producer.flush(60) == 0
        self._sent += cards

    def _produce(self, key: bytes, value: bytes, ts: int) -> None:
        while True:
            try:
                self._producer.produce("payments", value, key, timestamp=ts)
                return
            except BufferError:
                self._producer.poll(0.1)

    def _wait_for_alarms(self, cards: int) -> None:
        wanted = (PER_CARD - 3) * cards
        wait_until(
            lambda: len(self._alarms()) >= wanted,
            timeout_s=TIMEOUT_S,
            interval_s=1.0,
            message=f"{wanted} alarms of {cards} cards",
        )
        self.report(f"{wanted:,} alarms")

    def _alarms(self) -> Counter[tuple[str, int]]:
        """What a reader of committed records sees: how often each alarm, by card and number of payments."""
        consumer = client.consumer(
            self.kafka.bootstrap_servers, overrides={"isolation.level": "read_committed", "enable.partition.eof": True}
        )
        consumer.assign([TopicPartition("alarms", partition, OFFSET_BEGINNING) for partition in range(PARTITIONS)])
        found: Counter[tuple[str, int]] = Counter()
        ended = 0
        try:
            while ended < PARTITIONS:
                for message in consumer.consume(5_000, timeout=1):
                    error = message.error()
                    if error is None:
                        alarm = json.loads(message.value() or b"")
                        found[alarm["card"], alarm["payments"]] += 1
                    elif error.code() == KafkaError._PARTITION_EOF:
                        ended += 1
        finally:
            consumer.close()
        return found

    def _judge(self, status: dict[str, object], seconds: float) -> Figures:
        found = self._alarms()
        expected = {(f"card-{card}", number) for card in range(self.cards) for number in range(4, PER_CARD + 1)}
        progress = status["progress"]
        assert isinstance(progress, dict)
        return Figures(
            payments=self.cards * PER_CARD,
            expected=len(expected),
            alarms=len(found),
            lost=len(expected - found.keys()),
            doubled=sum(found.values()) - len(found),
            foreign=len(found.keys() - expected),
            restarts=int(str(status["restarts"])),
            rows_in=progress["rows_in"],
            late=progress["late"],
            seconds=round(seconds, 1),
        )


def run(guarantee: Guarantee, records: int, keep: Path | None, report: Report) -> Figures:
    with tempfile.TemporaryDirectory(prefix="headrace-cluster-", ignore_cleanup_errors=True) as scratch:
        directory = keep or Path(scratch)
        directory.mkdir(parents=True, exist_ok=True)
        with (
            ApacheKafkaCluster() as kafka,
            StandaloneCluster(python_path=str(PROJECT / "src")) as spark,
            EngineProcess(
                "--bootstrap-server", kafka.bootstrap_servers,
                "--master", spark.master,
                "--checkpoint-dir", str(directory / "checkpoints"),
                "--data-dir", str(directory / "engine"),
                "--spark", "spark.executor.memory=640m",
                "--spark", "spark.driver.host=127.0.0.1",
                "--spark", f"spark.pyspark.python={sys.executable}",
                log_file=directory / "engine.log",
            ) as engine,
        ):  # fmt: skip
            engine.wait_ready()
            report("Kafka, Spark and the engine are up")
            try:
                return ClusterTest(kafka, spark, engine, records // PER_CARD, report).run(guarantee)
            finally:
                if keep:
                    _keep_logs(keep, spark, kafka)


def _keep_logs(keep: Path, spark: StandaloneCluster, kafka: ApacheKafkaCluster) -> None:
    for name, text in spark.executor_logs().items():
        (keep / f"{name.replace('/', '_')}.log").write_text(text)
    for name, path in kafka.logs().items():
        (keep / f"kafka {name}.log").write_text(path.read_text(errors="replace"))


def main(arguments: Iterable[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--guarantee", nargs="+", type=Guarantee, choices=list(Guarantee), default=list(Guarantee))
    parser.add_argument("--records", type=int, default=60_000)
    parser.add_argument("--keep", type=Path, help="keep logs and checkpoints in this directory")
    parser.add_argument("--out", type=Path, help="write all figures to this file as JSON")
    asked = parser.parse_args(list(arguments) if arguments is not None else None)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # in an orderly way: all processes end with it
    runs: dict[str, Any] = {}
    failed: list[str] = []
    for guarantee in asked.guarantee:
        keep = asked.keep / str(guarantee) if asked.keep else None
        figures = run(guarantee, asked.records, keep, lambda text: print(time.strftime("%H:%M:%S"), text, flush=True))
        runs[str(guarantee)] = asdict(figures)
        failed += [str(guarantee)] if figures.broken(guarantee) else []
        print(f"{guarantee}: {'broken' if guarantee in failed else 'kept'}; {json.dumps(asdict(figures))}", flush=True)
    if asked.out:
        asked.out.write_text(json.dumps({"failed": failed, "runs": runs}, indent=2) + "\n")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
