"""CreatePartitions (key 37): give topics more partitions.

Behaviour: `count` is what the topic shall have in the end; fewer or as many as it has is INVALID_PARTITIONS.
Versions: 0-3.
Not implemented: nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker.context import RequestContext
from headrace.replica import controller
from headrace.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsResponse

if TYPE_CHECKING:
    from headrace.broker.server import Broker

REQUEST = CreatePartitionsRequest


async def handle(broker: Broker, request: CreatePartitionsRequest, context: RequestContext) -> CreatePartitionsResponse:
    return await broker.metadata.change(lambda image: controller.on_create_partitions(image, request, broker.settings))
