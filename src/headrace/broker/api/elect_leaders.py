"""ElectLeaders (key 43): elect the preferred leader of partitions, or an unclean one.

Behaviour: a single node leads every partition it has, so an election is never needed and says so; a null list asks for all partitions
and gets no rows, as none was elected.
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
    if request.election_type not in (PREFERRED, UNCLEAN):
        return ElectLeadersResponse(error_code=ErrorCode.INVALID_REQUEST)
    return ElectLeadersResponse(
        replica_election_results=[
            ReplicaElectionResult(
                topic=topic.topic,
                partition_result=[_elect(broker, topic.topic, index) for index in topic.partitions],
            )
            for topic in request.topic_partitions or ()
        ]
    )


def _elect(broker: Broker, topic: str, index: int) -> PartitionResult:
    partition = broker.image.partition(topic, index)
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if partition is None else ErrorCode.ELECTION_NOT_NEEDED
    return PartitionResult(partition_id=index, error_code=code, error_message=code.message)
