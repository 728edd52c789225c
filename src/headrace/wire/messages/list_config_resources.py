"""ListConfigResources: the resources that have configs of their own (KIP-1142)."""

from headrace.wire.schema import Message, Struct, array, int8, int16, int32, string


class ListConfigResourcesRequest(Message, key=74, kind="request", versions="0-1", flexible="0+"):
    resource_types: list[int] = array(int8(), versions="1+")


class ConfigResource(Struct):
    resource_name: str = string()
    resource_type: int = int8(16, versions="1+")


class ListConfigResourcesResponse(Message, key=74, kind="response", versions="0-1", flexible="0+"):
    throttle_time_ms: int = int32()
    error_code: int = int16()
    config_resources: list[ConfigResource] = array(ConfigResource)
