"""LeaveGroup: one member or, from version 3, several leave a classic group."""

from headrace.wire.schema import Message, Struct, array, int16, int32, string


class MemberIdentity(Struct):
    member_id: str = string()
    group_instance_id: str | None = string(None, nullable="3+")
    reason: str | None = string(None, versions="5+", nullable="5+")


class LeaveGroupRequest(Message, key=13, kind="request", versions="0-5", flexible="4+"):
    group_id: str = string()
    member_id: str = string(versions="0-2")
    members: list[MemberIdentity] = array(MemberIdentity, versions="3+")


class MemberResponse(Struct):
    member_id: str = string()
    group_instance_id: str | None = string(nullable="3+")
    error_code: int = int16()


class LeaveGroupResponse(Message, key=13, kind="response", versions="0-5", flexible="4+"):
    throttle_time_ms: int = int32(versions="1+")
    error_code: int = int16()
    members: list[MemberResponse] = array(MemberResponse, versions="3+")
