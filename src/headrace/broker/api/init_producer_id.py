"""InitProducerId (key 22): a producer id and epoch for idempotent or transactional writing.

Behaviour: ids come in blocks of 1000 that are written to the metadata log before the first is handed out, so no id is ever
given twice, whatever crashes. A transactional id keeps its producer id and gets the next epoch each time, which fences the
producer before; a transaction that one left open is aborted first, and the client asks again (CONCURRENT_TRANSACTIONS).
From version 3 on a producer may name the id and epoch it had, and is refused when another one has taken over.
Versions: 0-5 (6 is declared and not advertised: it is unfinished in Kafka too); 4 knows PRODUCER_FENCED.
Not implemented: two-phase commit (version 6).
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING

from headrace.broker.context import RequestContext
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

if TYPE_CHECKING:
    from headrace.broker.server import Broker

REQUEST = InitProducerIdRequest

KNOWS_FENCED_FROM = 4


async def handle(broker: Broker, request: InitProducerIdRequest, context: RequestContext) -> InitProducerIdResponse:
    if (request.producer_id == -1) != (request.producer_epoch == -1):
        return _refuse(ErrorCode.INVALID_REQUEST)
    if request.transactional_id is None:
        # Kafka hands an idempotent producer a new id each time, also when it names one it had before.
        return InitProducerIdResponse(producer_id=await broker.producer_ids.next(), producer_epoch=0)
    await broker.producer_ids.ensure()
    shard = broker.transactions.shard(request.transactional_id)
    if isinstance(shard, ErrorCode):
        return _refuse(shard)
    answer: InitProducerIdResponse | Awaitable[InitProducerIdResponse] = shard.submit(
        lambda token, now_ms: shard.transactions.on_init_producer_id(request, token, now_ms)
    )
    response = answer if isinstance(answer, InitProducerIdResponse) else await answer
    if response.error_code == ErrorCode.PRODUCER_FENCED and context.api_version < KNOWS_FENCED_FROM:
        response.error_code = ErrorCode.INVALID_PRODUCER_EPOCH
    return response


def _refuse(error: ErrorCode) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=error, producer_id=-1, producer_epoch=-1)
