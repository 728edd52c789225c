"""DescribeCluster (key 60): the id, the controller and the brokers of the cluster.

Behaviour: endpoint type 1 asks for brokers; 2, for controllers, belongs on a controller's listener and is refused here as in Kafka.
Versions: 0-2. Fenced brokers on request from 2 on.
Not implemented: controller listeners.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker.context import RequestContext
from headrace.broker.nodes import CLUSTER_OPERATIONS, nodes
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)

if TYPE_CHECKING:
    from headrace.broker.server import Broker

REQUEST = DescribeClusterRequest
BROKERS, CONTROLLERS = 1, 2


def handle(broker: Broker, request: DescribeClusterRequest, context: RequestContext) -> DescribeClusterResponse:
    if request.endpoint_type != BROKERS:
        known = request.endpoint_type == CONTROLLERS
        return DescribeClusterResponse(
            error_code=ErrorCode.MISMATCHED_ENDPOINT_TYPE if known else ErrorCode.UNSUPPORTED_ENDPOINT_TYPE,
            error_message="This is a broker's listener; it knows of brokers only.",
        )
    response = DescribeClusterResponse(
        cluster_id=broker.image.cluster_id,
        controller_id=broker.image.controller_id,
        brokers=[
            DescribeClusterBroker(
                broker_id=node.id, host=node.host, port=node.port, rack=node.rack, is_fenced=node.fenced
            )
            for node in nodes(broker, context.listener_name)
            if request.include_fenced_brokers or not node.fenced
        ],
    )
    if request.include_cluster_authorized_operations:
        response.cluster_authorized_operations = CLUSTER_OPERATIONS
    return response
