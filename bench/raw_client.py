"""A client that is nothing but sockets and frames, for what no ordinary client measures.

`RawClient` asks one request at a time: is the broker ready, where does a partition end. As a program,
`python -m bench.raw_client PORT TOPIC --connections 200 --requests 20000`, it keeps one Produce request in flight on each of
many connections and prints requests per second as JSON. The bytes sent are the same for every broker.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import socket
import struct
import time
from typing import Self

from headrace.wire.apis import APIS
from headrace.wire.batch import Record, encode_batch
from headrace.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from headrace.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from headrace.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from headrace.wire.schema import Message

LATEST = -1
RECORDS_PER_REQUEST = 16


def request_frame(message: Message, version: int, correlation_id: int = 0) -> bytes:
    """The request as bytes on the wire, with a header of the version that its API wants."""
    flexible = version >= APIS[message.KEY].flexible_from
    header = struct.pack(">hhih", message.KEY, version, correlation_id, -1) + b"\x00" * flexible
    body = header + message.encode(version)
    return struct.pack(">i", len(body)) + body


class RawClient:
    """One blocking connection."""

    def __init__(self, port: int, timeout: float = 30.0) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def ask(self, message: Message, version: int) -> Message:
        self._socket.sendall(request_frame(message, version))
        (size,) = struct.unpack(">i", self._read(4))
        api = APIS[message.KEY]
        return api.response.decode(self._read(size), version, 5 if version >= api.flexible_from else 4)

    def _read(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            chunk = self._socket.recv(size - len(data))
            if not chunk:
                raise ConnectionError("closed by the broker")
            data += chunk
        return bytes(data)


def wait_until_ready(port: int, partitions: dict[str, int] | None = None, timeout: float = 300.0) -> None:
    """Until a topic could be created and every given partition says where it ends. Polls every 5 ms."""
    deadline = time.monotonic() + timeout
    while True:
        try:
            with RawClient(port) as client:
                if _can_create(client) and all(
                    _has_end(client, topic, index)
                    for topic, count in (partitions or {}).items()
                    for index in range(count)
                ):
                    return
        except OSError:
            pass
        if time.monotonic() > deadline:
            raise TimeoutError(f"the broker at port {port} is not ready after {timeout:.0f} s")
        time.sleep(0.005)


def _can_create(client: RawClient) -> bool:
    topic = CreatableTopic(name="ready", num_partitions=1, replication_factor=1)
    response = client.ask(CreateTopicsRequest(topics=[topic], timeout_ms=1000, validate_only=True), 5)
    return response.topics[0].error_code == 0  # type: ignore[attr-defined]


def _has_end(client: RawClient, topic: str, index: int) -> bool:
    partition = ListOffsetsPartition(partition_index=index, timestamp=LATEST)
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=topic, partitions=[partition])])
    return client.ask(request, 5).topics[0].partitions[0].error_code == 0  # type: ignore[attr-defined]


def produce_frame(topic: str, partition: int, record_size: int) -> bytes:
    now_ms = int(time.time() * 1000)
    records = [Record(offset, now_ms, None, bytes(record_size), []) for offset in range(RECORDS_PER_REQUEST)]
    data = PartitionProduceData(index=partition, records=encode_batch(records))
    topic_data = [TopicProduceData(name=topic, partition_data=[data])]
    return request_frame(ProduceRequest(acks=1, timeout_ms=30_000, topic_data=topic_data), 9)


class Pump(asyncio.Protocol):
    """One connection: the next request leaves when the answer to the last one is here."""

    def __init__(self, frame: bytes, budget: list[int], done: asyncio.Event) -> None:
        self._frame, self._budget, self._done = frame, budget, done
        self._received = bytearray()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._transport = transport

    def start(self) -> None:
        self._transport.write(self._frame)

    def data_received(self, data: bytes) -> None:
        self._received += data
        if len(self._received) < 4 or len(self._received) < 4 + int.from_bytes(self._received[:4], "big"):
            return
        self._received.clear()
        self._budget[0] -= 1
        if self._budget[0] > 0:
            self._transport.write(self._frame)
        elif self._budget[0] == 0:
            self._done.set()

    def connection_lost(self, error: Exception | None) -> None:
        if self._budget[0] > 0:
            raise ConnectionError("the broker closed a connection")


async def pump(port: int, topic: str, connections: int, requests: int, record_size: int) -> dict[str, float]:
    loop, done, budget = asyncio.get_running_loop(), asyncio.Event(), [requests]
    pumps: list[Pump] = []
    for number in range(connections):
        frame = produce_frame(topic, number % 4, record_size)
        _, each = await loop.create_connection(lambda frame=frame: Pump(frame, budget, done), "127.0.0.1", port)
        pumps.append(each)
    start = time.perf_counter()
    for each in pumps:
        each.start()
    await done.wait()
    seconds = time.perf_counter() - start
    sent = requests * RECORDS_PER_REQUEST
    return {"requests_per_s": requests / seconds, "messages_per_s": sent / seconds, "bytes": sent * record_size}


def main() -> None:
    import uvloop

    parser = argparse.ArgumentParser(prog="python -m bench.raw_client")
    parser.add_argument("port", type=int)
    parser.add_argument("topic")
    parser.add_argument("--connections", type=int, default=1)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--record-size", type=int, default=1024)
    options = parser.parse_args()
    measured = pump(options.port, options.topic, options.connections, options.requests, options.record_size)
    print(json.dumps(uvloop.run(measured)))


if __name__ == "__main__":
    main()
