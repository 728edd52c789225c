"""Records to a broker with exactly the times that a test says, thousands in one request.

librdkafka takes the time 0 for "now", and tests begin at 0. So records are put into batches here, with the project's own wire format, and placed as
Java's producer places them. For one broker: it asks the bootstrap address to take everything.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Mapping
from typing import Any

from headrace.wire.apis import APIS
from headrace.wire.batch import Record, encode_batch
from headrace.wire.errors import ErrorCode
from headrace.wire.frame import RequestHeader, encode_request
from headrace.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

VERSION = 9
MAX_BATCH_BYTES = 500_000
_ALL = -1


class RecordSender:
    """Collects records; `flush` sends them and returns once all are acknowledged. Not for several threads."""

    def __init__(self, bootstrap_servers: str, timeout_s: float = 30.0) -> None:
        host, _, port = bootstrap_servers.partition(",")[0].rpartition(":")
        self._socket = socket.create_connection((host, int(port)), timeout=timeout_s)
        self._timeout_ms = int(timeout_s * 1000)
        self._correlation_id = 0
        self._waiting: dict[tuple[str, int], list[Record]] = {}
        self._without_key = 0

    def send(
        self,
        topic: str,
        partitions: int,
        key: bytes | None,
        value: bytes | None,
        timestamp_ms: int,
        *,
        partition: int | None = None,
        headers: Mapping[str, bytes] | None = None,
    ) -> None:
        """Put a record into its partition's batch: the given one, else that of its key, else one after the other."""
        if partition is None:
            partition = self._place(key, partitions)
        record = Record(-1, timestamp_ms, key, value, tuple((headers or {}).items()))
        self._waiting.setdefault((topic, partition), []).append(record)

    def flush(self) -> None:
        """Send everything, in order within each partition."""
        waiting, self._waiting = self._waiting, {}
        for (topic, partition), records in waiting.items():
            for some in _batches(records):
                self._produce(topic, partition, some)

    def close(self) -> None:
        self._socket.close()

    def _place(self, key: bytes | None, partitions: int) -> int:
        if key is not None:
            return (murmur2(key) & 0x7FFFFFFF) % partitions
        self._without_key += 1
        return (self._without_key - 1) % partitions

    def _produce(self, topic: str, partition: int, records: list[Record]) -> None:
        data = [PartitionProduceData(index=partition, records=encode_batch(records))]
        request = ProduceRequest(
            acks=_ALL, timeout_ms=self._timeout_ms, topic_data=[TopicProduceData(name=topic, partition_data=data)]
        )
        self._correlation_id += 1
        header = RequestHeader(request.KEY, VERSION, self._correlation_id, "streams-driver")
        self._socket.sendall(encode_request(request, header))
        answer: Any = APIS[request.KEY].response.decode(self._frame(), VERSION, 5)
        result = answer.responses[0].partition_responses[0]
        if result.error_code:
            name = ErrorCode(result.error_code).name  # type: ignore[call-arg]
            raise AssertionError(
                f"{len(records)} records were not taken by {topic}-{partition}: {name} {result.error_message or ''}"
            )

    def _frame(self) -> bytes:
        (size,) = struct.unpack(">i", self._exactly(4))
        return self._exactly(size)

    def _exactly(self, size: int) -> bytes:
        parts = bytearray()
        while len(parts) < size:
            part = self._socket.recv(size - len(parts))
            if not part:
                raise AssertionError("the broker closed the connection")
            parts += part
        return bytes(parts)


def _batches(records: list[Record]) -> list[list[Record]]:
    """The records in batches that a broker takes."""
    batches: list[list[Record]] = [[]]
    size = 0
    for record in records:
        length = len(record.key or b"") + len(record.value or b"") + 50
        if batches[-1] and size + length > MAX_BATCH_BYTES:
            batches.append([])
            size = 0
        batches[-1].append(record)
        size += length
    return batches


def murmur2(data: bytes) -> int:
    """Java's hash of keys: MurmurHash2 with Kafka's seed, as an unsigned number."""
    mask, multiplier = 0xFFFFFFFF, 0x5BD1E995
    found = (0x9747B28C ^ len(data)) & mask
    whole = len(data) & ~3
    for (word,) in struct.iter_unpack("<I", data[:whole]):
        word = word * multiplier & mask
        word = (word ^ word >> 24) * multiplier & mask
        found = (found * multiplier & mask) ^ word
    rest = data[whole:]
    if rest:
        found = (found ^ int.from_bytes(rest, "little")) * multiplier & mask
    found = (found ^ found >> 13) * multiplier & mask
    return found ^ found >> 15
