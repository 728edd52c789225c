"""Metadata (key 3): the brokers, the topics and the leaders of their partitions.

Behaviour: all topics for a null list (an empty one in version 0), else those named, each once. A topic that is not there is created
when the request and auto.create.topics.enable allow it, and answered at once. The answer for all topics is kept encoded while the
cluster does not change, because clients poll it, and the rows of topics as long as these do not change.
Versions: 0-13. Look-up by topic id from 12 on.
Not implemented: authorization, so every operation is allowed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from headrace.broker.context import RequestContext
from headrace.broker.nodes import CLUSTER_OPERATIONS, TOPIC_OPERATIONS, nodes
from headrace.replica import controller
from headrace.replica.image import NO_LEADER, ClusterImage, PartitionImage, TopicImage
from headrace.replica.topic_names import is_internal, topic_name_problem
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.create_topics import CreateTopicsRequest
from headrace.wire.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from headrace.wire.schema import ZERO_UUID, Message

if TYPE_CHECKING:
    from headrace.broker.server import Broker

REQUEST = MetadataRequest
NOT_ASKED = -0x80000000


class EncodedResponse(MetadataResponse, key=3, kind="response", versions="0-13", flexible="9+"):
    """A response whose body is bytes already, in the version that it is asked for in."""

    __slots__ = ("body",)

    def __init__(self, body: bytes) -> None:
        self.body = body

    def encode_parts(self, version: int, head: bytes = b"") -> list[Any]:
        return [bytearray(head), self.body]


def handle(
    broker: Broker, request: MetadataRequest, context: RequestContext
) -> MetadataResponse | Awaitable[MetadataResponse]:
    version = context.api_version
    wanted = request.topics
    if wanted is None or (version == 0 and not wanted):
        return _all_topics(broker, request, context)
    if version < 12 and any(one.name is None or one.topic_id != ZERO_UUID for one in wanted):
        return _response(broker, request, context, [_missing(one, ErrorCode.INVALID_REQUEST) for one in wanted])
    if request.allow_auto_topic_creation and broker.settings["auto.create.topics.enable"]:
        missing = _to_create(broker.image, wanted)
        if missing:
            return _create_and_answer(broker, request, context, missing)
    return _answer(broker, request, context, {})


def _answer(
    broker: Broker, request: MetadataRequest, context: RequestContext, refused: dict[str, ErrorCode]
) -> MetadataResponse:
    image = broker.image
    assert request.topics is not None
    # Ids come first: names beside them are not looked at.
    wanted = {one.topic_id: one for one in request.topics if one.topic_id != ZERO_UUID}
    by_id = bool(wanted)
    topics = []
    for one in (wanted or {one.name: one for one in request.topics}).values():
        topic = image.topics_by_id.get(one.topic_id) if by_id else image.topics.get(one.name or "")
        if topic is not None:
            topics.append(_topic(broker, topic))
        elif by_id:
            topics.append(
                MetadataResponseTopic(error_code=ErrorCode.UNKNOWN_TOPIC_ID, name=None, topic_id=one.topic_id)
            )
        else:
            topics.append(_missing(one, refused.get(one.name or "") or _why_missing(one.name)))
    return _response(broker, request, context, topics)


def _all_topics(broker: Broker, request: MetadataRequest, context: RequestContext) -> MetadataResponse:
    image = broker.image
    if _any_offline(broker):
        return _response(broker, request, context, [_topic(broker, topic) for topic in image.topics.values()])
    operations = (request.include_topic_authorized_operations, request.include_cluster_authorized_operations)
    key = ("metadata", context.api_version, context.listener_name, operations)
    body = image.derived.get(key)
    if body is None:
        response = _response(broker, request, context, prepared_topics(broker).rows(image))
        body = image.derived[key] = response.encode(context.api_version)
    return EncodedResponse(body)


def _to_create(image: ClusterImage, wanted: Sequence[MetadataRequestTopic]) -> list[str]:
    names = {one.name: None for one in wanted if one.name is not None and one.topic_id == ZERO_UUID}
    return [name for name in names if name not in image.topics and topic_name_problem(name) is None]


async def _create_and_answer(
    broker: Broker, request: MetadataRequest, context: RequestContext, missing: Iterable[str]
) -> MetadataResponse:
    """Create the missing topics with the broker's defaults; one that cannot be created says why."""
    settings = broker.settings

    def create(image: ClusterImage) -> tuple[list[Message], list[Any]]:
        topics = [controller.internal_topic(name, settings) for name in missing if name not in image.topics]
        records, response = controller.on_create_topics(image, CreateTopicsRequest(topics=topics), settings)
        return records, response.topics

    results = await broker.metadata.change(create)
    refused = {result.name: ErrorCode(result.error_code) for result in results if result.error_code}
    return _answer(broker, request, context, refused)


def _why_missing(name: str | None) -> ErrorCode:
    invalid = name is None or topic_name_problem(name) is not None
    return ErrorCode.INVALID_TOPIC_EXCEPTION if invalid else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _missing(one: MetadataRequestTopic, code: ErrorCode) -> MetadataResponseTopic:
    name = one.name or ""
    return MetadataResponseTopic(error_code=code, name=name, topic_id=one.topic_id, is_internal=is_internal(name))


class PreparedTopics:
    """Rows of topics, made once for each state of a topic. They are shared between answers, so nobody may change one."""

    def __init__(self) -> None:
        self._rows: dict[bytes, tuple[TopicImage, MetadataResponseTopic]] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def row(self, image: ClusterImage, topic: TopicImage) -> MetadataResponseTopic:
        found = self._rows.get(topic.id)
        if found is not None and found[0] is topic:
            return found[1]
        row = _topic_row(topic, [_partition_row(partition, []) for partition in topic.partitions])
        self._rows[topic.id] = topic, row
        if len(self._rows) > 2 * len(image.topics):
            # Clients that ask for topics by name never come by `rows`; each look at all rows drops at least half of them.
            self._forget_deleted(image)
        return row

    def rows(self, image: ClusterImage) -> list[MetadataResponseTopic]:
        """All topics; what was made for topics that are gone is forgotten on the way."""
        rows = [self.row(image, topic) for topic in image.topics.values()]
        if len(self._rows) > len(rows):
            self._forget_deleted(image)
        return rows

    def _forget_deleted(self, image: ClusterImage) -> None:
        self._rows = {topic_id: row for topic_id, row in self._rows.items() if topic_id in image.topics_by_id}


_PREPARED: WeakKeyDictionary[Any, PreparedTopics] = WeakKeyDictionary()


def prepared_topics(broker: Broker) -> PreparedTopics:
    """The rows that this broker's answers share."""
    found = _PREPARED.get(broker)
    if found is None:
        found = _PREPARED[broker] = PreparedTopics()
    return found


def _any_offline(broker: Broker) -> bool:
    """Whether a disk failed: which partitions lack a leader is not in the image then, so nothing prepared may be used."""
    return any(directory.files.offline is not None for directory in broker.replicas.directories)


def _topic(broker: Broker, topic: TopicImage) -> MetadataResponseTopic:
    if not _any_offline(broker):
        return prepared_topics(broker).row(broker.image, topic)
    rows = []
    for partition in topic.partitions:
        hosted = broker.replicas.get(topic.name, partition.partition)
        rows.append(_partition_row(partition, [broker.node_id] if hosted is None or hosted.offline else []))
    return _topic_row(topic, rows)


def _topic_row(topic: TopicImage, partitions: list[MetadataResponsePartition]) -> MetadataResponseTopic:
    return MetadataResponseTopic(
        name=topic.name, topic_id=topic.id, is_internal=is_internal(topic.name), partitions=partitions
    )


def _partition_row(partition: PartitionImage, offline: list[int]) -> MetadataResponsePartition:
    leader = NO_LEADER if partition.leader in offline else partition.leader
    return MetadataResponsePartition(
        error_code=ErrorCode.LEADER_NOT_AVAILABLE if leader == NO_LEADER else ErrorCode.NONE,
        partition_index=partition.partition,
        leader_id=leader,
        leader_epoch=partition.leader_epoch,
        replica_nodes=list(partition.replicas),
        isr_nodes=list(partition.isr),
        offline_replicas=offline,
    )


def _response(
    broker: Broker, request: MetadataRequest, context: RequestContext, topics: list[MetadataResponseTopic]
) -> MetadataResponse:
    if request.include_topic_authorized_operations:
        topics = [_with_operations(topic) for topic in topics]
    return MetadataResponse(
        brokers=[
            MetadataResponseBroker(node_id=node.id, host=node.host, port=node.port, rack=node.rack)
            for node in nodes(broker, context.listener_name)
            if not node.fenced
        ],
        cluster_id=broker.image.cluster_id,
        controller_id=broker.image.controller_id,
        topics=topics,
        cluster_authorized_operations=CLUSTER_OPERATIONS
        if request.include_cluster_authorized_operations
        else NOT_ASKED,
    )


def _with_operations(topic: MetadataResponseTopic) -> MetadataResponseTopic:
    if topic.error_code == ErrorCode.UNKNOWN_TOPIC_ID:
        return topic
    return MetadataResponseTopic(
        error_code=topic.error_code,
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.is_internal,
        partitions=topic.partitions,
        topic_authorized_operations=TOPIC_OPERATIONS,
    )
