"""SyncGroup: the leader of a classic group hands in the assignment, every member gets its share."""

from headrace.wire.schema import Message, Struct, array, bytes_, int16, int32, string


class SyncGroupRequestAssignment(Struct):
    member_id: str = string()
    assignment: bytes = bytes_()


class SyncGroupRequest(Message, key=14, kind="request", versions="0-5", flexible="4+"):
    group_id: str = string()
    generation_id: int = int32()
    member_id: str = string()
    group_instance_id: str | None = string(None, versions="3+", nullable="3+")
    protocol_type: str | None = string(None, versions="5+", nullable="5+")
    protocol_name: str | None = string(None, versions="5+", nullable="5+")
    assignments: list[SyncGroupRequestAssignment] = array(SyncGroupRequestAssignment)


class SyncGroupResponse(Message, key=14, kind="response", versions="0-5", flexible="4+"):
    throttle_time_ms: int = int32(versions="1+")
    error_code: int = int16()
    protocol_type: str | None = string(None, versions="5+", nullable="5+")
    protocol_name: str | None = string(None, versions="5+", nullable="5+")
    assignment: bytes = bytes_()
