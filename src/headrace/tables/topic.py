"""The changelog topic as the cluster describes it: its id, its partitions, where each ends, and how long tombstones stay.

Asks through an admin client; keeps nothing. May be used from any thread.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import Future, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace import client

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient

READ_COMMITTED = "read_committed"
READ_UNCOMMITTED = "read_uncommitted"
ANSWER_S = 0.1
# Kafka's default for delete.retention.ms, for clusters that do not let us read a topic's settings.
DEFAULT_DELETE_RETENTION_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class TopicDescription:
    """A topic as it is now. A topic that is deleted and created again has another id."""

    topic_id: str
    partitions: tuple[int, ...]


class TopicClosed(Exception):
    """This process does not want to know any more."""


class ChangelogTopic:
    """One topic of one cluster."""

    def __init__(self, bootstrap_servers: str, topic: str, isolation_level: str, settings: Mapping[str, Any]) -> None:
        self.name = topic
        self.isolation_level = isolation_level
        self._stopped = False
        self._admin: AdminClient | None = client.admin(bootstrap_servers, settings)

    def describe(self, timeout_s: float) -> TopicDescription | None:
        """The topic, or None when there is none. KafkaException when the cluster does not answer."""
        from confluent_kafka import KafkaError, KafkaException, TopicCollection

        admin = self._open()
        try:
            future = admin.describe_topics(TopicCollection([self.name]), request_timeout=timeout_s)[self.name]
            found = self._result(future)
        except KafkaException as error:
            if error.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
                return None
            raise
        return TopicDescription(str(found.topic_id), tuple(sorted(each.id for each in found.partitions)))

    def end_offsets(self, partitions: Iterable[int], timeout_s: float) -> dict[int, int]:
        """Where each partition ends for this isolation level: the last stable offset, or the high watermark."""
        from confluent_kafka.admin import OffsetSpec  # type: ignore[attr-defined]

        return self._offsets(OffsetSpec.latest(), partitions, timeout_s)  # type: ignore[no-untyped-call]

    def start_offsets(self, partitions: Iterable[int], timeout_s: float) -> dict[int, int]:
        """Where each partition begins."""
        from confluent_kafka.admin import OffsetSpec  # type: ignore[attr-defined]

        return self._offsets(OffsetSpec.earliest(), partitions, timeout_s)  # type: ignore[no-untyped-call]

    def _offsets(self, which: Any, partitions: Iterable[int], timeout_s: float) -> dict[int, int]:
        from confluent_kafka import IsolationLevel, TopicPartition

        asked = {TopicPartition(self.name, partition): which for partition in partitions}
        if not asked:
            return {}
        committed = self.isolation_level == READ_COMMITTED
        level = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
        answers = self._open().list_offsets(asked, isolation_level=level, request_timeout=timeout_s)
        return {each.partition: self._result(future).offset for each, future in answers.items()}

    def delete_retention_ms(self, timeout_s: float) -> int:
        """How long the topic keeps a tombstone at least."""
        from confluent_kafka import KafkaError, KafkaException
        from confluent_kafka.admin import ConfigResource, ResourceType  # type: ignore[attr-defined]

        resource = ConfigResource(ResourceType.TOPIC, self.name)
        try:
            answer = self._result(self._open().describe_configs([resource], request_timeout=timeout_s)[resource])
            return int(answer["delete.retention.ms"].value)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_AUTHORIZATION_FAILED:
                raise
            return DEFAULT_DELETE_RETENTION_MS

    def stop(self) -> None:
        """Whoever waits for an answer gets TopicClosed, now and from now on."""
        self._stopped = True

    def close(self) -> None:
        """An admin client ends with its last reference."""
        self.stop()
        self._admin = None

    def _open(self) -> AdminClient:
        admin = self._admin
        if admin is None or self._stopped:
            raise TopicClosed(self.name)
        return admin

    def _result(self, future: Future[Any]) -> Any:
        """The future's outcome. A cluster that does not answer holds up nobody who wants to stop."""
        while not wait([future], ANSWER_S).done:
            if self._stopped:
                raise TopicClosed(self.name)
        return future.result()
