"""What the Spark kill test runs: a workload says which records go in, which queries run, and what must have come out.

A workload is a class without arguments, named `module:Class` on the command line. `Stateless` is the one at hand; others stand beside
the plans they try.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from headrace.spark.sinks import Guarantee, SinkSettings, kafka_sink

if TYPE_CHECKING:
    from confluent_kafka import Message
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery


class Input(NamedTuple):
    """A record to produce; with `partition` -1 the key decides."""

    topic: str
    key: bytes | None
    value: bytes | None
    partition: int = -1
    timestamp_ms: int = 0


@dataclass(frozen=True)
class Run:
    """What a driver process is told."""

    workload: str
    bootstrap_servers: str
    checkpoint_dir: str
    guarantee: str
    max_offsets_per_trigger: int
    real_time_batch_ms: int
    log_file: str

    def to_json(self) -> str:
        return json.dumps(asdict(self))


@dataclass
class Verdict:
    """What came out, held against what had to. `wrong` is whatever is neither lost nor doubled: order, values, tables."""

    expected: int = 0
    seen: int = 0
    lost: int = 0
    doubled: int = 0
    wrong: int = 0
    examples: list[str] = field(default_factory=list)

    def note(self, text: str) -> None:
        if len(self.examples) < 10:
            self.examples.append(text)


class Workload(Protocol):
    """`inputs` and `outputs` are topics with their numbers of partitions; `topic_settings` are Kafka's, by topic."""

    inputs: Mapping[str, int]
    outputs: Mapping[str, int]
    topic_settings: Mapping[str, Mapping[str, str]]

    def records(self, count: int) -> Iterator[Input]:
        """The `count` input records, the same ones each time."""
        ...

    def start(self, spark: SparkSession, run: Run) -> list[StreamingQuery]:
        """Start the queries on their checkpoints, for the first time or again."""
        ...

    def judge(self, count: int, output: Iterable[Message], guarantee: Guarantee) -> Verdict:
        """Look at everything that a read_committed reader sees in the output topics."""
        ...


def load(name: str) -> Workload:
    module, _, attribute = name.partition(":")
    workload: Workload = getattr(importlib.import_module(module), attribute)()
    return workload


def source(spark: SparkSession, run: Run, *topics: str) -> DataFrame:
    """Input topics from their beginning, read as transactions demand, in batches of the run's size."""
    reader = spark.readStream.format("kafka").option("kafka.bootstrap.servers", run.bootstrap_servers)
    reader = reader.option("subscribe", ",".join(topics)).option("startingOffsets", "earliest")
    reader = reader.option("kafka.isolation.level", "read_committed").option("kafka.fetch.max.wait.ms", "20")
    if not run.real_time_batch_ms:
        reader = reader.option("maxOffsetsPerTrigger", run.max_offsets_per_trigger)
    return reader.load()


def start_sink(rows: DataFrame, run: Run, name: str) -> StreamingQuery:
    """Write sink rows as the run's guarantee says, in real-time mode if it asks for that."""
    how = SinkSettings(
        run.bootstrap_servers,
        f"{run.checkpoint_dir}/{name}",
        pipeline=name,
        guarantee=Guarantee(run.guarantee),
        # A broker that is killed is back within seconds; a task that waits longer than this is tried again.
        kafka={"reconnect.backoff.max.ms": "200", "retry.backoff.max.ms": "200"},
    )
    writer = kafka_sink(rows, how).queryName(name).outputMode("update")
    if run.real_time_batch_ms:
        return writer.trigger(realTime=f"{run.real_time_batch_ms} milliseconds").start()
    return writer.trigger(processingTime="0 seconds").start()


class Stateless:
    """Every input record comes out once, with its number as value, under the key it had; per key in order."""

    inputs: Mapping[str, int] = {"numbers": 4}
    outputs: Mapping[str, int] = {"numbers-out": 4}
    topic_settings: Mapping[str, Mapping[str, str]] = {}
    keys = 1000

    def records(self, count: int) -> Iterator[Input]:
        for number in range(count):
            yield Input(
                "numbers", b"key-%d" % (number % self.keys), b'{"n": %d, "filling": "%s"}' % (number, b"x" * 60)
            )

    def start(self, spark: SparkSession, run: Run) -> list[StreamingQuery]:
        rows = source(spark, run, "numbers").selectExpr(
            "'numbers-out' AS topic",
            "CAST(NULL AS INT) AS partition",
            "key",
            "CAST(CAST(from_json(CAST(value AS STRING), 'n BIGINT').n AS STRING) AS BINARY) AS value",
            "CAST(NULL AS ARRAY<STRUCT<key: STRING, value: BINARY>>) AS headers",
            "timestamp",
            "concat_ws('-', topic, partition) AS slot",
        )
        return [start_sink(rows, run, "stateless")]

    def judge(self, count: int, output: Iterable[Message], guarantee: Guarantee) -> Verdict:
        verdict = Verdict(expected=count)
        times = bytearray(count)
        last: dict[bytes, int] = {}
        for message in output:
            number, key = int(message.value()), message.key()
            verdict.seen += 1
            if times[number] < 255:
                times[number] += 1
            if number <= last.get(key, -1) and guarantee is Guarantee.EXACTLY_ONCE:
                verdict.wrong += 1
                verdict.note(f"{number} after {last[key]} under {key!r}")
            last[key] = number
        verdict.lost = times.count(0)
        verdict.doubled = verdict.seen - (count - verdict.lost)
        if verdict.lost:
            verdict.note(f"first lost: {times.index(0)}")
        return verdict


def offsets_reached(progress: dict[str, Any] | None) -> dict[str, dict[int, int]]:
    """The end offsets of a query's last batch, by topic and partition."""
    reached: dict[str, dict[int, int]] = {}
    for one in (progress or {}).get("sources", ()):
        ends = one.get("endOffset")
        parsed = json.loads(ends) if isinstance(ends, str) else ends
        for topic, partitions in (parsed or {}).items():
            reached.setdefault(topic, {}).update({int(partition): int(end) for partition, end in partitions.items()})
    return reached
