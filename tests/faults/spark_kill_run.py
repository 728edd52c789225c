"""One run of the Spark kill test: an app runs while its driver and the broker are killed with -9 at random moments, then the output is judged.

Input flows in one portion more than there are kills, and each kill strikes somewhere inside a portion, when the app has written
something since the last one. Kills of the driver take turns: while a transaction is open, when one has just ended (so that the checkpoint may not
know of it yet), at any time, while it starts. A driver that ends by itself, as it may when the broker is gone for long, is started again and counted.
"""

from __future__ import annotations

import json
import random
import shutil
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
from tests.faults.spark_driver_child import START_TIMEOUT_S, Driver
from tests.faults.spark_flow import Flow
from tests.faults.spark_transactions import OpenTransactions
from tests.faults.spark_workloads import Run, Verdict, Workload, load

STATELESS = "tests.faults.spark_workloads:Stateless"
BROKERS: dict[str, Callable[[dict[str, str]], Node]] = {"headrace": Headrace, "apache": apache_kafka}
PROGRESS_TIMEOUT_S = 180.0
OPEN, JUST_ENDED, ANY_TIME, STARTING = "transaction open", "transaction just ended", "any time", "while it started"
MOMENTS = (OPEN, JUST_ENDED, STARTING, ANY_TIME)
Report = Callable[[str], None]


@dataclass(frozen=True)
class Options:
    """A run as asked for. At least once runs in real-time mode wherever the plan allows, unless `real_time_batch_ms` is 0."""

    records: int = 200_000
    driver_kills: int = 3
    broker_kills: int = 1
    guarantee: Guarantee = Guarantee.EXACTLY_ONCE
    broker: str = "headrace"
    workload: str = STATELESS
    batch: int = 20_000
    real_time_batch_ms: int = 3_000
    portion_s: float = 5.0
    seed: int = 1


@dataclass
class Figures:
    """What happened on the way."""

    driver_kills: int = 0
    broker_kills: int = 0
    driver_failures: list[str] = field(default_factory=list)
    moments: list[str] = field(default_factory=list)
    barriers: int = 0
    log_records: int = 0
    """Offsets in the output topics: what was committed, what was aborted, and the markers that say which is which."""
    seconds: float = 0.0


class KillTest:
    """Broker, driver and flow, brought together and struck."""

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
        self.driver = Driver(run, self._driver_failed)
        self._asker = client.consumer(broker.bootstrap_servers)
        self._asking = threading.Lock()

    def run(self) -> tuple[Figures, Verdict]:
        started = time.monotonic()
        self._create_topics()
        records = self.workload.records(self.options.records)
        flow = Flow(self.broker.bootstrap_servers, records, self._wait_processed)
        flow.start()
        try:
            self.driver.start()
            self._strike_all(flow)
            flow.finish()
            self._wait_processed(time.time())
        finally:
            self.driver.stop()
        self.figures.seconds = round(time.monotonic() - started, 1)
        self.figures.barriers = flow.barriers
        self._check_input()
        self.figures.log_records = self._length(self.workload.outputs)
        self._asker.close()
        return self.figures, self._judge()

    def _driver_failed(self, reason: str) -> None:
        self.figures.driver_failures.append(reason)
        self.report(f"driver ended by itself: {reason[:300]}")

    # Kills

    def _strike_all(self, flow: Flow) -> None:
        strikes = [self._kill_driver] * self.options.driver_kills + [self._kill_broker] * self.options.broker_kills
        self.random.shuffle(strikes)
        portion = self.options.records / (len(strikes) + 1)
        for number, strike in enumerate(strikes):
            self._wait_for_output(flow, self._length(self.workload.outputs))
            moment = portion * (number + self.random.uniform(0.2, 0.8))
            flow.allow(int(portion * (number + 1)), self.options.portion_s)
            self._wait_sent(flow, moment)
            strike(flow)
        flow.allow(self.options.records, self.options.portion_s)
        self._wait_sent(flow, self.options.records)

    def _wait_sent(self, flow: Flow, count: float) -> None:
        def is_sent() -> bool:
            flow.check()
            return flow.sent >= count

        wait_until(is_sent, timeout_s=900, message=f"{count:,.0f} records of input")

    def _kill_driver(self, flow: Flow) -> None:
        length = self._length(self.workload.outputs)
        self.driver.wait_running()
        self._wait_for_output(flow, length)
        moment = self._wait_for_moment(MOMENTS[self.figures.driver_kills % len(MOMENTS)])
        self.driver.kill()
        self.figures.driver_kills += 1
        self.figures.moments.append(moment)
        self.report(f"driver killed ({moment}) at {flow.sent:,} sent, {self._length(self.workload.outputs):,} written")
        self.driver.start()

    def _wait_for_moment(self, wanted: str) -> str:
        """Wait for the kind of moment that is wanted; says which it became, as an idle app has no transactions to wait for."""
        if wanted == STARTING:
            self.driver.stop()
            self.driver.start()
            self.driver.wait_java()
            time.sleep(4 * self.random.random())
            return STARTING
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
        self.report(f"broker killed at {flow.sent:,} sent, {self._length(self.workload.outputs):,} written")
        self.broker.kill()
        self.figures.broker_kills += 1
        self.broker.start()

    # Waiting

    def _wait_for_output(self, flow: Flow, length: int) -> None:
        """Until the app has written past `length`, if there is input for it to write anything of."""
        if self._length(self.workload.inputs) == 0:
            return
        self.driver.wait_running()
        deadline = time.monotonic() + PROGRESS_TIMEOUT_S
        while self._length(self.workload.outputs) <= length and self.driver.caught_up_at < time.time() - 2:
            flow.check()
            assert time.monotonic() < deadline, f"no output in {PROGRESS_TIMEOUT_S:g} s:\n{self.driver.log()}"
            time.sleep(0.2)

    def _wait_processed(self, since: float) -> None:
        """Until all that was with the broker at this time is processed, whatever is killed meanwhile."""
        wait_until(
            lambda: self.driver.caught_up_at >= since,
            timeout_s=PROGRESS_TIMEOUT_S + self.options.records / 2000,
            interval_s=0.05,
            message="the end of the input",
        )

    # Topics

    def _create_topics(self) -> None:
        admin = client.admin(self.broker.bootstrap_servers)
        topics = {**self.workload.inputs, **self.workload.outputs}
        new = [NewTopic(name, partitions, 1, config={"retention.ms": "-1"}) for name, partitions in topics.items()]
        for done in admin.create_topics(new).values():
            done.result(30)

    def _length(self, topics: Mapping[str, int]) -> int:
        """All end offsets together; asked again while the broker is away."""
        with self._asking:
            return sum(_end(self._asker, place) for place in _places(topics))

    def _check_input(self) -> None:
        """The input itself must hold each record once, or the verdict means nothing."""
        length = self._length(self.workload.inputs)
        assert length == self.options.records, f"the input has {length} records instead of {self.options.records}"

    # The verdict

    def _judge(self) -> Verdict:
        consumer = client.consumer(
            self.broker.bootstrap_servers, None, {"isolation.level": "read_committed", "enable.partition.eof": True}
        )
        try:
            places = _places(self.workload.outputs)
            consumer.assign([TopicPartition(place.topic, place.partition, OFFSET_BEGINNING) for place in places])
            output = _to_all_ends(consumer, len(places))
            return self.workload.judge(self.options.records, output, self._table, self.options.guarantee)
        finally:
            consumer.close()

    def _table(self, store: str) -> dict[Any, Any]:
        """A store of the app as look-ups see it."""
        app = self.workload.app()
        app.bootstrap_servers = self.broker.bootstrap_servers
        try:
            rows = app.table(store).all()
            return {(row.key, row.window[0]) if row.window else row.key: row.value for row in rows}
        finally:
            app.close()


def _places(topics: Mapping[str, int]) -> list[TopicPartition]:
    return [TopicPartition(topic, number) for topic, count in topics.items() for number in range(count)]


def _end(consumer: Consumer, place: TopicPartition) -> int:
    deadline = time.monotonic() + START_TIMEOUT_S
    while True:
        try:
            end: int = consumer.get_watermark_offsets(place, timeout=5)[1]
            return end
        except KafkaException:
            if time.monotonic() > deadline:
                raise


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


def run(options: Options, report: Report = lambda text: None) -> dict[str, Any]:
    """Run the test and return its figures; AssertionError when a promise was broken."""
    scratch = Path(tempfile.mkdtemp(prefix="headrace-spark-kills-"))
    try:
        with BROKERS[options.broker]({}) as broker:
            figures, verdict = KillTest(options, broker, scratch, report).run()
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    outcome = {"options": asdict(options), **asdict(figures), **asdict(verdict)}
    broken = verdict.lost + verdict.wrong + (verdict.doubled if options.guarantee is Guarantee.EXACTLY_ONCE else 0)
    assert not broken, f"{options.guarantee} did not hold: {json.dumps(outcome, default=str)}"
    return outcome
