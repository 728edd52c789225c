"""The broker's own topics, created when they are first needed, with the settings their coordinators rely on."""

from __future__ import annotations

from headrace.replica.controller_topics import on_create_topics
from headrace.replica.image import ClusterImage
from headrace.replica.topic_names import CONSUMER_OFFSETS, TRANSACTION_STATE
from headrace.settings import BrokerSettings
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from headrace.wire.schema import Message


def internal_topic(name: str, settings: BrokerSettings) -> CreatableTopic:
    """How an internal topic is created; any other one gets the broker's defaults."""
    if name == CONSUMER_OFFSETS:
        count, factor = settings["offsets.topic.num.partitions"], settings["offsets.topic.replication.factor"]
        configs = {
            "cleanup.policy": "compact",
            "compression.type": "producer",
            "segment.bytes": str(settings["offsets.topic.segment.bytes"]),
        }
    elif name == TRANSACTION_STATE:
        count = settings["transaction.state.log.num.partitions"]
        factor = settings["transaction.state.log.replication.factor"]
        configs = {
            "cleanup.policy": "compact",
            "compression.type": "uncompressed",
            "min.insync.replicas": str(settings["transaction.state.log.min.isr"]),
            "segment.bytes": str(settings["transaction.state.log.segment.bytes"]),
            "unclean.leader.election.enable": "false",
        }
    else:
        count, factor, configs = -1, -1, {}
    return CreatableTopic(
        name=name,
        num_partitions=count,
        replication_factor=factor,
        configs=[CreatableTopicConfig(name=key, value=value) for key, value in configs.items()],
    )


def on_create_internal_topic(
    image: ClusterImage, name: str, settings: BrokerSettings
) -> tuple[list[Message], tuple[ErrorCode, str | None]]:
    """Create an internal topic (or any topic with defaults); nothing to do when it is there already."""
    if name in image.topics:
        return [], (ErrorCode.NONE, None)
    records, response = on_create_topics(image, CreateTopicsRequest(topics=[internal_topic(name, settings)]), settings)
    result = response.topics[0]
    return records, (ErrorCode(result.error_code), result.error_message)
