"""DescribeGroups: state and members of classic groups."""

from headrace.wire.schema import Message, Struct, array, boolean, bytes_, int16, int32, string


class DescribeGroupsRequest(Message, key=15, kind="request", versions="0-6", flexible="5+"):
    groups: list[str] = array(string())
    include_authorized_operations: bool = boolean(versions="3+")


class DescribedGroupMember(Struct):
    member_id: str = string()
    group_instance_id: str | None = string(None, versions="4+", nullable="4+")
    client_id: str = string()
    client_host: str = string()
    member_metadata: bytes = bytes_()
    member_assignment: bytes = bytes_()


class DescribedGroup(Struct):
    error_code: int = int16()
    error_message: str | None = string(None, versions="6+", nullable="6+")
    group_id: str = string()
    group_state: str = string()
    protocol_type: str = string()
    protocol_data: str = string()
    members: list[DescribedGroupMember] = array(DescribedGroupMember)
    authorized_operations: int = int32(-0x80000000, versions="3+")


class DescribeGroupsResponse(Message, key=15, kind="response", versions="0-6", flexible="5+"):
    throttle_time_ms: int = int32(versions="1+")
    groups: list[DescribedGroup] = array(DescribedGroup)
