"""The topics of a pipeline: what its sources have, and the internal and output topics that are created before it starts.

Nothing is left to the broker's auto-creation: an internal topic needs its own number of partitions and its own settings, and a source
that does not exist is an error before a query starts, not after.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from headrace import client
from headrace.plan import steps as s
from headrace.plan.plan import Plan, PlanError
from headrace.plan.stages import OutputKind, Stage
from headrace.spark.pipeline_settings import PipelineSettings

TIMEOUT_S = 30.0
REPARTITION_CONFIG: Mapping[str, str] = {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}
CHANGELOG_CONFIG: Mapping[str, str] = {"cleanup.policy": "compact"}


class TopicError(RuntimeError):
    """A topic that is missing or cannot be created; says what to do."""


@dataclass(frozen=True)
class NewTopic:
    name: str
    partitions: int
    config: Mapping[str, str] = field(default_factory=dict)


def source_topics(plan: Plan) -> dict[str, str]:
    """The topics that a plan reads, each with the first step that does."""
    found: dict[str, str] = {}
    for step in plan.steps:
        if isinstance(step, s.SOURCES):
            found.setdefault(step.topic, step.id)
    return found


def new_topics(plan: Plan, stages: Sequence[Stage], partitions: Mapping[str, int]) -> list[NewTopic]:
    """What has to be there beside the sources. `partitions` are those of the topics that exist; an internal topic has as many as the
    largest input of the stage that writes it."""
    known = dict(partitions)
    wanted: dict[str, NewTopic] = {}
    # A stage may come before the one whose channel it reads, so sizes settle after at most as many rounds as there are stages.
    for _ in range(len(stages) + 1):
        for stage in stages:
            inputs = [_topic(plan, name) for name in stage.sources] + [channel.topic for channel in stage.channels]
            most = max((known.get(topic, 1) for topic in inputs), default=1)
            for output in stage.outputs:
                if output.topic in partitions:
                    continue
                size = _size(plan, output.step, output.channel.partitions if output.channel else None) or most
                size = max(size, known.get(output.topic, 1)) if output.kind is not OutputKind.SINK else size
                known[output.topic] = size
                wanted[output.topic] = NewTopic(output.topic, size, _config(output.kind))
    return list(wanted.values())


def _topic(plan: Plan, source: str) -> str:
    step = plan.step(source)
    assert isinstance(step, s.SOURCES)
    return step.topic


def _size(plan: Plan, step_id: str, asked: int | None) -> int | None:
    step = plan.step(step_id)
    return step.partitions if isinstance(step, s.Sink) else asked


def _config(kind: OutputKind) -> Mapping[str, str]:
    return {OutputKind.CHANNEL: REPARTITION_CONFIG, OutputKind.CHANGELOG: CHANGELOG_CONFIG}.get(kind, {})


class Topics:
    """The topics of one cluster, seen and made through an admin client."""

    def __init__(self, settings: PipelineSettings) -> None:
        self._settings = settings
        self._admin = client.admin(settings.bootstrap_servers, dict(settings.kafka))

    def partitions(self) -> dict[str, int]:
        """How many partitions each topic of the cluster has."""
        from confluent_kafka import KafkaException

        try:
            topics = self._admin.list_topics(timeout=TIMEOUT_S).topics
        except KafkaException as error:
            raise TopicError(
                f"no answer from {self._settings.bootstrap_servers}: {error.args[0].str()}. Is the broker running?"
            ) from error
        return {name: len(topic.partitions) for name, topic in topics.items() if topic.error is None}

    def check_sources(self, plan: Plan, partitions: Mapping[str, int]) -> None:
        for topic, step in source_topics(plan).items():
            if topic not in partitions:
                raise PlanError(
                    step, f"there is no topic {topic!r}; create it (`headrace topic create {topic}`) or mend its name"
                )

    def create(self, topics: Iterable[NewTopic]) -> None:
        """Create what is not there yet; one that came up meanwhile is fine."""
        from confluent_kafka import KafkaError, KafkaException
        from confluent_kafka import admin as kafka

        wanted = list(topics)
        if not wanted:
            return
        requests = [
            kafka.NewTopic(  # type: ignore[attr-defined]
                one.name, one.partitions, self._settings.replication_factor, config=dict(one.config)
            )
            for one in wanted
        ]
        for name, future in self._admin.create_topics(requests, operation_timeout=TIMEOUT_S).items():
            try:
                future.result(TIMEOUT_S)
            except KafkaException as error:
                if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                    raise TopicError(f"the topic {name!r} could not be created: {error.args[0].str()}") from error

    def delete(self, names: Iterable[str]) -> None:
        """Remove internal topics; one that is gone already is fine."""
        from confluent_kafka import KafkaError, KafkaException

        wanted = list(names)
        if not wanted:
            return
        for name, future in self._admin.delete_topics(wanted, operation_timeout=TIMEOUT_S).items():
            try:
                future.result(TIMEOUT_S)
            except KafkaException as error:
                if error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                    raise TopicError(f"the topic {name!r} could not be deleted: {error.args[0].str()}") from error
