"""DeleteGroups (key 42): remove empty groups with all their offsets.

Behaviour: a group with members gets NON_EMPTY_GROUP, one that does not exist GROUP_ID_NOT_FOUND. Tombstones for the group
and its offsets are in the log when the answer leaves.
Versions: 0-2.
Not implemented: types other than classic.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TYPE_CHECKING

from headrace.broker.context import RequestContext
from headrace.broker.group_shard import GroupShard
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.delete_groups import DeletableGroupResult, DeleteGroupsRequest, DeleteGroupsResponse

if TYPE_CHECKING:
    from headrace.broker.server import Broker

REQUEST = DeleteGroupsRequest

Results = list[DeletableGroupResult]


def handle(
    broker: Broker, request: DeleteGroupsRequest, context: RequestContext
) -> DeleteGroupsResponse | Awaitable[DeleteGroupsResponse]:
    answers: list[Results | asyncio.Future[Results]] = []
    by_shard: dict[GroupShard, list[str]] = {}
    for group_id in dict.fromkeys(request.groups_names):
        shard = broker.groups.shard(group_id)
        if isinstance(shard, ErrorCode):
            answers.append([DeletableGroupResult(group_id=group_id, error_code=shard)])
        else:
            by_shard.setdefault(shard, []).append(group_id)
    answers += [shard.submit(shard.groups.on_delete_groups, ids, context) for shard, ids in by_shard.items()]
    if any(isinstance(answer, asyncio.Future) for answer in answers):
        return _when_written(answers)
    return DeleteGroupsResponse(results=[result for answer in answers for result in answer])


async def _when_written(answers: list[Results | asyncio.Future[Results]]) -> DeleteGroupsResponse:
    results: Results = []
    for answer in answers:
        results += await answer if isinstance(answer, asyncio.Future) else answer
    return DeleteGroupsResponse(results=results)
