"""A backlog: records that came while a pipeline was down are worked off in bounded memory, complete and in order for each key.

    python -m tests.faults.backlog                                   all apps, both guarantees, ten million records each
    python -m tests.faults.backlog --app hour_apart --guarantee exactly_once --records 200000

Each run has a broker and a Spark of its own, with the engine's defaults. The pipeline takes its first records and is stopped; the backlog comes; the pipeline is started
again. In two apps one partition is an hour behind the others: with the default grace nothing is late; with a grace of a minute what is missing is what was counted as late, and
the warning names the partition. Time is until the last result is written. Peak memory is that of the Java process (resident, as the kernel saw it).
Ends with status 1 when something was lost, doubled, out of order, or late and not told.
"""

from __future__ import annotations

import argparse
import itertools
import json
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from confluent_kafka import OFFSET_BEGINNING, KafkaError, TopicPartition

from headrace.plan.engine import Guarantee
from headrace.spark import meters
from headrace.spark.pipeline import PipelineSettings, RunningPipeline, start
from headrace.spark.session import SessionSettings, java_process, start_session, stop_session
from headrace.testing import wait_until
from headrace.testing.clients import Clients
from headrace.testing.process import broker_process
from tests.faults.backlog_apps import APPS, BacklogApp, Verdict
from tests.faults.backlog_sender import BacklogSender

if TYPE_CHECKING:
    from confluent_kafka import Message
    from pyspark.sql import SparkSession

PARTITIONS, KEYS, START_MS = 4, 1000, 1_700_000_000_000
FIRST = 8_000


@dataclass(frozen=True)
class Options:
    records: int
    app: str
    guarantee: Guarantee
    # Pipeline settings other than the defaults; tests have less time.
    settings: dict[str, Any] = field(default_factory=dict)


@dataclass
class Figures:
    sent: int
    seconds: float
    records_per_s: int
    cpu_s_per_million: float
    peak_java_mb: int
    batches: int
    late: int
    warnings: list[str]
    verdict: Verdict

    def broken(self, app: BacklogApp, lagging: str) -> list[str]:
        """`lagging`: the partition that is behind the others, and alone may be late."""
        extra = self.verdict.seen + self.late - self.sent
        found = [f"{extra:+,} records"] if extra else []
        found += [f"{self.verdict.out_of_order:,} out of order"] if self.verdict.out_of_order else []
        found += [f"{self.verdict.wrong:,} wrong"] if self.verdict.wrong else []
        if app.loses_late_ones != bool(self.late):
            found.append(f"{self.late:,} late")
        told = [f"records of {lagging} came too late" in warning for warning in self.warnings]
        if told != [True] * app.loses_late_ones:
            found.append(f"warnings {self.warnings}")
        return found


class Backlog:
    """One pipeline and its backlog on a broker and a Spark that are there."""

    def __init__(self, options: Options, broker: Clients, spark: SparkSession, directory: Path) -> None:
        self._options, self._broker, self._spark, self._directory = options, broker, spark, directory
        self._app: BacklogApp = APPS[options.app]
        self._name = f"backlog-{options.app.replace('_', '-')}-{str(options.guarantee).replace('_', '-')}"
        self._seconds = 0.0
        self._late = 0
        self._warnings: list[str] = []
        self._topics = {name: f"{self._name}-{name}" for name in ("events", "prices", "out")}

    def run(self) -> Figures:
        for topic in self._topics.values():
            self._broker.create_topic(topic, PARTITIONS, retention_ms=-1)
        self._send_prices()
        sender = BacklogSender(
            self._broker.bootstrap_servers, self._topics["events"], PARTITIONS, KEYS, START_MS, self._app.behind_ms
        )
        try:
            first = sender.send(min(FIRST, self._options.records))
            self._work_off(first, real_time_batch_ms=5_000)
            sent = first + sender.send(self._options.records - first)
        finally:
            sender.close()
        cpu = java_cpu_s()
        batches = self._work_off(sent - first)
        cpu = java_cpu_s() - cpu
        seconds = self._seconds
        return Figures(
            sent,
            round(seconds, 1),
            round(sent / seconds),
            round(cpu * 1e6 / sent, 1),
            peak_java_mb(),
            batches,
            self._late,
            self._warnings,
            self._app.judge(self._output()),
        )

    def broken(self, figures: Figures) -> list[str]:
        return figures.broken(self._app, f"{self._topics['events']}-{PARTITIONS - 1}")

    def _send_prices(self) -> None:
        producer = self._broker.producer()
        for number in range(KEYS if self._app.with_table else 0):
            producer.produce(self._topics["prices"], b'{"version": %d}' % number, b"key-%d" % number)
        assert producer.flush(30) == 0

    def _work_off(self, records: int, **more: Any) -> int:
        """Run the pipeline until nothing waits any more; says in how many batches. A batch in real-time mode lasts longer than its records."""
        plan = self._app.app(self._name, **self._topics).plan()
        chosen = {**more, **self._options.settings}
        checkpoints = str(self._directory / self._name)
        running = start(
            self._spark,
            plan,
            PipelineSettings(self._broker.bootstrap_servers, checkpoints, self._options.guarantee, **chosen),
        )
        timeout_s = 300 + self._options.records / 1000
        try:
            begin = time.monotonic()
            wait_until(lambda: self._is_out(running, records), timeout_s=timeout_s, interval_s=0.2)
            self._seconds = time.monotonic() - begin
            running.await_processed(timeout_s=timeout_s)
            progress = running.progress()
            self._late += progress["late"]
            self._warnings = progress["warnings"]
            return max(int(stage["batch"] or 0) for stage in progress["stages"])
        finally:
            running.stop()

    def _is_out(self, running: RunningPipeline, records: int) -> bool:
        failure = running.exception()
        if failure is not None:
            raise failure
        counts = meters.snapshot(self._spark, self._name)
        return bool(counts["rows_out"] + counts["late"] >= records)

    def _output(self) -> Iterator[Message]:
        consumer = self._broker.consumer(isolation_level="read_committed", enable_partition_eof=True)
        topic = self._topics["out"]
        consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in range(PARTITIONS)])
        ended = 0
        try:
            while ended < PARTITIONS:
                for message in consumer.consume(10_000, timeout=1):
                    error = message.error()
                    if error is None:
                        yield message
                    else:
                        assert error.code() == KafkaError._PARTITION_EOF, error
                        ended += 1
        finally:
            consumer.close()


def peak_java_mb() -> int:
    java = java_process()
    assert java is not None
    status = dict(line.split(":", 1) for line in Path(f"/proc/{java.pid}/status").read_text().splitlines())
    return int(status["VmHWM"].split()[0]) // 1024


def java_cpu_s() -> float:
    java = java_process()
    assert java is not None
    fields = Path(f"/proc/{java.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def run_alone(options: Options) -> dict[str, Any]:
    """With a broker and a Spark of its own. `broken` says what is not as it must be."""
    with tempfile.TemporaryDirectory(prefix="headrace-backlog-") as scratch, broker_process() as broker:
        spark = start_session(SessionSettings(checkpoint_dir=scratch, log_file=Path(scratch) / "spark.log"))
        try:
            backlog = Backlog(options, broker, spark, Path(scratch))
            figures = backlog.run()
            return {"broken": backlog.broken(figures), **asdict(figures)}
        except Exception as error:
            traceback.print_exc()
            return {"broken": [str(error)[:5000]]}
        finally:
            stop_session()


def main(arguments: Iterable[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=10_000_000)
    parser.add_argument("--app", nargs="+", choices=list(APPS), default=list(APPS))
    parser.add_argument("--guarantee", nargs="+", type=Guarantee, choices=list(Guarantee), default=list(Guarantee))
    parser.add_argument("--micro-batch", action="store_true", help="at least once in micro-batches too")
    parser.add_argument("--out", type=Path, help="write all figures to this file as JSON")
    asked = parser.parse_args(list(arguments) if arguments is not None else None)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # in an orderly way: broker and Spark end with it
    settings = {"real_time": False} if asked.micro_batch else {}
    runs: dict[str, Any] = {}
    for app, guarantee in itertools.product(asked.app, asked.guarantee):
        name = f"{app}, {guarantee}"
        runs[name] = run_alone(Options(asked.records, app, guarantee, settings))
        print(
            f"{name}: {'broken' if runs[name]['broken'] else 'complete and in order'}; {json.dumps(runs[name])}",
            flush=True,
        )
    failed = [name for name, figures in runs.items() if figures["broken"]]
    if asked.out:
        asked.out.write_text(json.dumps({"failed": failed, "runs": runs}, indent=2) + "\n")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
