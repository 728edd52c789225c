"""Requests in a few words, for scripts that make hundreds of them."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Sequence
from typing import Any

from headrace.wire.batch import Record, encode_batch, read_header, write_crc
from headrace.wire.batch_header import HEADER
from headrace.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic
from headrace.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from headrace.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from headrace.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from headrace.wire.schema import ZERO_UUID, Message

TIME = 1_600_000_000_000
"""Of records, where the time does not matter: long ago, so that it cannot be taken for now."""
UNKNOWN_ID = bytes(range(100, 116))


def versions(request: type[Message]) -> range:
    """All versions that brokers say they speak."""
    return range(request.MIN_VERSION, request.ADVERTISED[1] + 1)


def batch(
    *values: bytes | None, key: bytes | None = b"k", time: int = TIME, step: int = 1, **options: Any
) -> bytearray:
    """Values as records, `step` ms apart."""
    records = [Record(timestamp=time + n * step, key=key, value=value) for n, value in enumerate(values or (b"v",))]
    return encode_batch(records, **options)


def edited(original: bytearray, *, keep_crc: bool = False, **fields: int) -> bytearray:
    """A batch with other values in its header, and a checksum to match."""
    changed = bytearray(original)
    HEADER.pack_into(changed, 0, *read_header(changed)._replace(**fields))
    if not keep_crc:
        write_crc(changed)
    return changed


def old_message(magic: int, value: bytes = b"old") -> bytes:
    """One message of the formats before record batches."""
    stamp = struct.pack(">q", TIME) if magic else b""
    body = struct.pack(">bb", magic, 0) + stamp + struct.pack(">i", -1) + struct.pack(">i", len(value)) + value
    message = struct.pack(">I", zlib.crc32(body)) + body
    return struct.pack(">qi", 0, len(message)) + message


def produce(
    topic: str,
    records: Any,
    partition: int = 0,
    *,
    acks: int = -1,
    topic_id: bytes = ZERO_UUID,
    transactional_id: str | None = None,
) -> ProduceRequest:
    return produce_many(
        {topic: [(partition, records)]}, acks=acks, topic_id=topic_id, transactional_id=transactional_id
    )


def produce_many(
    data: dict[str, Iterable[tuple[int, Any]]], *, topic_id: bytes = ZERO_UUID, acks: int = -1, **options: Any
) -> ProduceRequest:
    topics = [
        TopicProduceData(
            name=topic,
            topic_id=topic_id,
            partition_data=[PartitionProduceData(index=index, records=records) for index, records in rows],
        )
        for topic, rows in data.items()
    ]
    return ProduceRequest(acks=acks, timeout_ms=10_000, topic_data=topics, **options)


def wanted(partition: int = 0, offset: int = 0, **fields: Any) -> FetchPartition:
    return FetchPartition(partition=partition, fetch_offset=offset, **{"partition_max_bytes": 1 << 20} | fields)


def fetch(
    *topics: tuple[str, Sequence[FetchPartition]],
    topic_id: bytes = ZERO_UUID,
    forget: Sequence[tuple[str, Sequence[int]]] = (),
    **fields: Any,
) -> FetchRequest:
    """Without a session unless told otherwise; `topic_id` is that of all topics."""
    return FetchRequest(
        topics=[FetchTopic(topic=name, topic_id=topic_id, partitions=list(rows)) for name, rows in topics],
        forgotten_topics_data=[
            ForgottenTopic(topic=name, topic_id=topic_id, partitions=list(rows)) for name, rows in forget
        ],
        **{"max_wait_ms": 0, "min_bytes": 1, "session_epoch": -1} | fields,
    )


def list_offsets(topic: str, *asked: tuple[int, int] | tuple[int, int, int], **fields: Any) -> ListOffsetsRequest:
    """`asked` are (partition, timestamp) or (partition, timestamp, leader epoch)."""
    rows = [
        ListOffsetsPartition(partition_index=index, timestamp=timestamp, current_leader_epoch=epoch[0] if epoch else -1)
        for index, timestamp, *epoch in asked
    ]
    return ListOffsetsRequest(
        topics=[ListOffsetsTopic(name=topic, partitions=rows)], **{"replica_id": -1, "timeout_ms": 10_000} | fields
    )


def metadata(*names: str | None, ids: Sequence[bytes] = (), create: bool = False, **fields: Any) -> MetadataRequest:
    """Of these topics; none means an empty list."""
    topics = [MetadataRequestTopic(name=name) for name in names]
    topics += [MetadataRequestTopic(name=None, topic_id=topic_id) for topic_id in ids]
    return MetadataRequest(topics=topics, allow_auto_topic_creation=create, **fields)
