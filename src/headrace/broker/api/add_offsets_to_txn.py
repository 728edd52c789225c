"""AddOffsetsToTxn (key 25): a transaction is about to commit offsets of a group.

Behaviour: the group's partition of `__consumer_offsets` becomes part of the transaction, so that its marker goes there too.
Versions: 0-4; 2 knows PRODUCER_FENCED. Clients of transaction version 2 do not send it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker.context import RequestContext
from headrace.coordinator.transactions.checks import Producer
from headrace.replica.topic_names import CONSUMER_OFFSETS
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse

if TYPE_CHECKING:
    from headrace.broker.server import Broker

REQUEST = AddOffsetsToTxnRequest

KNOWS_FENCED_FROM = 2


async def handle(broker: Broker, request: AddOffsetsToTxnRequest, context: RequestContext) -> AddOffsetsToTxnResponse:
    # A client may get here before it has asked for the group's coordinator, which creates the topic.
    await broker.groups.create_topic()
    if not broker.groups.has_topic:
        return AddOffsetsToTxnResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE)
    answer = broker.transactions.add(
        request.transactional_id,
        Producer(request.producer_id, request.producer_epoch),
        [(CONSUMER_OFFSETS, broker.groups.partition_of(request.group_id))],
        client_version=0,
    )
    error = answer if isinstance(answer, ErrorCode) else await answer
    if error is ErrorCode.PRODUCER_FENCED and context.api_version < KNOWS_FENCED_FROM:
        error = ErrorCode.INVALID_PRODUCER_EPOCH
    return AddOffsetsToTxnResponse(error_code=error)
