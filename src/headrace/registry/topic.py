"""`_schemas` itself: made where it is missing, read by a thread from its beginning and on. Knows Kafka and the form of records, nothing of schemas."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace import client
from headrace.registry.errors import StartFailure
from headrace.registry.records import BadRecord, Record, decode

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message

log = logging.getLogger(__name__)
BATCH = 1_000
POLL_S = 0.5


@dataclass(frozen=True)
class TopicSettings:
    """Where the topic is, and how it is made."""

    bootstrap_servers: str
    name: str = "_schemas"
    replication_factor: int = 3
    timeout_s: float = 60.0
    kafka: Mapping[str, Any] | None = None


def ensure(settings: TopicSettings) -> None:
    """Make the topic where it is missing, and refuse one that would lose schemas or mix up their order."""
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    admin: AdminClient = client.admin(settings.bootstrap_servers, settings.kafka)
    try:
        cluster = admin.list_topics(timeout=settings.timeout_s)
        found = cluster.topics.get(settings.name)
        if found is None:
            _create(admin, settings, min(settings.replication_factor, len(cluster.brokers)))
        elif len(found.partitions) != 1:
            raise StartFailure(f"{settings.name} has {len(found.partitions)} partitions; schemas need exactly one")
        else:
            _check_policy(admin, settings)
    except KafkaException as error:
        raise StartFailure(
            f"{settings.name} cannot be used at {settings.bootstrap_servers}: {error.args[0].str()}"
        ) from error


def _create(admin: Any, settings: TopicSettings, replicas: int) -> None:
    from confluent_kafka import KafkaError, KafkaException
    from confluent_kafka.admin import NewTopic  # type: ignore[attr-defined]

    topic = NewTopic(settings.name, 1, max(replicas, 1), config={"cleanup.policy": "compact"})
    try:
        admin.create_topics([topic], operation_timeout=settings.timeout_s)[settings.name].result(settings.timeout_s)
    except KafkaException as error:
        if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise


def _check_policy(admin: Any, settings: TopicSettings) -> None:
    from confluent_kafka.admin import ConfigResource, ResourceType  # type: ignore[attr-defined]

    resource = ConfigResource(ResourceType.TOPIC, settings.name)
    config = admin.describe_configs([resource])[resource].result(settings.timeout_s)
    policy = config["cleanup.policy"].value
    if policy != "compact":
        raise StartFailure(
            f"{settings.name} has cleanup.policy={policy}, which would delete schemas that are in use; "
            f"set it with `headrace config set cleanup.policy=compact --topic {settings.name}`"
        )


@dataclass(frozen=True)
class Read:
    """A record and where it stands; between it and `previous` nothing counts."""

    offset: int
    record: Record
    previous: int = -1


class TopicReader:
    """One thread that hands on what is committed, in order. `position` is the offset up to which everything was handed on."""

    def __init__(self, settings: TopicSettings, hand_on: Callable[[Sequence[Read]], None]) -> None:
        self._settings = settings
        self._hand_on = hand_on
        self._moved = threading.Condition()
        self._position = 0
        self._at_end = False
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="registry-reader", daemon=True)
        self.failure: str | None = "the schemas are being read"
        self.skipped = 0
        """Records that are not of the registry's form; they are left alone."""

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._closing.set()
        if self._thread.is_alive():
            self._thread.join()

    def wait_until_loaded(self, timeout_s: float) -> bool:
        """Whether everything that was there at the start has been read."""
        with self._moved:
            return self._moved.wait_for(lambda: self._at_end, timeout_s)

    def wait_for(self, offset: int, timeout_s: float) -> bool:
        """Whether the record at this offset has been handed on."""
        with self._moved:
            return self._moved.wait_for(lambda: self._position > offset, timeout_s)

    @property
    def position(self) -> int:
        return self._position

    def _run(self) -> None:
        while not self._closing.is_set():
            try:
                self._read()
            except Exception as error:
                self.failure = f"the schemas cannot be read: {error}"
                log.exception("reading %s failed; trying again", self._settings.name)
                self._closing.wait(1.0)

    def _read(self) -> None:
        from confluent_kafka import TopicPartition

        settings = self._settings
        options = {
            **(settings.kafka or {}),
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
            "fetch.error.backoff.ms": 50,
        }
        reader = client.consumer(settings.bootstrap_servers, None, options)
        try:
            reader.assign([TopicPartition(settings.name, 0, self._position)])
            while not self._closing.is_set():
                self._take(_batch(reader))
        finally:
            reader.close()

    def _take(self, messages: Sequence[Message]) -> None:
        from confluent_kafka import KafkaError, KafkaException

        read: list[Read] = []
        position, at_end = self._position, False
        for message in messages:
            error = message.error()
            if error is None:
                offset = message.offset()
                assert offset is not None
                record = self._decode(message)
                if record is not None:
                    read.append(Read(offset, record, position - 1))
                position = offset + 1
            elif error.code() == KafkaError._PARTITION_EOF:
                at_end = True
            elif not error.retriable() and error.code() != KafkaError._TRANSPORT:
                raise KafkaException(error)
        if read:
            self._hand_on(read)
        with self._moved:
            self._position = position
            self._at_end = self._at_end or at_end
            if self._at_end:
                self.failure = None
            self._moved.notify_all()

    def _decode(self, message: Message) -> Record | None:
        _, timestamp_ms = message.timestamp()
        try:
            return decode(message.key(), message.value(), timestamp_ms)
        except BadRecord as error:
            self.skipped += 1
            log.warning("%s, offset %s: left alone, because %s", self._settings.name, message.offset(), error)
            return None


def _batch(reader: Consumer) -> list[Message]:
    """What is there now, or the first that comes."""
    first = reader.poll(POLL_S)
    return [] if first is None else [first, *reader.consume(BATCH, timeout=0)]


def aborted_keys(settings: TopicSettings, start: int, end: int) -> list[bytes]:
    """The keys of the records from `start` until `end`, where nothing that counts stands."""
    from confluent_kafka import KafkaError, TopicPartition

    options = {**(settings.kafka or {}), "isolation.level": "read_uncommitted", "enable.partition.eof": True}
    reader = client.consumer(settings.bootstrap_servers, None, options)
    keys: dict[bytes, None] = {}
    deadline = time.monotonic() + settings.timeout_s
    try:
        reader.assign([TopicPartition(settings.name, 0, start)])
        while time.monotonic() < deadline:
            for message in _batch(reader):
                error = message.error()
                if error is None and (message.offset() or 0) < end:
                    keys[message.key() or b""] = None
                elif error is None or error.code() == KafkaError._PARTITION_EOF:
                    return list(keys)
    finally:
        reader.close()
    raise StartFailure(f"{settings.name} gave nothing for {settings.timeout_s:.0f} s before its end was reached")
