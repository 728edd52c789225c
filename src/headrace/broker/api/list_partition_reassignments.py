"""ListPartitionReassignments (key 46): partitions that are on their way to other replicas.

Behaviour: all of them for a null list of topics. Partitions that are not on their way, or do not exist, are left out. A single node
begins none; the metadata of several Apache Kafka brokers may hold some.
Versions: 0.
Not implemented: nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from headrace.broker.context import RequestContext
from headrace.replica.image import PartitionImage, TopicImage
from headrace.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)

if TYPE_CHECKING:
    from headrace.broker.server import Broker

REQUEST = ListPartitionReassignmentsRequest


def handle(
    broker: Broker, request: ListPartitionReassignmentsRequest, context: RequestContext
) -> ListPartitionReassignmentsResponse:
    topics = broker.image.topics
    if request.topics is None:
        found = [_ongoing(topic, topic.partitions) for topic in topics.values()]
    else:
        asked = [(topics[one.name], one.partition_indexes) for one in request.topics if one.name in topics]
        found = [_ongoing(topic, filter(None, map(topic.partition, indexes))) for topic, indexes in asked]
    return ListPartitionReassignmentsResponse(error_message=None, topics=[topic for topic in found if topic.partitions])


def _ongoing(topic: TopicImage, partitions: Iterable[PartitionImage]) -> OngoingTopicReassignment:
    rows = [
        OngoingPartitionReassignment(
            partition_index=one.partition,
            replicas=list(one.replicas),
            adding_replicas=list(one.adding_replicas),
            removing_replicas=list(one.removing_replicas),
        )
        for one in partitions
        if one.in_reassignment
    ]
    return OngoingTopicReassignment(name=topic.name, partitions=rows)
