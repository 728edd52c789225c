"""Heartbeat (key 12): a member of a classic group is alive, and learns whether the group rebalances.

Behaviour: answered at once, without a write. While the groups are being loaded every heartbeat is fine.
Versions: 0-4; 3 has static members.
Not implemented: groups of the newer protocol.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker.context import RequestContext
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse

if TYPE_CHECKING:
    from headrace.broker.server import Broker

REQUEST = HeartbeatRequest


def handle(broker: Broker, request: HeartbeatRequest, context: RequestContext) -> HeartbeatResponse:
    shard = broker.groups.shard(request.group_id)
    if isinstance(shard, ErrorCode):
        loading = shard is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        return HeartbeatResponse(error_code=ErrorCode.NONE if loading else shard)
    return shard.heartbeat(request)
