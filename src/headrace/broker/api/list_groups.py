"""ListGroups (key 16): every group this broker coordinates.

Behaviour: filters by state and by type are compared without case; an unknown one matches nothing. While groups are being
loaded the answer is COORDINATOR_LOAD_IN_PROGRESS, as a list with gaps would mislead.
Versions: 0-5; 4 filters by state, 5 by type.
Not implemented: types other than classic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker.context import RequestContext
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.list_groups import ListGroupsRequest, ListGroupsResponse

if TYPE_CHECKING:
    from headrace.broker.server import Broker

REQUEST = ListGroupsRequest


def handle(broker: Broker, request: ListGroupsRequest, context: RequestContext) -> ListGroupsResponse:
    if broker.groups.is_loading:
        return ListGroupsResponse(error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    groups = [
        group
        for shard in broker.groups.loaded_shards
        for group in shard.groups.list_groups(request.states_filter, request.types_filter)
    ]
    return ListGroupsResponse(groups=groups)
