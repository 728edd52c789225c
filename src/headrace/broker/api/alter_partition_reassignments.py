"""AlterPartitionReassignments (key 45): give partitions other replicas, or call that off.

Behaviour: the replica that a partition has on this node is the only one that it can have, so that assigning just this one is done
at once; any other broker is INVALID_REPLICA_ASSIGNMENT. Calling off what is not going on is NO_REASSIGNMENT_IN_PROGRESS.
Versions: 0-1. Whether the replication factor may change is part of version 1.
Not implemented: replicas on other brokers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker.context import RequestContext
from headrace.replica import controller
from headrace.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
)

if TYPE_CHECKING:
    from headrace.broker.server import Broker

REQUEST = AlterPartitionReassignmentsRequest


async def handle(
    broker: Broker, request: AlterPartitionReassignmentsRequest, context: RequestContext
) -> AlterPartitionReassignmentsResponse:
    return await broker.metadata.change(
        lambda image: controller.on_alter_partition_reassignments(image, request, broker.node_id)
    )
