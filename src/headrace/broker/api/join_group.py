"""JoinGroup (key 11): become a member of a classic group, or join its next generation.

Behaviour: the answer comes when the group has all its members together, or when the slowest member's rebalance timeout
is over. A client that disconnects while it waits stays a member until its session times out, as in Kafka.
Versions: 0-9; 4 asks new members to come back with the id they got, 5 has static members, 9 lets a returning static leader
skip the assignment.
Not implemented: joining groups of the newer protocol.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING

from headrace.broker.context import RequestContext
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse

if TYPE_CHECKING:
    from headrace.broker.server import Broker

REQUEST = JoinGroupRequest

NULL_PROTOCOL_FROM = 7


def handle(
    broker: Broker, request: JoinGroupRequest, context: RequestContext
) -> JoinGroupResponse | Awaitable[JoinGroupResponse]:
    shard = broker.groups.shard(request.group_id)
    if isinstance(shard, ErrorCode):
        return _in_version(JoinGroupResponse(member_id=request.member_id, error_code=shard), context.api_version)
    answer = shard.submit(shard.groups.on_join_group, request, context)
    if isinstance(answer, JoinGroupResponse):
        return _in_version(answer, context.api_version)
    return _later(answer, context.api_version)


async def _later(answer: Awaitable[JoinGroupResponse], api_version: int) -> JoinGroupResponse:
    return _in_version(await answer, api_version)


def _in_version(response: JoinGroupResponse, api_version: int) -> JoinGroupResponse:
    """No protocol is null since version 7 and an empty text before."""
    response.protocol_name = response.protocol_name or (None if api_version >= NULL_PROTOCOL_FROM else "")
    return response
