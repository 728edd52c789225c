"""InitProducerId (key 22): a producer id for idempotent writing.

Behaviour: ids come in blocks of 1000 that are written to the metadata log before the first is handed out, so no id is ever
given twice, whatever crashes. A producer that already has an id (version 3 and up) keeps it with the next epoch, or gets a
new one when its epochs are used up.
Versions: 0-5 (6 is declared and not advertised: it is unfinished in Kafka too).
Not implemented: transactional ids.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker.context import RequestContext
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

if TYPE_CHECKING:
    from headrace.broker.server import Broker

REQUEST = InitProducerIdRequest


async def handle(broker: Broker, request: InitProducerIdRequest, context: RequestContext) -> InitProducerIdResponse:
    if request.transactional_id is not None:
        code = ErrorCode.INVALID_REQUEST if request.transactional_id == "" else ErrorCode.UNSUPPORTED_VERSION
        return InitProducerIdResponse(error_code=code, producer_id=-1, producer_epoch=-1)
    if (request.producer_id == -1) != (request.producer_epoch == -1):
        return InitProducerIdResponse(error_code=ErrorCode.INVALID_REQUEST, producer_id=-1, producer_epoch=-1)
    # Kafka hands an idempotent producer a new id each time, also when it names one it had before.
    producer_id = await broker.producer_ids.next()
    return InitProducerIdResponse(producer_id=producer_id, producer_epoch=0)
