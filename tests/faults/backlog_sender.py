"""Millions of records in seconds: each partition has one batch that is sent again and again, with a later time.

What is in a record says nothing about which of them it is; its offset does.
"""

from __future__ import annotations

import json
import socket
import struct
from typing import Any

from headrace.testing.record_sender import murmur2
from headrace.wire.apis import APIS
from headrace.wire.batch import Record, encode_batch, write_crc
from headrace.wire.frame import RequestHeader, encode_request
from headrace.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

VERSION = 9
BATCH = 2_000
# int64 base timestamp, int64 max timestamp in a batch's header.
_TIMES = struct.Struct(">qq")
_TIMES_AT = 27


def keys_of(partition: int, partitions: int, keys: int) -> list[bytes]:
    """The keys that Java's producer puts into a partition."""
    names = [b"key-%d" % number for number in range(keys)]
    return [name for name in names if (murmur2(name) & 0x7FFFFFFF) % partitions == partition]


class BacklogSender:
    """Fills a topic, all partitions alike. The records of a batch are a millisecond apart, and so are batches; the last partition's are `behind_ms` older."""

    def __init__(
        self, bootstrap_servers: str, topic: str, partitions: int, keys: int, start_ms: int, behind_ms: int = 0
    ) -> None:
        host, _, port = bootstrap_servers.rpartition(":")
        self._socket = socket.create_connection((host, int(port)), timeout=60)
        self._topic, self._now_ms = topic, start_ms
        self._behind_ms = [0] * (partitions - 1) + [behind_ms]
        self._batches = [self._batch(keys_of(number, partitions, keys)) for number in range(partitions)]
        self._correlation_id = 0

    def _batch(self, keys: list[bytes]) -> bytearray:
        value = json.dumps({"n": 7, "filling": "x" * 60}).encode()
        return encode_batch([Record(-1, i, keys[i % len(keys)], value) for i in range(BATCH)])

    def send(self, records: int) -> int:
        """At least so many; says how many."""
        rounds = -(-records // (BATCH * len(self._batches)))
        for _ in range(rounds):
            for partition, batch in enumerate(self._batches):
                begin_ms = self._now_ms - self._behind_ms[partition]
                _TIMES.pack_into(batch, _TIMES_AT, begin_ms, begin_ms + BATCH - 1)
                write_crc(batch, 0)
                self._produce(partition, batch)
            self._now_ms += BATCH
        return rounds * BATCH * len(self._batches)

    def _produce(self, partition: int, batch: bytearray) -> None:
        data = [PartitionProduceData(index=partition, records=batch)]
        request = ProduceRequest(
            acks=-1, timeout_ms=60_000, topic_data=[TopicProduceData(name=self._topic, partition_data=data)]
        )
        self._correlation_id += 1
        self._socket.sendall(
            encode_request(request, RequestHeader(request.KEY, VERSION, self._correlation_id, "backlog"))
        )
        answer: Any = APIS[request.KEY].response.decode(self._frame(), VERSION, 5)
        error = answer.responses[0].partition_responses[0].error_code
        assert error == 0, f"the broker refused a batch with error {error}"

    def _frame(self) -> bytes:
        (length,) = struct.unpack(">i", self._take(4))
        return self._take(length)

    def _take(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            more = self._socket.recv(count - len(data))
            assert more, "the broker closed the connection"
            data += more
        return data

    def close(self) -> None:
        self._socket.close()
