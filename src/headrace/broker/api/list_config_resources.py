"""ListConfigResources (key 74): the names of resources that can have configs.

Behaviour: version 0 lists client-metrics subscriptions only; version 1 takes resource types, and an empty list means all of them.
Groups and subscriptions are listed when they have configs, topics and brokers always.
Versions: 0-1.
Not implemented: nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from headrace.broker.context import RequestContext
from headrace.replica.image import (
    BROKER_LOGGER_RESOURCE,
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
    TOPIC_RESOURCE,
)
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.list_config_resources import (
    ConfigResource,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)

if TYPE_CHECKING:
    from headrace.broker.server import Broker

REQUEST = ListConfigResourcesRequest
ALL_TYPES = (GROUP_RESOURCE, CLIENT_METRICS_RESOURCE, BROKER_LOGGER_RESOURCE, BROKER_RESOURCE, TOPIC_RESOURCE)


def handle(broker: Broker, request: ListConfigResourcesRequest, context: RequestContext) -> ListConfigResourcesResponse:
    supported = (CLIENT_METRICS_RESOURCE,) if context.api_version == 0 else ALL_TYPES
    wanted = request.resource_types or supported
    if any(kind not in supported for kind in wanted):
        return ListConfigResourcesResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    return ListConfigResourcesResponse(
        config_resources=[
            ConfigResource(resource_name=name, resource_type=kind)
            for kind in ALL_TYPES
            if kind in wanted
            for name in _names(broker, kind)
        ]
    )


def _names(broker: Broker, kind: int) -> Iterator[str]:
    if kind == TOPIC_RESOURCE:
        yield from broker.image.topics
    elif kind in (BROKER_RESOURCE, BROKER_LOGGER_RESOURCE):
        yield from map(str, broker.image.brokers)
    else:
        yield from (name for resource_type, name in broker.image.configs if resource_type == kind)
