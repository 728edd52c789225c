"""CreateTopics (key 19): create topics with partitions, replicas and configs.

Behaviour: each topic is created or refused by itself. The answer comes once the records are on disk and the logs exist, so a client may
produce at once. Effective configs are in the answer from version 5 on, topic ids from 7 on.
Versions: 2-7.
Not implemented: policies as plug-ins; the limits headrace.max.topics and headrace.max.partitions answer POLICY_VIOLATION.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker.context import RequestContext
from headrace.replica import controller
from headrace.wire.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse

if TYPE_CHECKING:
    from headrace.broker.server import Broker

REQUEST = CreateTopicsRequest


async def handle(broker: Broker, request: CreateTopicsRequest, context: RequestContext) -> CreateTopicsResponse:
    return await broker.metadata.change(lambda image: controller.on_create_topics(image, request, broker.settings))
