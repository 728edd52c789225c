"""IncrementalAlterConfigs (key 44): set, delete, append to and subtract from single configs.

Behaviour: topics, brokers (one, or all with an empty name), groups and client-metrics subscriptions keep theirs in the metadata log;
they are in force when the answer comes. Loggers of this broker change at once and until it stops.
Versions: 0-1.
Not implemented: nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker.context import RequestContext
from headrace.broker.loggers import alter_loggers
from headrace.replica import controller
from headrace.replica.image import BROKER_LOGGER_RESOURCE
from headrace.wire.messages.incremental_alter_configs import (
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

if TYPE_CHECKING:
    from headrace.broker.server import Broker

REQUEST = IncrementalAlterConfigsRequest


async def handle(
    broker: Broker, request: IncrementalAlterConfigsRequest, context: RequestContext
) -> IncrementalAlterConfigsResponse:
    loggers = [one for one in request.resources if one.resource_type == BROKER_LOGGER_RESOURCE]
    if not loggers:
        return await _alter(broker, request)
    stored = [one for one in request.resources if one.resource_type != BROKER_LOGGER_RESOURCE]
    response = await _alter(
        broker, IncrementalAlterConfigsRequest(resources=stored, validate_only=request.validate_only)
    )
    response.responses += [_alter_loggers(broker, one, request.validate_only) for one in loggers]
    return response


async def _alter(broker: Broker, request: IncrementalAlterConfigsRequest) -> IncrementalAlterConfigsResponse:
    return await broker.metadata.change(
        lambda image: controller.on_incremental_alter_configs(image, request, broker.settings, broker.node_id)
    )


def _alter_loggers(broker: Broker, resource: AlterConfigsResource, validate_only: bool) -> AlterConfigsResourceResponse:
    result = AlterConfigsResourceResponse(
        resource_type=resource.resource_type, resource_name=resource.resource_name, error_message=None
    )
    try:
        alter_loggers(resource, broker.node_id, validate_only)
    except controller.Refused as refused:
        result.error_code, result.error_message = refused.code, refused.message
    return result
