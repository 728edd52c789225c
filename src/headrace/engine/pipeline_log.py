"""`_headrace_pipelines`: the compacted topic that holds which pipelines are wanted, and who may run them.

Owning its only partition, as a member of the engines' group, is the right to run pipelines: a second engine on the same cluster waits as a standby and takes over when
the first is gone. An engine that comes back with the same id (kill -9, then a restart) takes its place at once, as a static member.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from headrace import client
from headrace.engine.record import BadRecord, PipelineRecord, decode
from headrace.plan.engine import EngineError

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Producer

TOPIC = "_headrace_pipelines"
GROUP = "_headrace_engines"
WRITE_TIMEOUT_S = 30.0
READ_TIMEOUT_S = 30.0
# A standby waits this long after an engine is gone, however it went. It must outlast the loss of the broker that coordinates the group, which takes Kafka
# nine seconds to notice and a moment to mend: else every such loss would stop all pipelines and start them again.
SESSION_TIMEOUT_MS = 20_000
HEARTBEAT_INTERVAL_MS = 1_500


class PipelineLog:
    """Reads all records, follows new ones, writes ours. One thread owns the consumer; `append` may be called from any."""

    def __init__(
        self,
        bootstrap_servers: str,
        engine_id: str,
        on_owned: Callable[[dict[str, PipelineRecord], list[str]], None],
        on_lost: Callable[[str], None],
        kafka: Mapping[str, Any] | None = None,
    ) -> None:
        self._bootstrap = bootstrap_servers
        self._kafka = dict(kafka or {})
        self._engine_id = engine_id
        self._on_owned = on_owned
        self._on_lost = on_lost
        self._closing = threading.Event()
        self._producer: Producer = client.producer(bootstrap_servers, self._kafka)
        self._thread = threading.Thread(target=self._run, name="pipeline-log", daemon=True)
        self.failure: str | None = None

    def start(self) -> None:
        """Create the topic where it is missing, then follow it in the background."""
        create_topic(self._bootstrap, self._kafka)
        self._thread.start()

    def append(self, name: str, record: PipelineRecord | None) -> None:
        """Write a record, or with None forget the pipeline; returns once it is acknowledged, else raises `EngineError`."""
        outcome: list[Any] = []
        value = record.encode() if record else None
        self._producer.produce(
            TOPIC, key=name.encode(), value=value, on_delivery=lambda error, _message: outcome.append(error)
        )
        self._producer.flush(WRITE_TIMEOUT_S)
        if not outcome:
            raise EngineError(
                f"{TOPIC} took no write within {WRITE_TIMEOUT_S:.0f} s: is a broker reachable at {self._bootstrap}?"
            )
        if outcome[0] is not None:
            raise EngineError(f"{TOPIC} cannot be written: {outcome[0]}")

    def close(self) -> None:
        self._closing.set()
        if self._thread.is_alive():
            self._thread.join()
        self._producer.flush(WRITE_TIMEOUT_S)

    def _run(self) -> None:
        while not self._closing.is_set():
            try:
                self._follow()
            except Exception as error:
                self.failure = str(error)
                self._on_lost(self.failure)
                self._closing.wait(1.0)

    def _follow(self) -> None:
        """Be a member until told to close. The partition is ours from the assignment until it is taken away."""
        consumer = client.consumer(self._bootstrap, GROUP, self._membership())
        changes: list[bool] = []
        consumer.subscribe(
            [TOPIC],
            on_assign=lambda _consumer, partitions: changes.extend([True] if partitions else []),
            on_revoke=lambda _consumer, _partitions: changes.append(False),
            on_lost=lambda _consumer, _partitions: changes.append(False),
        )
        owned = False
        try:
            while not self._closing.is_set():
                message = consumer.poll(0.2)
                error = message.error() if message is not None else None
                if error is not None and error.fatal():
                    raise EngineError(f"another engine took over: {error}")
                if changes and changes[-1] != owned:
                    owned = changes[-1]
                    self._owner_changed(owned)
                changes.clear()
        finally:
            consumer.close()

    def _owner_changed(self, owned: bool) -> None:
        if not owned:
            self._on_lost(
                f"another engine runs the pipelines of this cluster, or no broker has answered for {SESSION_TIMEOUT_MS // 1000} s; this one is a standby"
            )
            return
        records, complaints = read_all(self._bootstrap, self._kafka)
        self.failure = None
        self._on_owned(records, complaints)

    def _membership(self) -> dict[str, Any]:
        return {
            **self._kafka,
            "group.instance.id": self._engine_id,
            # A standby that joins must not take the partition from whoever runs the pipelines, not even for a moment.
            "partition.assignment.strategy": "cooperative-sticky",
            "session.timeout.ms": SESSION_TIMEOUT_MS,
            "heartbeat.interval.ms": HEARTBEAT_INTERVAL_MS,
            "enable.auto.commit": False,
            "auto.offset.reset": "latest",
            "topic.metadata.refresh.interval.ms": 5_000,
        }


def create_topic(bootstrap_servers: str, kafka: Mapping[str, Any] | None = None) -> None:
    """The topic, one partition, compacted; nothing happens when it is there."""
    from confluent_kafka import KafkaError, KafkaException
    from confluent_kafka.admin import NewTopic  # type: ignore[attr-defined]

    topic = NewTopic(TOPIC, num_partitions=1, config={"cleanup.policy": "compact"})
    admin = client.admin(bootstrap_servers, kafka)
    future = admin.create_topics([topic], operation_timeout=WRITE_TIMEOUT_S)[TOPIC]
    try:
        future.result(WRITE_TIMEOUT_S)
    except KafkaException as error:
        if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise EngineError(f"{TOPIC} cannot be created at {bootstrap_servers}: {error.args[0].str()}") from error


def read_all(
    bootstrap_servers: str, kafka: Mapping[str, Any] | None = None
) -> tuple[dict[str, PipelineRecord], list[str]]:
    """What the topic holds now, and complaints about records that are not ours to read."""
    from confluent_kafka import OFFSET_BEGINNING, TopicPartition

    options = {**(kafka or {}), "isolation.level": "read_committed", "enable.partition.eof": True}
    reader = client.consumer(bootstrap_servers, None, options)
    records: dict[str, PipelineRecord] = {}
    complaints: dict[str, str] = {}
    try:
        reader.assign([TopicPartition(TOPIC, 0, OFFSET_BEGINNING)])
        for key, value in _until_end(reader):
            _take(key, value, records, complaints)
    finally:
        reader.close()
    return records, list(complaints.values())


def _until_end(reader: Consumer) -> Iterator[tuple[bytes | None, bytes | None]]:
    from confluent_kafka import KafkaError

    deadline = time.monotonic() + READ_TIMEOUT_S
    while time.monotonic() < deadline:
        message = reader.poll(0.2)
        if message is None:
            continue
        error = message.error()
        if error is None:
            deadline = time.monotonic() + READ_TIMEOUT_S
            yield message.key(), message.value()
        elif error.code() == KafkaError._PARTITION_EOF:
            return
    raise EngineError(f"{TOPIC} gave nothing for {READ_TIMEOUT_S:.0f} s before its end was reached")


def _take(
    key: bytes | None, value: bytes | None, records: dict[str, PipelineRecord], complaints: dict[str, str]
) -> None:
    name = (key or b"").decode(errors="replace")
    complaints.pop(name, None)
    if value is None:
        records.pop(name, None)
        return
    try:
        record = decode(value)
        if record.name != name:
            raise BadRecord(f"the plan's name is {record.name!r}")
        records[name] = record
    except BadRecord as error:
        records.pop(name, None)
        complaints[name] = f"{TOPIC}: the record of {name!r} is left alone: {error}"
