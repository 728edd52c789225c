"""FindCoordinator (key 10): which broker coordinates a group or a transactional id.

Behaviour: one node coordinates everything, so the answer is this broker's address on the client's listener. The first
question about a group creates `__consumer_offsets`, the first about a transactional id `__transaction_state`, and waits for it
(Kafka answers COORDINATOR_NOT_AVAILABLE and lets the client ask again). A key whose partition is offline gets COORDINATOR_NOT_AVAILABLE.
Versions: 0-6; 4 asks for several keys at once.
Not implemented: share coordinators (key type 2), which get INVALID_REQUEST.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING

from headrace.broker.context import RequestContext
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse

if TYPE_CHECKING:
    from headrace.broker.server import Broker

REQUEST = FindCoordinatorRequest

GROUP = 0
TRANSACTION = 1
BATCHED_KEYS_FROM = 4


def handle(
    broker: Broker, request: FindCoordinatorRequest, context: RequestContext
) -> FindCoordinatorResponse | Awaitable[FindCoordinatorResponse]:
    asked = request.coordinator_keys if context.api_version >= BATCHED_KEYS_FROM else [request.key]
    if request.key_type == GROUP and asked and not broker.groups.has_topic:
        return _create_and_answer(broker, request, context)
    if request.key_type == TRANSACTION and asked and not broker.transactions.has_topic:
        return _create_and_answer(broker, request, context)
    return _answer(broker, request, context)


async def _create_and_answer(
    broker: Broker, request: FindCoordinatorRequest, context: RequestContext
) -> FindCoordinatorResponse:
    if request.key_type == GROUP:
        await broker.groups.create_topic()
    else:
        await broker.transactions.create_topic()
    return _answer(broker, request, context)


def _answer(broker: Broker, request: FindCoordinatorRequest, context: RequestContext) -> FindCoordinatorResponse:
    if context.api_version >= BATCHED_KEYS_FROM:
        keys = request.coordinator_keys
        return FindCoordinatorResponse(
            coordinators=[_coordinator(broker, request.key_type, key, context) for key in keys]
        )
    found = _coordinator(broker, request.key_type, request.key, context)
    return FindCoordinatorResponse(
        error_code=found.error_code,
        error_message=found.error_message if found.error_code else ErrorCode.NONE.name,
        node_id=found.node_id,
        host=found.host,
        port=found.port,
    )


def _coordinator(broker: Broker, key_type: int, key: str, context: RequestContext) -> Coordinator:
    if key_type not in (GROUP, TRANSACTION):
        return _nobody(key, ErrorCode.INVALID_REQUEST)
    if key_type == GROUP and not broker.groups.is_available(key):
        return _nobody(key, ErrorCode.COORDINATOR_NOT_AVAILABLE)
    if key_type == TRANSACTION and not broker.transactions.is_available(key):
        return _nobody(key, ErrorCode.COORDINATOR_NOT_AVAILABLE)
    host, port = broker.advertised(context.listener_name)
    return Coordinator(key=key, node_id=broker.node_id, host=host, port=port)


def _nobody(key: str, error: ErrorCode) -> Coordinator:
    return Coordinator(key=key, node_id=-1, host="", port=-1, error_code=error, error_message=error.message)
