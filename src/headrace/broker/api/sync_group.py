"""SyncGroup (key 14): bring the assignment of a generation (its leader), or wait for one's own part of it (everybody).

Behaviour: answers leave when the leader's assignment is in the log. Members that never ask are removed after the rebalance
timeout.
Versions: 0-5; 3 has static members, 5 checks protocol type and name.
Not implemented: groups of the newer protocol.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING

from headrace.broker.context import RequestContext
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse

if TYPE_CHECKING:
    from headrace.broker.server import Broker

REQUEST = SyncGroupRequest


def handle(
    broker: Broker, request: SyncGroupRequest, context: RequestContext
) -> SyncGroupResponse | Awaitable[SyncGroupResponse]:
    shard = broker.groups.shard(request.group_id)
    if isinstance(shard, ErrorCode):
        return SyncGroupResponse(error_code=shard)
    return shard.submit(shard.groups.on_sync_group, request, context)
