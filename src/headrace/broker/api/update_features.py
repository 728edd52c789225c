"""UpdateFeatures (key 57): raise or lower the cluster's feature levels.

Behaviour: all updates of a request are made or none is; the answer names the first that cannot be made with INVALID_UPDATE_VERSION.
Raising needs the upgrade type 1, lowering 2 or 3. metadata.version goes down only where no metadata would be lost.
Versions: 0-2. Version 1 brings the upgrade type and a dry run; 0 can only raise. From 2 on there are no results by feature.
Not implemented: kraft.version of a directory that Apache Kafka made with a static quorum stays 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker.context import RequestContext
from headrace.replica import controller
from headrace.wire.messages.update_features import UpdateFeaturesRequest, UpdateFeaturesResponse

if TYPE_CHECKING:
    from headrace.broker.server import Broker

REQUEST = UpdateFeaturesRequest


async def handle(broker: Broker, request: UpdateFeaturesRequest, context: RequestContext) -> UpdateFeaturesResponse:
    return await broker.metadata.change(lambda image: controller.on_update_features(image, request, broker.settings))
