"""A test driver for streams: records in, records out, through the same lowering, Spark and broker that run in earnest.

    from headrace.testing import StreamsDriver

    def test_large_payments(spark):
        with StreamsDriver(app, spark=spark) as driver:
            driver.pipe("payments", "card-1", Payment("card-1", 250.0), timestamp_ms=0)
            assert driver.read("large-payments").values() == [Payment("card-1", 250.0)]

Nothing is interpreted a second time: this is the pipeline, on a broker in this process and on the Spark session that all tests share. `read` waits
by offsets until everything piped is processed, and never sleeps and hopes. Spark is imported only when a driver starts.
"""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from headrace.formats import FORMATS
from headrace.formats.format import WINDOW_END, WINDOW_START
from headrace.plan.plan import Plan
from headrace.plan.serdes import Serde
from headrace.plan.steps import SOURCES, Sink
from headrace.streams.app import App
from headrace.streams.errors import StreamsError
from headrace.streams.ktable import KTable
from headrace.streams.schema import Shape
from headrace.streams.values import from_row, to_row
from headrace.testing.clients import Clients
from headrace.testing.record_sender import RecordSender

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message
    from pyspark.sql import SparkSession

    from headrace.spark.pipeline import RunningPipeline

TIMEOUT_S = 100.0
REAL_TIME_BATCH_MS = 1_000
"""Short: progress is known at the end of a batch, and a test wants to know it."""
PROCESSING_LOG = "_headrace_processing_log"


class OutputRecord(NamedTuple):
    """A record that came out. `window`: the bounds of a windowed key in milliseconds."""

    key: Any
    value: Any
    timestamp_ms: int
    window: tuple[int, int] | None = None
    headers: tuple[tuple[str, bytes], ...] = ()


class Output(list[OutputRecord]):
    """Records in the order of their partitions' offsets, with short ways to what tests compare."""

    def keys(self) -> list[Any]:
        return [record.key for record in self]

    def values(self) -> list[Any]:
        return [record.value for record in self]

    def pairs(self) -> list[tuple[Any, Any]]:
        return [(record.key, record.value) for record in self]

    def table(self) -> dict[Any, Any]:
        """The last value of each key (of each key and window, if there are windows); keys that were deleted are left out."""
        last = {((record.key, record.window) if record.window else record.key): record.value for record in self}
        return {key: value for key, value in last.items() if value is not None}


class StreamsDriver:
    """Runs an app or a plan for the length of a `with` block.

    `mode`: `micro_batch`, or `real_time` (only `at_least_once`; what cannot run in it runs in micro-batches). `partitions`: of topics that it creates.
    `one_record_a_batch`: each micro-batch takes one record, so that time moves as it does in Kafka Streams, record by record. `spark`: a session,
    else the process's own; `broker`: one that runs, else a new one. `settings` are those of `PipelineSettings`.
    """

    def __init__(
        self,
        topology: App | Plan,
        *,
        guarantee: str = "at_least_once",
        mode: str = "micro_batch",
        spark: SparkSession | None = None,
        broker: Clients | None = None,
        partitions: int = 1,
        one_record_a_batch: bool = False,
        timeout_s: float = TIMEOUT_S,
        **settings: Any,
    ) -> None:
        if mode not in ("micro_batch", "real_time"):
            raise ValueError(f"mode={mode!r}: there are micro_batch and real_time")
        self._app = topology if isinstance(topology, App) else None
        self.plan = topology.plan() if isinstance(topology, App) else topology
        self._guarantee = guarantee
        self._mode = mode
        self._spark = spark
        self._given_broker = broker
        self._partitions = partitions
        self._one_record = one_record_a_batch
        self._timeout_s = timeout_s
        self._settings = settings
        self._inputs = self._serdes(SOURCES, self._app._inputs if self._app else {})
        self._outputs = self._serdes((Sink,), self._app._outputs if self._app else {})
        self._cleanup = contextlib.ExitStack()
        self._positions: dict[tuple[str, int], int] = {}
        self._last_timestamp_ms = 0

    def __enter__(self) -> StreamsDriver:
        try:
            self._open()
        except BaseException:
            self._cleanup.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._cleanup.close()

    # Records in

    def pipe(
        self,
        topic: str,
        key: Any = None,
        value: Any = None,
        timestamp_ms: int | None = None,
        *,
        partition: int | None = None,
        headers: Mapping[str, bytes] | None = None,
    ) -> None:
        """Take a record; no value is a null value. Without a time it has that of the record before. They are sent when `read` or `process` waits."""
        keys, values = self._input(topic)
        self.pipe_bytes(
            topic, _encode(key, *keys), _encode(value, *values), timestamp_ms, partition=partition, headers=headers
        )

    def pipe_all(self, topic: str, records: Iterable[tuple[Any, ...]]) -> None:
        """Send (key, value) or (key, value, timestamp_ms) tuples."""
        for record in records:
            self.pipe(topic, *record)

    def pipe_bytes(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp_ms: int | None = None,
        *,
        partition: int | None = None,
        headers: Mapping[str, bytes] | None = None,
    ) -> None:
        """Send bytes as they are: for records that no format would write."""
        if timestamp_ms is not None:
            self._last_timestamp_ms = timestamp_ms
        self._sender.send(
            topic,
            self._partitions,
            key,
            value,
            self._last_timestamp_ms,
            partition=partition,
            headers=headers,
        )

    # Records out

    def process(self) -> None:
        """Wait until everything piped so far is processed and what came of it written."""
        self._sender.flush()
        self._pipeline.await_processed(timeout_s=self._timeout_s)

    def read(self, topic: str) -> Output:
        """The records that came to a topic since it was last read, after everything piped is processed."""
        self.process()
        keys, values = self._output(topic)
        return Output(_record(message, keys, values) for message in self._messages(topic))

    def read_bytes(self, topic: str) -> list[Message]:
        """As `read`, of any topic, as the client gives them."""
        self.process()
        return self._messages(topic)

    def bad_records(self) -> list[Any]:
        """What could not be decoded or computed: the records of the processing log."""
        import json

        return [json.loads(message.value() or b"null") for message in self.read_bytes(PROCESSING_LOG)]

    def table(self, store: str) -> KTable[Any, Any]:
        """A stored table to look into, with everything piped so far in it."""
        if self._app is None:
            raise StreamsError("tables are looked into through an App; this driver was given a Plan")
        self.process()
        table = self._app.table(store)
        table.wait_until_current()
        return table

    def progress(self) -> dict[str, Any]:
        """What the pipeline says of itself."""
        return self._pipeline.progress()

    # What follows is the driver's own

    def _open(self) -> None:
        from headrace.testing.in_process import broker

        self._broker: Clients = self._given_broker or self._cleanup.enter_context(broker())
        self._create_topics()
        self._sender = RecordSender(self._broker.bootstrap_servers, self._timeout_s)
        self._cleanup.callback(self._sender.close)
        self._consumer: Consumer = self._broker.consumer(isolation_level="read_committed", fetch_wait_max_ms=10)
        self._cleanup.callback(self._consumer.close)
        checkpoints = self._cleanup.enter_context(
            tempfile.TemporaryDirectory(prefix="headrace-driver-", ignore_cleanup_errors=True)
        )
        self._pipeline: RunningPipeline = self._start(Path(checkpoints))
        self._cleanup.callback(self._pipeline.stop)
        if self._app is not None:
            self._cleanup.callback(setattr, self._app, "bootstrap_servers", self._app.bootstrap_servers)
            self._cleanup.callback(self._app.close)
            self._app.bootstrap_servers = self._broker.bootstrap_servers

    def _start(self, checkpoints: Path) -> RunningPipeline:
        from headrace.plan.engine import Guarantee
        from headrace.spark.pipeline import PipelineSettings, start

        chosen: dict[str, Any] = {
            "trigger_ms": 0,
            "fetch_max_wait_ms": 5,
            "shuffle_partitions": 1,
            "real_time_batch_ms": REAL_TIME_BATCH_MS,
            "real_time": self._mode == "real_time",
            "python_modules": None,
            **({"max_records_per_batch": 1} if self._one_record else {}),
            **self._settings,
        }
        settings = PipelineSettings(
            bootstrap_servers=self._broker.bootstrap_servers,
            checkpoint_dir=str(checkpoints),
            guarantee=Guarantee(self._guarantee),
            **chosen,
        )
        return start(self._session(), self.plan, settings)

    def _session(self) -> SparkSession:
        if self._spark is not None:
            return self._spark
        from headrace.spark.session import java_process
        from headrace.testing.spark import spark_session

        if java_process() is not None:
            from pyspark.sql import SparkSession

            return SparkSession.builder.getOrCreate()  # there is one in a process, and it is not ours to stop
        return self._cleanup.enter_context(spark_session())

    def _create_topics(self) -> None:
        """Sources and sinks, kept for ever whatever their records' times are."""
        for topic in {*self._inputs, *self._outputs}:
            self._broker.create_topic(topic, self._partitions, retention_ms=-1)

    def _serdes(self, kinds: tuple[type, ...], known: Mapping[str, tuple[Shape, Shape]]) -> dict[str, tuple[Any, Any]]:
        """For each topic of the plan how keys and values lie in bytes, and what they are in Python."""
        found: dict[str, tuple[Any, Any]] = {}
        for step in self.plan.steps:
            if isinstance(step, kinds) and step.topic:  # type: ignore[attr-defined]
                topic, key, value = step.topic, step.key, step.value  # type: ignore[attr-defined]
                shapes = known.get(topic, (_shape(key), _shape(value)))
                found[topic] = ((key, shapes[0]), (value, shapes[1]))
        return found

    def _input(self, topic: str) -> tuple[Any, Any]:
        if topic not in self._inputs:
            raise AssertionError(f"the app reads no topic {topic!r}; it reads {', '.join(self._inputs)}")
        return self._inputs[topic]

    def _output(self, topic: str) -> tuple[Any, Any]:
        if topic not in self._outputs:
            raise AssertionError(
                f"the app writes no topic {topic!r} with known types; it writes {', '.join(self._outputs)}"
            )
        return self._outputs[topic]

    def _messages(self, topic: str) -> list[Message]:
        """What is between the last position and the end now."""
        from confluent_kafka import TopicPartition

        found = self._consumer.list_topics(topic, timeout=self._timeout_s).topics[topic]
        ends: dict[int, int] = {}
        for partition in found.partitions:
            _, end = self._consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=self._timeout_s)
            if end > self._positions.get((topic, partition), 0):
                ends[partition] = end
        if not ends:
            return []
        self._consumer.assign([TopicPartition(topic, p, self._positions.get((topic, p), 0)) for p in ends])
        messages = self._consume(topic, ends)
        self._positions.update({(topic, partition): end for partition, end in ends.items()})
        return sorted(messages, key=lambda message: (message.partition() or 0, message.offset() or 0))

    def _consume(self, topic: str, ends: Mapping[int, int]) -> list[Message]:
        """All records up to the ends; positions tell, because offsets of control records are never seen."""
        from confluent_kafka import TopicPartition

        messages: list[Message] = []
        partitions = [TopicPartition(topic, partition) for partition in ends]
        deadline = time.monotonic() + self._timeout_s
        while any(place.offset < ends[place.partition] for place in self._consumer.position(partitions)):
            assert time.monotonic() < deadline, f"{topic!r} could not be read to its end within {self._timeout_s:g} s"
            for message in self._consumer.consume(10_000, timeout=0.05):
                if message.error():
                    raise AssertionError(str(message.error()))
                messages.append(message)
        return messages


def _shape(serde: Serde) -> Shape:
    """What a serde says without Python types: a single bare column is itself, anything else a record."""
    if not serde.wrapped and len(serde.columns.fields) == 1:
        return Shape(serde.columns.fields[0].type, serde.columns.fields[0].name)
    return Shape(serde.columns, None)


def _encode(value: Any, serde: Serde, shape: Shape) -> bytes | None:
    return FORMATS[serde.format].encode(to_row(value, shape), serde)


def _record(message: Message, keys: tuple[Serde, Shape], values: tuple[Serde, Shape]) -> OutputRecord:
    key = FORMATS[keys[0].format].decode(message.key(), keys[0])
    value = FORMATS[values[0].format].decode(message.value(), values[0])
    window = (key[WINDOW_START], key[WINDOW_END]) if key is not None and keys[0].window is not None else None
    return OutputRecord(
        from_row(key, keys[1]),
        from_row(value, values[1]),
        message.timestamp()[1],
        window,
        tuple(cast("list[tuple[str, bytes]]", message.headers() or ())),
    )
