"""DescribeGroups (key 15): state, protocol and members of groups.

Behaviour: a group that does not exist is Dead. Members' metadata is shown while the group is Stable.
Versions: 0-6; 3 can ask for authorized operations, 6 answers GROUP_ID_NOT_FOUND for a group that does not exist.
Not implemented: ACLs, so every operation on a group is authorized.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker.context import RequestContext
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.describe_groups import DescribedGroup, DescribeGroupsRequest, DescribeGroupsResponse

if TYPE_CHECKING:
    from headrace.broker.server import Broker

REQUEST = DescribeGroupsRequest

AUTHORIZED_OPERATIONS_FROM = 3
GROUP_OPERATIONS = 1 << 3 | 1 << 6 | 1 << 8 | 1 << 10 | 1 << 11
"""READ, DELETE, DESCRIBE, DESCRIBE_CONFIGS and ALTER_CONFIGS, as bits by their codes in Kafka's AclOperation."""


def handle(broker: Broker, request: DescribeGroupsRequest, context: RequestContext) -> DescribeGroupsResponse:
    with_operations = context.api_version >= AUTHORIZED_OPERATIONS_FROM and request.include_authorized_operations
    groups = [_describe(broker, group_id, context.api_version) for group_id in request.groups]
    if with_operations:
        for group in groups:
            if not group.error_code:
                group.authorized_operations = GROUP_OPERATIONS
    return DescribeGroupsResponse(groups=groups)


def _describe(broker: Broker, group_id: str, api_version: int) -> DescribedGroup:
    shard = broker.groups.shard(group_id)
    if isinstance(shard, ErrorCode):
        return DescribedGroup(group_id=group_id, error_code=shard)
    return shard.groups.describe_group(group_id, api_version)
