"""EndTxn (key 26): commit or abort a transaction.

Behaviour: answered once the decision is in the coordinator's log; the markers follow. With version 5 every transaction
ends with a new epoch, which the answer brings, and a request may be repeated with the old one; an abort needs no open
transaction. Below it the epoch stays.
Versions: 0-5; 2 knows PRODUCER_FENCED, 5 is transaction version 2 (KIP-890).
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING

from headrace.broker.context import RequestContext
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.end_txn import EndTxnRequest, EndTxnResponse

if TYPE_CHECKING:
    from headrace.broker.server import Broker

REQUEST = EndTxnRequest

KNOWS_FENCED_FROM = 2
EPOCH_PER_TRANSACTION_FROM = 5


def handle(
    broker: Broker, request: EndTxnRequest, context: RequestContext
) -> EndTxnResponse | Awaitable[EndTxnResponse]:
    shard = broker.transactions.shard(request.transactional_id)
    if isinstance(shard, ErrorCode):
        return EndTxnResponse(error_code=shard)
    client_version = 2 if context.api_version >= EPOCH_PER_TRANSACTION_FROM else 0
    answer: EndTxnResponse | Awaitable[EndTxnResponse] = shard.submit(
        lambda token, now_ms: shard.transactions.on_end_txn(request, client_version, token, now_ms)
    )
    if isinstance(answer, EndTxnResponse):
        return _for_version(answer, context.api_version)
    return _later(answer, context.api_version)


async def _later(answer: Awaitable[EndTxnResponse], version: int) -> EndTxnResponse:
    return _for_version(await answer, version)


def _for_version(response: EndTxnResponse, version: int) -> EndTxnResponse:
    if response.error_code == ErrorCode.PRODUCER_FENCED and version < KNOWS_FENCED_FROM:
        response.error_code = ErrorCode.INVALID_PRODUCER_EPOCH
    return response
