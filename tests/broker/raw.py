"""A bare client for tests that need to say exactly what goes over the wire."""

from __future__ import annotations

import socket
import struct
from typing import Any, TypeVar

from headrace.wire.apis import APIS
from headrace.wire.batch import Record, encode_batch
from headrace.wire.frame import RequestHeader, encode_request
from headrace.wire.messages.api_versions import ApiVersionsResponse
from headrace.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, PartitionData
from headrace.wire.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from headrace.wire.schema import Message

Response = TypeVar("Response", bound=Message)


class Closed(Exception):
    """The broker closed the connection."""


class RawClient:
    """One connection; requests and responses as messages, or as bytes."""

    def __init__(self, port: int, timeout_s: float = 10.0) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=timeout_s)
        self.correlation_id = 0
        self.sent: list[tuple[type[Message], int, int]] = []

    def __enter__(self) -> RawClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, request: Message, version: int) -> None:
        self.correlation_id += 1
        header = RequestHeader(request.KEY, version, self.correlation_id, "raw")
        self.socket.sendall(encode_request(request, header))
        self.sent.append((APIS[request.KEY].response, version, self.correlation_id))

    def receive(self) -> Any:
        response, version, correlation_id = self.sent.pop(0)
        frame = self.receive_frame()
        assert struct.unpack_from(">i", frame)[0] == correlation_id, "responses must come in request order"
        flexible = version >= response.FLEXIBLE_FROM and response is not ApiVersionsResponse
        return response.decode(frame, version, 5 if flexible else 4)

    def call(self, request: Message, version: int) -> Any:
        self.send(request, version)
        return self.receive()

    def receive_frame(self) -> bytes:
        return self._exactly(struct.unpack(">i", self._exactly(4))[0])

    def closed(self) -> bool:
        """Whether the broker closes the connection (waits for it, up to the timeout)."""
        try:
            return self.socket.recv(1) == b""
        except ConnectionError:
            return True

    def _exactly(self, size: int) -> bytes:
        parts = []
        while size:
            try:
                part = self.socket.recv(min(size, 1 << 20))
            except ConnectionError as error:
                raise Closed from error
            if not part:
                raise Closed
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    # Shorthands for the two requests that most tests need.

    def produce(
        self, topic: str, records: Any, *, partition: int = 0, acks: int = -1, version: int = 9
    ) -> PartitionProduceResponse:
        response = self.call(produce_request(topic, records, partition=partition, acks=acks), version)
        return response.responses[0].partition_responses[0]

    def fetch(self, topic: str, offset: int, *, partition: int = 0, version: int = 12, **options: Any) -> PartitionData:
        response: FetchResponse = self.call(fetch_request(topic, offset, partition=partition, **options), version)
        return response.responses[0].partitions[0]


def batch(*values: bytes, codec: int = 0, **fields: Any) -> bytearray:
    """A record batch of these values."""
    timestamp = fields.pop("timestamp", 1_700_000_000_000)
    records = [Record(n, timestamp, None, value, ()) for n, value in enumerate(values)]
    return encode_batch(records, codec=codec, **fields)


def produce_request(topic: str, records: Any, *, partition: int = 0, acks: int = -1) -> ProduceRequest:
    data = [PartitionProduceData(index=partition, records=records)]
    return ProduceRequest(acks=acks, timeout_ms=30_000, topic_data=[TopicProduceData(name=topic, partition_data=data)])


def fetch_request(
    topic: str, offset: int, *, partition: int = 0, max_wait_ms: int = 0, min_bytes: int = 1, max_bytes: int = 1 << 30,
    partition_max_bytes: int = 1 << 20, leader_epoch: int = -1, isolation_level: int = 0,
) -> FetchRequest:  # fmt: skip
    wanted = FetchPartition(
        partition=partition,
        fetch_offset=offset,
        partition_max_bytes=partition_max_bytes,
        current_leader_epoch=leader_epoch,
    )
    return FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        isolation_level=isolation_level,
        session_epoch=-1,
        topics=[FetchTopic(topic=topic, partitions=[wanted])],
    )


__all__ = ["Closed", "ProduceResponse", "RawClient", "batch", "fetch_request", "produce_request"]
