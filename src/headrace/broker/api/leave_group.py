"""LeaveGroup (key 13): members leave a classic group at once instead of by their session timeout.

Behaviour: each member has its own error. Static members may be removed by group.instance.id alone.
Versions: 0-5; 3 takes several members, before that the one error is the answer's.
Not implemented: groups of the newer protocol.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING

from headrace.broker.context import RequestContext
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse

if TYPE_CHECKING:
    from headrace.broker.server import Broker

REQUEST = LeaveGroupRequest


def handle(
    broker: Broker, request: LeaveGroupRequest, context: RequestContext
) -> LeaveGroupResponse | Awaitable[LeaveGroupResponse]:
    shard = broker.groups.shard(request.group_id)
    if isinstance(shard, ErrorCode):
        return LeaveGroupResponse(error_code=shard)
    return shard.submit(shard.groups.on_leave_group, request, context)
