"""DeleteGroups: delete groups without members, with their offsets."""

from headrace.wire.schema import Message, Struct, array, int16, int32, string


class DeleteGroupsRequest(Message, key=42, kind="request", versions="0-2", flexible="2+"):
    groups_names: list[str] = array(string())


class DeletableGroupResult(Struct):
    group_id: str = string()
    error_code: int = int16()


class DeleteGroupsResponse(Message, key=42, kind="response", versions="0-2", flexible="2+"):
    throttle_time_ms: int = int32()
    results: list[DeletableGroupResult] = array(DeletableGroupResult)
