"""The Spark kill test: queries run while their driver and the broker are killed with -9 at random moments, then the output is judged.

    python -m tests.faults.spark_kills --records 1000000 --driver-kills 5 --broker-kills 2 --guarantee exactly_once
    python -m tests.faults.spark_kills --workload tests.faults.spark_workloads:Stateless --broker apache --real-time

Input flows in one portion more than there are kills, and each kill strikes somewhere inside a portion, when the queries have committed
something since the last one. Under exactly once the moments take turns: while a transaction is open, when one has just ended (so that the
checkpoint may not know of it yet), at any time. A driver that ends by itself, as it may when the broker is gone for long, is started again and counted.
Exactly once means that a read_committed reader misses nothing and sees nothing twice; at least once, that it misses nothing.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, Message, TopicPartition
from confluent_kafka.admin import NewTopic

from conformance.apache_kafka import apache_kafka
from conformance.headrace_node import Headrace
from conformance.node import Node
from headrace import client
from headrace.spark.sinks import Guarantee
from headrace.testing import wait_until
from tests.faults.spark_workloads import Input, Run, Verdict, Workload, load

STATELESS = "tests.faults.spark_workloads:Stateless"
BROKERS: dict[str, Callable[[dict[str, str]], Node]] = {"headrace": Headrace, "apache": apache_kafka}
START_TIMEOUT_S = 120.0
PROGRESS_TIMEOUT_S = 180.0
OPEN, JUST_ENDED, ANY_TIME = "transaction open", "transaction just ended", "any time"
MOMENTS = (OPEN, JUST_ENDED, ANY_TIME)
Report = Callable[[str], None]


@dataclass
class Figures:
    """What happened on the way."""

    driver_kills: int = 0
    broker_kills: int = 0
    driver_failures: list[str] = field(default_factory=list)
    moments: list[str] = field(default_factory=list)
    log_records: int = 0
    """Offsets in the output topics: what was committed, what was aborted, and the markers that say which is which."""
    seconds: float = 0.0


class Driver:
    """The process that runs the queries, killed and started again on the same checkpoints."""

    def __init__(self, run: Run, figures: Figures, report: Report) -> None:
        self.run, self.figures, self.report = run, figures, report
        self.java = 0
        self.caught_up_at = 0.0
        self._lives = 0
        self._process: subprocess.Popen[str] | None = None
        self._running = threading.Event()
        self._lock = threading.RLock()
        self._closing = False

    def start(self) -> None:
        with self._lock:
            self._running.clear()
            self.java = 0
            self._lives += 1
            command = [sys.executable, "-m", "tests.faults.spark_driver", self.run.to_json()]
            with open(f"{self.run.log_file}.driver", "ab") as log:
                self._process = subprocess.Popen(
                    command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
                )
            threading.Thread(target=self._listen, args=(self._process,), daemon=True).start()

    def _listen(self, process: subprocess.Popen[str]) -> None:
        """Take what the driver says until it ends; one that ends by itself is started again."""
        assert process.stdout is not None
        for line in process.stdout:
            if process is self._process and line.startswith("{"):
                self._take(json.loads(line))
        process.wait()
        with self._lock:
            if process is self._process and not self._closing:
                self.start()

    def _take(self, event: dict[str, Any]) -> None:
        if event["event"] == "session":
            self.java = event["java"]
        elif event["event"] == "running":
            self._running.set()
        elif event["event"] == "caught_up":
            self.caught_up_at = event["at"]
        elif event["event"] == "failed":
            self.figures.driver_failures.append(event["reason"])
            self.report(f"driver ended by itself: {event['reason'][:300]}")

    def wait_running(self) -> None:
        assert self._running.wait(START_TIMEOUT_S), f"the driver did not start:\n{self.log()}"

    def kill(self) -> None:
        """Java and Python, both with -9, as when the machine is switched off."""
        with self._lock:
            process, self._process = self._process, None
            assert process is not None
            for pid in filter(None, (self.java, process.pid)):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            process.wait()
            assert process.stdin is not None
            process.stdin.close()
            self.figures.driver_kills += 1

    def close(self) -> None:
        """End it in an orderly way, or at once if that takes too long."""
        with self._lock:
            self._closing = True
            process = self._process
        if process is None:
            return
        assert process.stdin is not None
        process.stdin.close()
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            self.kill()

    def log(self) -> str:
        path = Path(f"{self.run.log_file}.driver")
        return path.read_text(errors="replace")[-3000:] if path.exists() else ""


class Flow(threading.Thread):
    """Produces the input, a portion at a time, at a steady rate."""

    def __init__(self, bootstrap_servers: str, records: Iterator[Input]) -> None:
        super().__init__(name="flow", daemon=True)
        self.sent = 0
        self.problems: list[str] = []
        self._records = records
        self._allowed, self._rate = 0, 1.0
        self._changed = threading.Condition()
        self._ended = False
        self._producer = client.producer(
            bootstrap_servers,
            {
                "linger.ms": 5,
                "reconnect.backoff.max.ms": 200,
                "message.timeout.ms": 300_000,
                "queue.buffering.max.messages": 1_000_000,
            },
        )

    def allow(self, up_to: int, seconds: float) -> None:
        """Let the flow go on up to a record, in about this time."""
        with self._changed:
            self._allowed = up_to
            self._rate = max(1.0, (up_to - self.sent) / max(seconds, 0.01))
            self._changed.notify()

    def finish(self) -> None:
        """Wait until all that was allowed is with the broker."""
        with self._changed:
            self._ended = True
            self._changed.notify()
        self.join(300)
        assert not self.is_alive(), "the flow did not end"
        left = self._producer.flush(120)
        assert not left and not self.problems, f"input was not delivered: {left} without an answer, {self.problems[:3]}"

    def run(self) -> None:
        for record in self._records:
            with self._changed:
                while self.sent >= self._allowed:
                    if self._ended:
                        return
                    self._changed.wait(1.0)
            self._send(record)
            self.sent += 1
            if self.sent % 100 == 0:
                self._producer.poll(0)
                time.sleep(100 / self._rate)  # paces the flow; nothing is awaited here

    def _send(self, record: Input) -> None:
        while True:
            try:
                self._producer.produce(
                    record.topic,
                    record.value,
                    record.key,
                    record.partition,
                    on_delivery=self._delivered,
                    timestamp=record.timestamp_ms,
                )
                return
            except BufferError:
                self._producer.poll(0.1)

    def _delivered(self, error: object, _message: Message) -> None:
        if error is not None:
            self.problems.append(str(error))


class OpenTransactions:
    """Sees whether a transaction is open in the output: then readers of committed records are held back before the end of a log."""

    def __init__(self, bootstrap_servers: str, topics: Mapping[str, int]) -> None:
        self._places = [TopicPartition(topic, number) for topic, count in topics.items() for number in range(count)]
        self._all, self._committed = (
            client.consumer(bootstrap_servers, None, {"isolation.level": f"read_{level}"})
            for level in ("uncommitted", "committed")
        )

    def any(self) -> bool:
        return any(self._end(self._committed, place) < self._end(self._all, place) for place in self._places)

    def _end(self, consumer: Consumer, place: TopicPartition) -> int:
        end: int = consumer.get_watermark_offsets(place, timeout=10)[1]
        return end

    def wait(self, is_open: bool, timeout_s: float = 20.0) -> bool:
        """Wait until one is open, or none; whether that came in time."""
        deadline = time.monotonic() + timeout_s
        while self.any() is not is_open:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.002)  # a transaction is open for tens of milliseconds
        return True

    def close(self) -> None:
        self._all.close()
        self._committed.close()


class KillTest:
    """One run: broker, driver and flow, brought together and struck."""

    def __init__(self, options: Options, broker: Node, scratch: Path, report: Report) -> None:
        self.options, self.broker, self.report = options, broker, report
        self.random = random.Random(options.seed)
        self.workload: Workload = load(options.workload)
        self.figures = Figures()
        run = Run(
            options.workload,
            broker.bootstrap_servers,
            str(scratch / "checkpoints"),
            str(options.guarantee),
            options.batch,
            options.real_time_batch_ms,
            str(scratch / "spark.log"),
        )
        self.driver = Driver(run, self.figures, report)

    def run(self) -> tuple[Figures, Verdict]:
        started = time.monotonic()
        self._create_topics()
        flow = Flow(self.broker.bootstrap_servers, self.workload.records(self.options.records))
        flow.start()
        try:
            self.driver.start()
            self._strike_all(flow)
            flow.finish()
            self._wait_until_worked_off()
        finally:
            self.driver.close()
        self.figures.seconds = round(time.monotonic() - started, 1)
        self._check_input()
        self.figures.log_records = sum(end for _, end in self._ends(self.workload.outputs))
        return self.figures, self._judge()

    def _strike_all(self, flow: Flow) -> None:
        strikes = [self._kill_driver] * self.options.driver_kills + [self._kill_broker] * self.options.broker_kills
        self.random.shuffle(strikes)
        portion = self.options.records / (len(strikes) + 1)
        for number, strike in enumerate(strikes):
            self._wait_for_output(self._output_length())
            moment = portion * (number + self.random.uniform(0.2, 0.8))
            flow.allow(int(portion * (number + 1)), self.options.portion_s)
            wait_until(lambda moment=moment: flow.sent >= moment, timeout_s=300, message="the moment of a kill")
            strike(flow)
        flow.allow(self.options.records, self.options.portion_s)
        wait_until(lambda: flow.sent >= self.options.records, timeout_s=600, message="the end of the input")

    def _kill_driver(self, flow: Flow) -> None:
        length = self._output_length()
        self.driver.wait_running()
        self._wait_for_output(length)
        moment = self._wait_for_moment(MOMENTS[self.figures.driver_kills % len(MOMENTS)])
        self.driver.kill()
        self.figures.moments.append(moment)
        self.report(f"driver killed ({moment}) at {flow.sent:,} sent, {self._output_length():,} offsets of output")
        self.driver.start()

    def _wait_for_moment(self, wanted: str) -> str:
        """Wait for the kind of moment that is wanted; says which it became, as an idle query has no transactions to wait for."""
        if self.options.guarantee is Guarantee.EXACTLY_ONCE and wanted != ANY_TIME:
            transactions = OpenTransactions(self.broker.bootstrap_servers, self.workload.outputs)
            try:
                if transactions.wait(True) and (wanted == OPEN or transactions.wait(False)):
                    return wanted
            finally:
                transactions.close()
        time.sleep(self.random.random())
        return ANY_TIME

    def _kill_broker(self, flow: Flow) -> None:
        self.driver.wait_running()
        time.sleep(self.random.random())
        self.report(f"broker killed at {flow.sent:,} sent")
        self.broker.kill()
        self.figures.broker_kills += 1
        self.broker.start()

    def _wait_for_output(self, length: int) -> None:
        """Until the queries have written past `length`, if there is input for them to write anything of."""
        if sum(end for _, end in self._ends(self.workload.inputs)) == 0:
            return
        self.driver.wait_running()
        deadline = time.monotonic() + PROGRESS_TIMEOUT_S
        while self._output_length() <= length and not self._caught_up_now():
            assert time.monotonic() < deadline, f"no output in {PROGRESS_TIMEOUT_S:g} s:\n{self.driver.log()}"
            time.sleep(0.1)

    def _caught_up_now(self) -> bool:
        return self.driver.caught_up_at > time.time() - 1

    def _wait_until_worked_off(self) -> None:
        ended = time.time()
        wait_until(
            lambda: self.driver.caught_up_at > ended + 1,
            timeout_s=PROGRESS_TIMEOUT_S + self.options.records / 5000,
            interval_s=0.1,
            message="the queries' end of the input",
        )

    def _create_topics(self) -> None:
        admin = client.admin(self.broker.bootstrap_servers)
        topics = {**self.workload.inputs, **self.workload.outputs}
        new = [
            NewTopic(name, partitions, 1, config={"retention.ms": "-1", **self.workload.topic_settings.get(name, {})})
            for name, partitions in topics.items()
        ]
        for done in admin.create_topics(new).values():
            done.result(30)

    def _ends(self, topics: Mapping[str, int]) -> list[tuple[TopicPartition, int]]:
        """Every partition with its end offset; asked again while the broker is away."""
        consumer = client.consumer(self.broker.bootstrap_servers)
        places = [TopicPartition(topic, number) for topic, count in topics.items() for number in range(count)]
        try:
            return [(place, self._end(consumer, place)) for place in places]
        finally:
            consumer.close()

    def _end(self, consumer: Consumer, place: TopicPartition) -> int:
        deadline = time.monotonic() + START_TIMEOUT_S
        while True:
            try:
                end: int = consumer.get_watermark_offsets(place, timeout=5)[1]
                return end
            except KafkaException:
                if time.monotonic() > deadline:
                    raise

    def _output_length(self) -> int:
        return sum(end for _, end in self._ends(self.workload.outputs))

    def _check_input(self) -> None:
        """The input itself must hold each record once, or the verdict means nothing."""
        length = sum(end for _, end in self._ends(self.workload.inputs))
        assert length == self.options.records, f"the input has {length} records instead of {self.options.records}"

    def _judge(self) -> Verdict:
        consumer = client.consumer(
            self.broker.bootstrap_servers, None, {"isolation.level": "read_committed", "enable.partition.eof": True}
        )
        try:
            places = [place for place, _ in self._ends(self.workload.outputs)]
            consumer.assign([TopicPartition(place.topic, place.partition, OFFSET_BEGINNING) for place in places])
            output = _to_all_ends(consumer, len(places))
            return self.workload.judge(self.options.records, output, self.options.guarantee)
        finally:
            consumer.close()


def _to_all_ends(consumer: Consumer, partitions: int) -> Iterator[Message]:
    ended: set[tuple[str, int]] = set()
    while len(ended) < partitions:
        messages = consumer.consume(10_000, 10)
        assert messages, (
            f"reading came to the end of {len(ended)} of {partitions} partitions: a transaction may be open"
        )
        for message in messages:
            if message.error() is not None:
                ended.add((message.topic(), message.partition()))
            else:
                yield message


@dataclass(frozen=True)
class Options:
    """A run as asked for on the command line."""

    records: int = 200_000
    driver_kills: int = 3
    broker_kills: int = 1
    guarantee: Guarantee = Guarantee.EXACTLY_ONCE
    broker: str = "headrace"
    workload: str = STATELESS
    batch: int = 20_000
    real_time_batch_ms: int = 0
    portion_s: float = 5.0
    seed: int = 1


def run(options: Options, report: Report = lambda text: None) -> dict[str, Any]:
    """Run the test and return its figures; AssertionError when a promise was broken."""
    scratch = Path(tempfile.mkdtemp(prefix="headrace-spark-kills-"))
    try:
        with BROKERS[options.broker]({"group.initial.rebalance.delay.ms": "0"}) as broker:
            figures, verdict = KillTest(options, broker, scratch, report).run()
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    outcome = {**asdict(options), **asdict(figures), **asdict(verdict)}
    broken = verdict.lost + verdict.wrong + (verdict.doubled if options.guarantee is Guarantee.EXACTLY_ONCE else 0)
    assert not broken, f"{options.guarantee} did not hold: {json.dumps(outcome, default=str)}"
    return outcome


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=200_000)
    parser.add_argument("--driver-kills", type=int, default=3)
    parser.add_argument("--broker-kills", type=int, default=1)
    parser.add_argument("--guarantee", type=Guarantee, choices=list(Guarantee), default=Guarantee.EXACTLY_ONCE)
    parser.add_argument("--broker", choices=list(BROKERS), default="headrace")
    parser.add_argument("--workload", default=STATELESS, metavar="MODULE:CLASS")
    parser.add_argument("--batch", type=int, default=20_000, help="records in a micro-batch, at most")
    parser.add_argument(
        "--real-time-batch-ms", type=int, default=0, help="real-time mode with such batches, 5000 or more"
    )
    parser.add_argument("--portion-s", type=float, default=5.0, help="how long each portion of the input flows")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, help="write the figures to this file as JSON")
    asked = vars(parser.parse_args())
    out = asked.pop("out")
    figures = run(Options(**asked), report=lambda text: print(f"{time.strftime('%H:%M:%S')} {text}", flush=True))
    print(json.dumps(figures))
    if out:
        out.write_text(json.dumps(figures, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
