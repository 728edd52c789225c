"""JoinGroup: enter a classic group, or enter it again when it rebalances."""

from headrace.wire.schema import Message, Struct, array, boolean, bytes_, int16, int32, string


class JoinGroupRequestProtocol(Struct):
    name: str = string()
    metadata: bytes = bytes_()


class JoinGroupRequest(Message, key=11, kind="request", versions="0-9", flexible="6+"):
    group_id: str = string()
    session_timeout_ms: int = int32()
    rebalance_timeout_ms: int = int32(-1, versions="1+")
    member_id: str = string()
    group_instance_id: str | None = string(None, versions="5+", nullable="5+")
    protocol_type: str = string()
    protocols: list[JoinGroupRequestProtocol] = array(JoinGroupRequestProtocol)
    reason: str | None = string(None, versions="8+", nullable="8+")


class JoinGroupResponseMember(Struct):
    member_id: str = string()
    group_instance_id: str | None = string(None, versions="5+", nullable="5+")
    metadata: bytes = bytes_()


class JoinGroupResponse(Message, key=11, kind="response", versions="0-9", flexible="6+"):
    throttle_time_ms: int = int32(versions="2+")
    error_code: int = int16()
    generation_id: int = int32(-1)
    protocol_type: str | None = string(None, versions="7+", nullable="7+")
    protocol_name: str | None = string(nullable="7+")
    leader: str = string()
    skip_assignment: bool = boolean(versions="9+")
    member_id: str = string()
    members: list[JoinGroupResponseMember] = array(JoinGroupResponseMember)
