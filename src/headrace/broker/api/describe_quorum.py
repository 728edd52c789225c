"""DescribeQuorum (key 55): leader, voters and observers of the metadata quorum.

Behaviour: one node is the leader and the only voter, caught up by definition; its high watermark is the end of the metadata log. Only
__cluster_metadata-0 has a quorum.
Versions: 0-2. Directory ids and the voters' listeners from 2 on.
Not implemented: more than one voter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker.context import RequestContext
from headrace.replica.topic_names import CLUSTER_METADATA
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    Listener,
    Node,
    PartitionData,
    ReplicaState,
    TopicData,
)

if TYPE_CHECKING:
    from headrace.broker.server import Broker

REQUEST = DescribeQuorumRequest


def handle(broker: Broker, request: DescribeQuorumRequest, context: RequestContext) -> DescribeQuorumResponse:
    asked = [(topic.topic_name, [part.partition_index for part in topic.partitions]) for topic in request.topics]
    if asked != [(CLUSTER_METADATA, [0])]:
        return DescribeQuorumResponse(
            error_message=None,
            topics=[
                TopicData(
                    topic_name=name,
                    partitions=[
                        PartitionData(
                            partition_index=index, error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, error_message=None
                        )
                        for index in indexes
                    ],
                )
                for name, indexes in asked
            ],
        )
    return DescribeQuorumResponse(
        error_message=None,
        topics=[TopicData(topic_name=CLUSTER_METADATA, partitions=[_quorum(broker)])],
        nodes=[
            Node(
                node_id=voter.voter_id,
                listeners=[Listener(name=one.name, host=one.host, port=one.port) for one in voter.endpoints],
            )
            for voter in broker.image.voters
        ],
    )


def _quorum(broker: Broker) -> PartitionData:
    image, now_ms = broker.image, broker.clock.now_ms()
    end_offset = image.offset + 1
    return PartitionData(
        partition_index=0,
        error_message=None,
        leader_id=image.controller_id,
        leader_epoch=image.epoch,
        high_watermark=end_offset,
        current_voters=[
            ReplicaState(
                replica_id=voter.voter_id,
                replica_directory_id=voter.voter_directory_id,
                log_end_offset=end_offset,
                last_fetch_timestamp=now_ms,
                last_caught_up_timestamp=now_ms,
            )
            for voter in image.voters
        ],
    )
