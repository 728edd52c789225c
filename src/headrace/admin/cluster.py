"""A cluster: an address, the clients made for it, and the questions everybody asks of it. Who chose the address is not its business."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from headrace.admin.errors import Problem, UsageMistake, from_kafka, unknown_topic, unreachable

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Producer, TopicPartition
    from confluent_kafka.admin import AdminClient, TopicMetadata

DEFAULT_BOOTSTRAP = "127.0.0.1:9092"
CONNECT_TIMEOUT_S = 3.0
REQUEST_TIMEOUT_S = 30.0
_RETRY_S = 0.1
Outcome = TypeVar("Outcome")


@dataclass(slots=True)
class Cluster:
    """An address and the clients made for it. Nothing is sent before the first question."""

    bootstrap_servers: str
    source: str
    properties: dict[str, str] = field(default_factory=dict)
    timeout_s: float = REQUEST_TIMEOUT_S
    _admin: AdminClient | None = None

    def admin(self) -> AdminClient:
        """The admin client, after making sure that somebody listens: a refused connection is known in a millisecond."""
        from headrace import client

        if self._admin is None:
            self.check_reachable()
            self._admin = client.admin(self.bootstrap_servers, self.properties)
        return self._admin

    def producer(self, overrides: Mapping[str, Any]) -> Producer:
        from headrace import client

        return client.producer(self.bootstrap_servers, {**self.properties, **overrides})

    def consumer(self, group_id: str | None, overrides: Mapping[str, Any]) -> Consumer:
        from headrace import client

        return client.consumer(self.bootstrap_servers, group_id, {**self.properties, **overrides})

    def check_reachable(self) -> None:
        """One TCP connection to any of the servers; the error names why there is none."""
        reason = "no address"
        for server in self.bootstrap_servers.split(","):
            host, _, port = server.strip().rpartition(":")
            if not host or not port.isdigit():
                raise UsageMistake(f"'{server}' is not HOST:PORT", f"Write it like {DEFAULT_BOOTSTRAP}")
            try:
                socket.create_connection((host.strip("[]"), int(port)), CONNECT_TIMEOUT_S).close()
                return
            except OSError as error:
                reason = "timed out" if isinstance(error, TimeoutError) else (error.strerror or str(error)).lower()
        raise unreachable(self.bootstrap_servers, self.source, reason)

    def topics(self, *, internal: bool = False) -> dict[str, TopicMetadata]:
        """All topics by name. Asking for all never creates one, as asking for a name may."""
        from confluent_kafka import KafkaException

        try:
            topics = self.admin().list_topics(timeout=self.timeout_s).topics
        except KafkaException as error:
            raise from_kafka(error.args[0]) from None
        return {name: topics[name] for name in sorted(topics) if internal or not name.startswith("__")}

    def topic(self, name: str) -> TopicMetadata:
        """One topic, or the error that names those with similar names."""
        topics = self.topics(internal=True)
        if name not in topics:
            raise unknown_topic(name, topics)
        return topics[name]

    def result(self, future: Future[Outcome], doing: str = "") -> Outcome:
        """What an admin call returned, or its error as people read it."""
        from confluent_kafka import KafkaException

        try:
            return future.result(self.timeout_s + 5)
        except KafkaException as error:
            raise from_kafka(error.args[0], doing) from None
        except TimeoutError:
            raise Problem(
                f"{doing or 'The request'}: no answer in {self.timeout_s:g} s", "Try a longer --timeout"
            ) from None

    def offsets(self, partitions: Iterable[TopicPartition], spec: Any) -> dict[tuple[str, int], int]:
        """Offsets of many partitions at once; `spec` is an OffsetSpec. Partitions that have none are left out."""
        from confluent_kafka import TopicPartition

        wanted = {TopicPartition(p.topic, p.partition): spec for p in partitions}
        found: dict[tuple[str, int], int] = {}
        deadline = time.monotonic() + self.timeout_s
        while wanted:
            futures = self.admin().list_offsets(wanted, request_timeout=self.timeout_s)
            wanted = {}
            for partition, future in futures.items():
                offset = self._settled(future, time.monotonic() < deadline)
                if offset is None:
                    wanted[partition] = spec
                else:
                    found[partition.topic, partition.partition] = offset
            if wanted:
                time.sleep(_RETRY_S)
        return {partition: offset for partition, offset in found.items() if offset >= 0}

    def _settled(self, future: Future[Any], may_retry: bool) -> int | None:
        """The offset, or None when the partition has no leader this instant, as right after its creation."""
        from confluent_kafka import KafkaException

        try:
            return future.result(self.timeout_s + 5).offset
        except KafkaException as error:
            if may_retry and error.args[0].code() in _transient_codes():
                return None
            raise from_kafka(error.args[0]) from None


def _transient_codes() -> tuple[int, ...]:
    from confluent_kafka import KafkaError

    return (KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE, KafkaError.UNKNOWN_TOPIC_OR_PART)
