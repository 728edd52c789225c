"""AlterConfigs (key 33): replace all configs of a resource; older clients still use it.

Behaviour: what the request does not name goes back to its default. See IncrementalAlterConfigs for the rest.
Versions: 0-2.
Not implemented: broker loggers, which Kafka refuses here too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker.context import RequestContext
from headrace.replica import controller
from headrace.wire.messages.alter_configs import AlterConfigsRequest, AlterConfigsResponse

if TYPE_CHECKING:
    from headrace.broker.server import Broker

REQUEST = AlterConfigsRequest


async def handle(broker: Broker, request: AlterConfigsRequest, context: RequestContext) -> AlterConfigsResponse:
    return await broker.metadata.change(
        lambda image: controller.on_alter_configs(image, request, broker.settings, broker.node_id)
    )
