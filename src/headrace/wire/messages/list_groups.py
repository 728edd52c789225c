"""ListGroups: the groups that a broker coordinates."""

from headrace.wire.schema import Message, Struct, array, int16, int32, string


class ListGroupsRequest(Message, key=16, kind="request", versions="0-5", flexible="3+"):
    states_filter: list[str] = array(string(), versions="4+")
    types_filter: list[str] = array(string(), versions="5+")


class ListedGroup(Struct):
    group_id: str = string()
    protocol_type: str = string()
    group_state: str = string(versions="4+")
    group_type: str = string(versions="5+")


class ListGroupsResponse(Message, key=16, kind="response", versions="0-5", flexible="3+"):
    throttle_time_ms: int = int32(versions="1+")
    error_code: int = int16()
    groups: list[ListedGroup] = array(ListedGroup)
