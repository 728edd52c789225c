"""Running plans in tests: a topic per source, records in, records out."""

from __future__ import annotations

import contextlib
import json
import uuid
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from headrace.plan import steps as s
from headrace.plan.engine import Guarantee
from headrace.plan.expressions import Call, Column, Expression, Literal, Side
from headrace.plan.plan import Plan
from headrace.plan.serdes import Serde
from headrace.plan.types import BIGINT, STRING, DataType, Struct, struct
from headrace.spark.pipeline import PipelineSettings, RunningPipeline, start
from headrace.testing import LocalBroker

if TYPE_CHECKING:
    from pathlib import Path

    from confluent_kafka import Message
    from pyspark.sql import SparkSession

KEY = Serde("kafka", struct(id=STRING), wrapped=False)
VALUE = Serde("json", struct(name=STRING, amount=BIGINT))
MODES = ["real_time", "micro_batch", "exactly_once"]


class Lab:
    """A broker, a Spark and names of its own for one test."""

    def __init__(self, spark: SparkSession, broker: LocalBroker, directory: Path) -> None:
        self.spark = spark
        self.broker = broker
        self.directory = directory
        self.name = f"t{uuid.uuid4().hex[:8]}"

    def topic(self, name: str) -> str:
        return f"{self.name}-{name}"

    def create(self, *names: str, partitions: int = 1) -> None:
        for name in names:
            self.broker.create_topic(self.topic(name), partitions, retention_ms=-1)

    def source(self, name: str, value: Serde = VALUE, key: Serde = KEY, **more: Any) -> s.StreamSource:
        return s.StreamSource(name, self.topic(name), key, value, **more)

    def table(self, name: str, value: Serde = VALUE, key: Serde = KEY, **more: Any) -> s.TableSource:
        return s.TableSource(name, self.topic(name), key, value, **more)

    def sink(self, input_: str, value: Serde = VALUE, key: Serde = KEY, name: str = "out", **more: Any) -> s.Sink:
        return s.Sink(f"to-{name}", input_, self.topic(name), key, value, **more)

    def plan(self, *steps: s.Step) -> Plan:
        return Plan(self.name, steps)

    def settings(self, mode: str = "real_time", **more: Any) -> PipelineSettings:
        given: dict[str, Any] = {
            "bootstrap_servers": self.broker.bootstrap_servers,
            "checkpoint_dir": str(self.directory / "checkpoints"),
            "guarantee": Guarantee.EXACTLY_ONCE if mode == "exactly_once" else Guarantee.AT_LEAST_ONCE,
            "real_time": mode == "real_time",
            "real_time_batch_ms": 3_000,
            "trigger_ms": 0,
            "shuffle_partitions": 1,
            "python_modules": None,
        }
        return PipelineSettings(**{**given, **more})

    @contextlib.contextmanager
    def run(self, *steps: s.Step, mode: str = "real_time", **more: Any) -> Iterator[RunningPipeline]:
        running = start(self.spark, self.plan(*steps), self.settings(mode, **more))
        try:
            yield running
        finally:
            running.stop()

    def send(self, name: str, *records: tuple[Any, ...], partition: int = -1) -> None:
        """Records of (key, value) or (key, value, timestamp): texts or JSON's own kinds."""
        producer = self.broker.producer()
        for key, value, *timestamp in records:
            producer.produce(
                self.topic(name),
                _bytes(value),
                _bytes(key),
                partition=partition,
                timestamp=timestamp[0] if timestamp else 0,
            )
        assert producer.flush(30) == 0

    def received(self, name: str = "out", *, topic: str | None = None) -> list[Message]:
        """Everything that is in a topic, transactions respected, in the order of each partition."""
        from confluent_kafka import OFFSET_BEGINNING, TopicPartition

        topic = topic or self.topic(name)
        consumer = self.broker.consumer(isolation_level="read_committed", enable_partition_eof=True)
        try:
            partitions = list(consumer.list_topics(topic, timeout=10).topics[topic].partitions)
            consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in partitions])
            return _until_ends(consumer, len(partitions))
        finally:
            consumer.close()

    def rows(self, name: str = "out") -> list[tuple[str | None, Any, int]]:
        """What a JSON topic holds: (key as text, value, timestamp)."""
        return [
            (_text(one.key()), None if one.value() is None else json.loads(one.value()), one.timestamp()[1])
            for one in self.received(name)
        ]


def _until_ends(consumer: Any, partitions: int) -> list[Message]:
    from confluent_kafka import KafkaError

    found: list[Message] = []
    ended = 0
    while ended < partitions:
        message = consumer.poll(10)
        assert message is not None, "no end of a partition within 10 s"
        if message.error() is None:
            found.append(message)
        elif message.error().code() == KafkaError._PARTITION_EOF:
            ended += 1
        else:
            raise AssertionError(str(message.error()))
    return found


def _bytes(value: Any) -> bytes | None:
    if value is None or isinstance(value, bytes):
        return value
    return value.encode() if isinstance(value, str) else json.dumps(value).encode()


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8", "backslashreplace")


def number(value: int) -> Literal:
    return Literal(BIGINT, value)


def call(function: str, *arguments: Expression) -> Call:
    return Call(function, arguments)


def left(name: str) -> Column:
    return Column(name, Side.LEFT)


def right(name: str) -> Column:
    return Column(name, Side.RIGHT)


def json_serde(**columns: DataType) -> Serde:
    return Serde("json", struct(**columns))


def columns(*names: str, of: Struct) -> Struct:
    return Struct(tuple(field for field in of if field.name in names))


def amounts(*values: int, name: str = "x") -> Sequence[tuple[str, dict[str, Any]]]:
    return [("k", {"name": name, "amount": value}) for value in values]
