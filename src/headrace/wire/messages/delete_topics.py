"""DeleteTopics: delete topics by name or, from version 6, by id."""

from headrace.wire.schema import Message, Struct, array, int16, int32, string, uuid


class DeleteTopicState(Struct):
    name: str | None = string(None, nullable="6+")
    topic_id: bytes = uuid()


class DeleteTopicsRequest(Message, key=20, kind="request", versions="1-6", flexible="4+"):
    topics: list[DeleteTopicState] = array(DeleteTopicState, versions="6+")
    topic_names: list[str] = array(string(), versions="0-5")
    timeout_ms: int = int32()


class DeletableTopicResult(Struct):
    name: str | None = string(nullable="6+")
    topic_id: bytes = uuid(versions="6+")
    error_code: int = int16()
    error_message: str | None = string(None, versions="5+", nullable="5+")


class DeleteTopicsResponse(Message, key=20, kind="response", versions="1-6", flexible="4+"):
    throttle_time_ms: int = int32()
    responses: list[DeletableTopicResult] = array(DeletableTopicResult)
