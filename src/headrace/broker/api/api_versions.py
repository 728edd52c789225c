"""ApiVersions (key 18): which APIs and versions this broker serves.

Behaviour: derived from the list of handlers, so it cannot promise what is not there. A version that is too new is answered
in version 0 with UNSUPPORTED_VERSION and our range for this API alone (KIP-511), so that any client can step down.
Versions: 0-4. The response header has no tag buffer at any version.
Not implemented: nothing.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from headrace.broker.context import RequestContext
from headrace.replica import features
from headrace.wire.apis import APIS
from headrace.wire.errors import ErrorCode
from headrace.wire.frame import encode_response_parts
from headrace.wire.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)

if TYPE_CHECKING:
    from headrace.broker.server import Broker

REQUEST = ApiVersionsRequest
API_KEY = 18
SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


def handle(broker: Broker, request: ApiVersionsRequest, context: RequestContext) -> ApiVersionsResponse:
    if context.api_version >= 3 and not (
        SOFTWARE.fullmatch(request.client_software_name) and SOFTWARE.fullmatch(request.client_software_version)
    ):
        return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
    return ApiVersionsResponse(
        api_keys=_api_keys(broker),
        supported_features=[
            SupportedFeatureKey(name=name, min_version=low, max_version=high)
            for name, (low, high) in sorted(features.IMPLEMENTED.items())
            if low > 0 or context.api_version >= 4  # older clients take a lower bound of 0 for an error
        ],
        finalized_features_epoch=broker.image.offset,
        finalized_features=[
            FinalizedFeatureKey(name=name, min_version_level=level, max_version_level=level)
            for name, level in sorted(features.advertised(broker.image.features).items())
        ],
    )


def unsupported_version(broker: Broker, correlation_id: int) -> list[Any]:
    """The answer to a version that we do not know, in the one shape that every client knows."""
    response = ApiVersionsResponse(
        error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=[key for key in _api_keys(broker) if key.api_key == API_KEY]
    )
    return encode_response_parts(response, correlation_id, 0)


def _api_keys(broker: Broker) -> list[ApiVersion]:
    keys = []
    for key in sorted(broker.dispatcher.entries):
        low, high = APIS[key].advertised
        keys.append(ApiVersion(api_key=key, min_version=low, max_version=high))
    return keys
