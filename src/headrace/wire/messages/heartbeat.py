"""Heartbeat: a member of a classic group is alive."""

from headrace.wire.schema import Message, int16, int32, string


class HeartbeatRequest(Message, key=12, kind="request", versions="0-4", flexible="4+"):
    group_id: str = string()
    generation_id: int = int32()
    member_id: str = string()
    group_instance_id: str | None = string(None, versions="3+", nullable="3+")


class HeartbeatResponse(Message, key=12, kind="response", versions="0-4", flexible="4+"):
    throttle_time_ms: int = int32(versions="1+")
    error_code: int = int16()
