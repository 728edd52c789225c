"""DeleteTopics (key 20): delete topics by name or, from version 6 on, by id.

Behaviour: each topic is deleted or refused by itself; the answer comes once the deletion is on disk.
Versions: 1-6.
Not implemented: nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker.context import RequestContext
from headrace.replica import controller
from headrace.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse

if TYPE_CHECKING:
    from headrace.broker.server import Broker

REQUEST = DeleteTopicsRequest


async def handle(broker: Broker, request: DeleteTopicsRequest, context: RequestContext) -> DeleteTopicsResponse:
    version = context.api_version
    return await broker.metadata.change(
        lambda image: controller.on_delete_topics(image, request, broker.settings, api_version=version)
    )
