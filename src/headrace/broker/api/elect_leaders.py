"""ElectLeaders (key 43): elect the preferred leader of partitions, or an unclean one.

Behaviour: a single node leads every partition it has, so an election is never needed and says so; a null list asks for all partitions
and gets topics without partitions, as none was elected.
Versions: 0-2.
Not implemented: elections among several brokers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker.context import RequestContext
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)

if TYPE_CHECKING:
    from headrace.broker.server import Broker

REQUEST = ElectLeadersRequest
PREFERRED, UNCLEAN = 0, 1


def handle(broker: Broker, request: ElectLeadersRequest, context: RequestContext) -> ElectLeadersResponse:
    known = request.election_type in (PREFERRED, UNCLEAN)
    if request.topic_partitions is None:
        topics = broker.image.topics if known else ()
        results = [ReplicaElectionResult(topic=topic) for topic in topics]
    else:
        results = [
            ReplicaElectionResult(
                topic=topic.topic,
                partition_result=[_elect(broker, topic.topic, index, known) for index in topic.partitions],
            )
            for topic in request.topic_partitions
        ]
    nothing = request.topic_partitions == []
    return ElectLeadersResponse(
        error_code=ErrorCode.NONE if known or nothing else ErrorCode.INVALID_REQUEST, replica_election_results=results
    )


def _elect(broker: Broker, topic: str, index: int, known_type: bool) -> PartitionResult:
    if not known_type:
        code = ErrorCode.INVALID_REQUEST
    elif broker.image.partition(topic, index) is None:
        code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    else:
        code = ErrorCode.ELECTION_NOT_NEEDED
    return PartitionResult(partition_id=index, error_code=code, error_message=code.message)
