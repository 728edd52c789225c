"""The controller's decisions about topics: creation, deletion, more partitions.

Pure: an image and a request in, records and a response out. What is refused is refused per topic, with Kafka's error codes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from headrace.replica.controller_configs import checked_topic_configs
from headrace.replica.controller_error import Refused
from headrace.replica.directory_choice import DirectoryChoice
from headrace.replica.image import TOPIC_RESOURCE, BrokerImage, ClusterImage, TopicImage, unified_name
from headrace.replica.topic_names import CLUSTER_METADATA, topic_name_problem
from headrace.settings import BrokerSettings
from headrace.settings.describe import describe_topic
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)
from headrace.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from headrace.wire.messages.delete_topics import DeletableTopicResult, DeleteTopicsRequest, DeleteTopicsResponse
from headrace.wire.records.metadata import ConfigRecord, PartitionRecord, RemoveTopicRecord, TopicRecord
from headrace.wire.schema import ZERO_UUID, Message
from headrace.wire.uuids import random_uuid

# Kafka's own bound on one request; it also keeps a request for two billion partitions from being tried.
MAX_PARTITIONS_PER_REQUEST = 10_000

Assignments = Sequence[Sequence[int]]


def on_create_topics(
    image: ClusterImage, request: CreateTopicsRequest, settings: BrokerSettings
) -> tuple[list[Message], CreateTopicsResponse]:
    """Create what can be created; the rest is refused topic by topic."""
    records: list[Message] = []
    names = Counter(topic.name for topic in request.topics)
    state = _Creation(image, settings)
    too_many = _partitions_asked_for(request.topics, settings) > MAX_PARTITIONS_PER_REQUEST
    results = []
    for topic in request.topics:
        if names[topic.name] == 0:
            continue
        try:
            if names[topic.name] > 1:
                names[topic.name] = 0  # answered once, as Kafka does
                raise Refused(ErrorCode.INVALID_REQUEST, f"The request names topic {topic.name!r} more than once.")
            if too_many:
                raise Refused(
                    ErrorCode.POLICY_VIOLATION,
                    f"One request may create {MAX_PARTITIONS_PER_REQUEST} partitions, and this one asks for more.",
                )
            made, result = state.create(topic)
        except Refused as refused:
            result = CreatableTopicResult(name=topic.name, error_code=refused.code, error_message=refused.message)
        else:
            records += made
        results.append(result)
    return [] if request.validate_only else records, CreateTopicsResponse(topics=results)


class _Creation:
    """What one CreateTopics request has decided so far, so that its topics do not collide with one another."""

    def __init__(self, image: ClusterImage, settings: BrokerSettings) -> None:
        self._image = image
        self._settings = settings
        self._brokers = _active(image)
        self._similar = dict[str, str]()
        self._topics = len(image.topics)
        self._partitions = image.partition_count
        self._directories = DirectoryChoice(image)

    def create(self, topic: CreatableTopic) -> tuple[list[Message], CreatableTopicResult]:
        self._check_name(topic.name)
        overrides = {config.name: config.value for config in topic.configs}
        values = checked_topic_configs(overrides, self._settings)
        assignments = self._assignments(topic)
        self._check_limits(len(assignments))
        topic_id = random_uuid()
        records: list[Message] = [TopicRecord(name=topic.name, topic_id=topic_id)]
        # Kafka's order: configs after the topic, before its partitions, so that nobody sees a partition with wrong ones.
        records += [
            ConfigRecord(resource_type=TOPIC_RESOURCE, resource_name=topic.name, name=name, value=value)
            for name, value in sorted(values.items())
        ]
        records += partition_records(topic_id, 0, assignments, self._image, self._directories)
        result = CreatableTopicResult(
            name=topic.name,
            topic_id=topic_id,
            error_message=None,
            num_partitions=len(assignments),
            replication_factor=len(assignments[0]),
            configs=self._described(values),
        )
        return records, result

    def _check_name(self, name: str) -> None:
        if name == CLUSTER_METADATA:
            raise Refused(ErrorCode.INVALID_REQUEST, f"{CLUSTER_METADATA} is the broker's own and cannot be created.")
        problem = topic_name_problem(name)
        if problem is not None:
            raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, problem)
        if name in self._image.topics:
            raise Refused(ErrorCode.TOPIC_ALREADY_EXISTS, f"There is a topic {name!r} already.")
        unified = unified_name(name)
        if unified is None:
            return
        similar = [*self._image.similar_names.get(unified, ()), *filter(None, [self._similar.get(unified)])]
        if similar:
            raise Refused(
                ErrorCode.INVALID_TOPIC_EXCEPTION,
                f"{name!r} and the existing topic {similar[0]!r} differ only in '.' and '_', which metric names do not tell apart.",
            )
        self._similar[unified] = name

    def _assignments(self, topic: CreatableTopic) -> Assignments:
        if topic.assignments:
            return self._manual_assignments(topic)
        if topic.replication_factor < -1 or topic.replication_factor == 0:
            raise Refused(
                ErrorCode.INVALID_REPLICATION_FACTOR,
                "The replication factor must be at least 1, or -1 for the default.",
            )
        if topic.num_partitions < -1 or topic.num_partitions == 0:
            raise Refused(
                ErrorCode.INVALID_PARTITIONS, "The number of partitions must be at least 1, or -1 for the default."
            )
        count = self._settings["num.partitions"] if topic.num_partitions == -1 else topic.num_partitions
        factor = (
            self._settings["default.replication.factor"] if topic.replication_factor == -1 else topic.replication_factor
        )
        return place(0, count, factor, self._brokers)

    def _manual_assignments(self, topic: CreatableTopic) -> Assignments:
        if topic.replication_factor != -1 or topic.num_partitions != -1:
            raise Refused(
                ErrorCode.INVALID_REQUEST,
                "With replicas assigned by hand, the number of partitions and the replication factor must be -1.",
            )
        by_index = {assignment.partition_index: assignment.broker_ids for assignment in topic.assignments}
        if len(by_index) != len(topic.assignments):
            raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, "A partition is assigned more than once.")
        if sorted(by_index) != list(range(len(by_index))):
            raise Refused(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT, "Partitions assigned by hand must be numbered 0, 1, 2 and so on."
            )
        assignments = [by_index[index] for index in range(len(by_index))]
        check_assignments(assignments, self._image, len(assignments[0]))
        return assignments

    def _check_limits(self, partitions: int) -> None:
        self._topics += 1
        self._partitions += partitions
        if self._topics > self._settings["headrace.max.topics"]:
            raise Refused(
                ErrorCode.POLICY_VIOLATION, f"headrace.max.topics is {self._settings['headrace.max.topics']}."
            )
        check_partition_limit(self._partitions, self._settings)

    def _described(self, overrides: dict[str, str]) -> list[CreatableTopicConfigs]:
        """The configs a new topic has; topics without any of their own share one list."""
        if overrides:
            return _described(overrides, self._settings)
        return self._settings.cached("replica.new_topic_configs", lambda: _described({}, self._settings))


def _described(overrides: dict[str, str], settings: BrokerSettings) -> list[CreatableTopicConfigs]:
    return [
        CreatableTopicConfigs(name=one.name, value=one.value, config_source=one.source, is_sensitive=one.sensitive)
        for one in sorted(describe_topic(overrides, settings))
    ]


def on_delete_topics(
    image: ClusterImage, request: DeleteTopicsRequest, settings: BrokerSettings, *, api_version: int = 6
) -> tuple[list[Message], DeleteTopicsResponse]:
    """Delete topics by name or id. Each is answered once, also when it is named twice, which is refused."""
    wanted = [(name, ZERO_UUID) for name in request.topic_names] + [(one.name, one.topic_id) for one in request.topics]
    repeated = Counter(wanted)
    named = {name for name, topic_id in wanted if topic_id == ZERO_UUID}
    by_both = {
        topic.id for _, topic_id in wanted if (topic := image.topics_by_id.get(topic_id)) and topic.name in named
    }
    records: list[Message] = []
    results = []
    for (name, topic_id), times in repeated.items():
        if topic_id in by_both:
            continue  # answered with its name
        try:
            topic = _find(image, name, topic_id, times)
            if topic.id in by_both:
                topic_id = topic.id
                raise Refused(ErrorCode.INVALID_REQUEST, "The request names this topic by its name and by its id.")
            if not settings["delete.topic.enable"]:
                code = ErrorCode.TOPIC_DELETION_DISABLED if api_version >= 3 else ErrorCode.INVALID_REQUEST
                raise Refused(code, "delete.topic.enable is false on this broker.")
        except Refused as refused:
            results.append(
                DeletableTopicResult(
                    name=name, topic_id=topic_id, error_code=refused.code, error_message=refused.message
                )
            )
            continue
        records.append(RemoveTopicRecord(topic_id=topic.id))
        results.append(DeletableTopicResult(name=topic.name, topic_id=topic.id, error_message=None))
    return records, DeleteTopicsResponse(responses=results)


def _find(image: ClusterImage, name: str | None, topic_id: bytes, times: int) -> TopicImage:
    if times > 1:
        raise Refused(ErrorCode.INVALID_REQUEST, "The request names this topic more than once.")
    if name is not None and topic_id != ZERO_UUID:
        raise Refused(ErrorCode.INVALID_REQUEST, "A topic is named by its name or by its id, not by both.")
    if name is not None:
        topic = image.topics.get(name)
        if topic is None:
            raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return topic
    if topic_id == ZERO_UUID:
        raise Refused(ErrorCode.INVALID_REQUEST, "Neither name nor id of a topic is given.")
    topic = image.topics_by_id.get(topic_id)
    if topic is None:
        raise Refused(ErrorCode.UNKNOWN_TOPIC_ID)
    return topic


def on_create_partitions(
    image: ClusterImage, request: CreatePartitionsRequest, settings: BrokerSettings
) -> tuple[list[Message], CreatePartitionsResponse]:
    """Grow topics."""
    names = Counter(topic.name for topic in request.topics)
    records: list[Message] = []
    results = []
    total = image.partition_count
    directories = DirectoryChoice(image)
    for topic in {topic.name: topic for topic in request.topics}.values():
        try:
            if names[topic.name] > 1:
                raise Refused(ErrorCode.INVALID_REQUEST, f"The request names topic {topic.name!r} more than once.")
            made = _more_partitions(image, topic, directories)
            check_partition_limit(total + len(made), settings)
        except Refused as refused:
            result = CreatePartitionsTopicResult(
                name=topic.name, error_code=refused.code, error_message=refused.message
            )
        else:
            records += made
            total += len(made)
            result = CreatePartitionsTopicResult(name=topic.name)
        results.append(result)
    return [] if request.validate_only else records, CreatePartitionsResponse(results=results)


def _more_partitions(
    image: ClusterImage, request: CreatePartitionsTopic, directories: DirectoryChoice
) -> list[Message]:
    topic = image.topics.get(request.name)
    if topic is None:
        raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    has = len(topic.partitions)
    additional = request.count - has
    if additional <= 0:
        raise Refused(
            ErrorCode.INVALID_PARTITIONS,
            f"Topic {topic.name!r} has {has} partitions, so {request.count} would not be more.",
        )
    if additional > MAX_PARTITIONS_PER_REQUEST:
        raise Refused(ErrorCode.POLICY_VIOLATION, f"One request may create {MAX_PARTITIONS_PER_REQUEST} partitions.")
    factor = len(topic.partitions[0].replicas)
    if request.assignments is None:
        assignments: Assignments = place(has, additional, factor, _active(image))
    else:
        assignments = [assignment.broker_ids for assignment in request.assignments]
        if len(assignments) != additional:
            raise Refused(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"{additional} partitions are to be added, and {len(assignments)} assignments are given.",
            )
        check_assignments(assignments, image, factor)
    return partition_records(topic.id, has, assignments, image, directories)


def place(first: int, count: int, factor: int, brokers: Sequence[BrokerImage]) -> Assignments:
    """Replicas for `count` partitions: over all brokers in turn, so that leaders and followers spread."""
    if factor > len(brokers):
        raise Refused(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"A replication factor of {factor} needs as many brokers, and {len(brokers)} can take replicas.",
        )
    ids = sorted(broker.id for broker in brokers)
    if factor == len(ids) == 1:
        return [ids] * count
    return [[ids[(index + shift) % len(ids)] for shift in range(factor)] for index in range(first, first + count)]


def check_assignments(assignments: Assignments, image: ClusterImage, factor: int) -> None:
    """Refuse replicas on brokers that are not there, twice on one, or of a number other than `factor`."""
    for replicas in assignments:
        if not replicas:
            problem = "A partition is assigned to no broker."
        elif any(replica not in image.brokers for replica in replicas):
            missing = next(replica for replica in replicas if replica not in image.brokers)
            problem = f"Broker {missing} is assigned a replica, and no such broker is registered."
        elif len(set(replicas)) != len(replicas):
            problem = "A partition is assigned to one broker more than once."
        elif len(replicas) != factor:
            problem = f"A partition is assigned to {len(replicas)} brokers, others to {factor}."
        elif all(image.brokers[replica].fenced for replica in replicas):
            problem = "All brokers that a partition is assigned to are fenced."
        else:
            continue
        raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, problem)


def partition_records(
    topic_id: bytes, first: int, assignments: Assignments, image: ClusterImage, directories: DirectoryChoice
) -> list[Message]:
    """Records of new partitions: every active replica in sync, the first of them the leader."""
    records: list[Message] = []
    for index, replicas in enumerate(assignments, first):
        isr = [replica for replica in replicas if not image.brokers[replica].fenced]
        records.append(
            PartitionRecord(
                partition_id=index,
                topic_id=topic_id,
                replicas=list(replicas),
                isr=isr,
                leader=isr[0],
                leader_epoch=0,
                partition_epoch=0,
                directories=[directories.choose(image.brokers[replica]) for replica in replicas],
            )
        )
    return records


def check_partition_limit(partitions: int, settings: BrokerSettings) -> None:
    limit = settings["headrace.max.partitions"]
    if partitions > limit:
        raise Refused(ErrorCode.POLICY_VIOLATION, f"headrace.max.partitions is {limit}.")
    if partitions > settings.partition_capacity:
        raise Refused(
            ErrorCode.POLICY_VIOLATION,
            f"The file descriptors of this broker are enough for {settings.partition_capacity} partitions; "
            "raise the limit (ulimit -n) or delete topics.",
        )


def _active(image: ClusterImage) -> list[BrokerImage]:
    return [broker for broker in image.brokers.values() if not broker.fenced and not broker.in_controlled_shutdown]


def _partitions_asked_for(topics: Iterable[CreatableTopic], settings: BrokerSettings) -> int:
    default = settings["num.partitions"]
    return sum(len(t.assignments) or (default if t.num_partitions == -1 else max(t.num_partitions, 0)) for t in topics)
