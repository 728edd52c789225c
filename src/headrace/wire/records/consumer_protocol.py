"""What consumers hand each other through a classic group: subscriptions and assignments, which no broker has to read.

    int16 version | message

Newer versions only add fields at the end, so a reader takes what it knows and leaves the rest.
"""

from struct import Struct as Layout
from typing import TypeVar

from headrace.wire.errors import WireError
from headrace.wire.schema import Buffer, Message, Struct, array, bytes_, int32, string


class TopicPartition(Struct):
    topic: str = string()
    partitions: list[int] = array(int32())


class ConsumerProtocolSubscription(Message, kind="protocol", versions="0-3", flexible="none"):
    topics: list[str] = array(string())
    user_data: bytes | None = bytes_(None, nullable="0+")
    owned_partitions: list[TopicPartition] = array(TopicPartition, versions="1+")
    generation_id: int = int32(-1, versions="2+")
    rack_id: str | None = string(None, versions="3+", nullable="3+")


class ConsumerProtocolAssignment(Message, kind="protocol", versions="0-3", flexible="none"):
    assigned_partitions: list[TopicPartition] = array(TopicPartition)
    user_data: bytes | None = bytes_(None, nullable="0+")


_VERSION = Layout(">h")
Body = TypeVar("Body", ConsumerProtocolSubscription, ConsumerProtocolAssignment)


def encode_protocol(body: ConsumerProtocolSubscription | ConsumerProtocolAssignment, version: int) -> bytes:
    return _VERSION.pack(version) + body.encode(version)


def decode_protocol(cls: type[Body], data: Buffer) -> Body:
    if len(data) < _VERSION.size:
        raise WireError(f"{cls.__name__} is shorter than its version")
    version = min(_VERSION.unpack_from(data)[0], cls.MAX_VERSION)
    return cls.decode_from(data, version, _VERSION.size)[0]
