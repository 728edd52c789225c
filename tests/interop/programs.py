"""Programs that outlive their broker: what they know of it they hold against the next one on the same data.

An idempotent producer goes on with its sequence numbers, a member of a group with its generation, a transaction with its records, and
whoever takes over a transactional id fences the one before. `fill` writes one of everything first.
"""

from __future__ import annotations

import time
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from headrace.testing import wait_until
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.describe_transactions import DescribeTransactionsRequest
from headrace.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from headrace.wire.messages.init_producer_id import InitProducerIdRequest
from headrace.wire.messages.produce import PartitionProduceResponse
from tests.broker.raw import RawClient, batch
from tests.broker.test_groups import beat, join, sync_request
from tests.broker.transactional_client import NOT_YET, TransactionalClient
from tests.interop.contents import BROKER, LATEST, TOPIC, find_coordinator, list_offset

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
PARTITIONS = 2
LONG_MS = 300_000
TOPICS: dict[str, dict[str, str]] = {
    **{f"codec-{codec}": {} for codec in CODECS},
    "idempotent": {},
    "transactions": {"retention.ms": "-1"},
    "trimmed": {"retention.bytes": "100000000"},
    "stamped": {"message.timestamp.type": "LogAppendTime", "max.message.bytes": "2000000"},
    "recompressed": {"compression.type": "zstd"},
    "compacted": {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01", "segment.bytes": "1048576"},
    "empty": {"retention.ms": "3600000", "cleanup.policy": "compact,delete"},
}
ALL_BROKERS = {"log.retention.ms": "500000000"}
THIS_BROKER = {"log.cleaner.backoff.ms": "100"}


class IdempotentProducer:
    """One producer id and its sequence numbers in one partition, written by hand."""

    def __init__(self, client: RawClient) -> None:
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=0)

        def settled() -> Any:
            answer = client.call(request, 4)
            # Apache Kafka has a block of ids only a moment after the first was asked for.
            return None if answer.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS else answer

        given = wait_until(settled)
        assert given.error_code == 0
        self.producer_id, self.epoch = given.producer_id, given.producer_epoch
        self.sequence = 0
        self.last: tuple[Any, int] | None = None

    def _fields(self, sequence: int) -> dict[str, int]:
        now_ms = time.time_ns() // 1_000_000
        ids = {"producer_id": self.producer_id, "producer_epoch": self.epoch}
        return {**ids, "base_sequence": sequence, "timestamp": now_ms}

    def write(self, client: RawClient, *values: bytes) -> int:
        sent = batch(*values, **self._fields(self.sequence))
        answer: PartitionProduceResponse = client.produce("idempotent", bytes(sent))
        assert answer.error_code == 0, ErrorCode(answer.error_code)
        self.sequence += len(values)
        self.last = bytes(sent), answer.base_offset
        return answer.base_offset

    def repeat(self, client: RawClient) -> None:
        """The answer to the last batch got lost: sent again, it is recognized."""
        assert self.last is not None
        end = list_offset(client, "idempotent", 0, LATEST)
        answer = client.produce("idempotent", self.last[0])
        assert (answer.error_code, answer.base_offset) == (0, self.last[1])
        assert list_offset(client, "idempotent", 0, LATEST) == end

    def skip(self, client: RawClient) -> None:
        """A batch that is missing one before it is refused."""
        refused = client.produce("idempotent", batch(b"too early", **self._fields(self.sequence + 7)))
        assert refused.error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


class Programs:
    """The programs of one cluster, whatever runs it."""

    def __init__(self) -> None:
        self.member: Any = None
        self.static_member: Any = None
        self.given_ids: set[int] = set()

    def fill(self, port: int) -> None:
        """One of everything that data directories hold."""
        servers = f"127.0.0.1:{port}"
        create_topics(servers)
        for topic in TOPICS:
            if topic.startswith("codec-"):
                produce(servers, topic, topic.removeprefix("codec-"))
        for topic in ("trimmed", "stamped", "recompressed"):
            produce(servers, topic, "lz4")
        delete_records(servers, "trimmed", 0, 30)
        delete_records(servers, "trimmed", 1, 90)
        with RawClient(port) as client:
            alter(client, BROKER, "", ALL_BROKERS)
            alter(client, BROKER, "1", THIS_BROKER)
            self.idempotent = IdempotentProducer(client)
            self.idempotent.write(client, b"one", b"two", b"three")
            self.fill_transactions(client)
            self.member = join(client, "members", session_timeout_ms=LONG_MS)
            assert client.call(sync_request("members", self.member), 5).assignment == b"mine"
            fields = {"session_timeout_ms": LONG_MS, "group_instance_id": "desk-1"}
            self.static_member = join(client, "static", **fields)
            assert (
                client.call(sync_request("static", self.static_member, group_instance_id="desk-1"), 5).error_code == 0
            )
        consume(servers, "gone", "codec-lz4", 60)
        commit(servers, "only-offsets", [TopicPartition("trimmed", 0, 33, metadata="why", leader_epoch=0)])
        fill_compacted(servers)

    def fill_transactions(self, client: RawClient) -> None:
        """Of both protocols: one that is done, one left open with records, and one with offsets."""
        self.done, self.open, self.fenced = {}, {}, {}
        for v2 in (False, True):
            name = "v2" if v2 else "v1"
            self.done[name] = done = TransactionalClient(client, f"done-{name}", v2=v2)
            for number in range(4):
                done.write("transactions", b"%s %d" % (name.encode(), number), b"more", partition=number % 2)
                commit_in_transaction(done, f"done-{name}", number)
                assert done.end(commit=number % 2 == 0) == 0
            settle(done)
            for kept, kind in ((self.open, "open"), (self.fenced, "fenced")):
                kept[name] = one = TransactionalClient(client, f"{kind}-{name}", v2=v2, timeout_ms=LONG_MS)
                one.write("transactions", f"{kind} {name}".encode())
                commit_in_transaction(one, f"{kind}-{name}", 17)
        plain = RawClient(client.socket.getpeername()[1])
        plain.produce("transactions", batch(b"behind what is open"))
        plain.socket.close()

    # On the next broker

    def go_on(self, port: int) -> None:
        """Everybody does the next thing, and so learns whether the new broker remembers."""
        servers = f"127.0.0.1:{port}"
        with RawClient(port, timeout_s=30) as client:
            self.idempotent.repeat(client)
            self.idempotent.skip(client)
            self.idempotent.write(client, b"four", b"five")
            self.go_on_in_groups(client)
            self.go_on_in_transactions(client)
            self.take_new_ids(client)
            alter(client, TOPIC, "stamped", {"retention.ms": str(port * 1000)})
        consume(servers, "gone", "codec-lz4", 40)
        commit(servers, "only-offsets", [TopicPartition("trimmed", 0, 44, metadata="more")])
        for codec in CODECS:
            produce(servers, f"codec-{codec}", codec)
        produce(servers, "compacted", "none")
        delete_records(servers, "trimmed", 0, 35)

    def go_on_in_groups(self, client: RawClient) -> None:
        for group, member in (("members", self.member), ("static", self.static_member)):
            find_coordinator(client, group, 0)
            assert beat(client, group, member) is ErrorCode.NONE

    def go_on_in_transactions(self, client: RawClient) -> None:
        for name, one in self.open.items():
            one.client = client
            one.write("transactions", f"later {name}".encode())
            assert one.end(commit=True) == 0
            settle(one)
            assert wait_for_commit(client, one, f"open-{name}") == 17
        for name, before in self.fenced.items():
            after = TransactionalClient(client, before.transactional_id, v2=before.v2, timeout_ms=LONG_MS)
            assert after.producer_id == before.producer_id and after.epoch > before.epoch
            before.client = client
            assert before.produce("transactions", b"a zombie").error_code == ErrorCode.INVALID_PRODUCER_EPOCH
            assert before.end(commit=True) == ErrorCode.PRODUCER_FENCED
            assert after.fetch_offset(f"fenced-{name}", "codec-none", require_stable=True) == (-1, 0)
        for one in self.done.values():
            one.client = client
            one.write("transactions", b"again")
            assert one.end(commit=False) == 0
            settle(one)
        self.reopen(client)

    def reopen(self, client: RawClient) -> None:
        """Leave transactions open again, for the broker after this one."""
        for kept, kind in ((self.open, "open"), (self.fenced, "fenced")):
            for name, one in kept.items():
                one.client = client
                one.init()
                one.write("transactions", f"{kind} {name}".encode())
                commit_in_transaction(one, f"{kind}-{name}", 17)

    def take_new_ids(self, client: RawClient) -> None:
        """Producer ids that nobody ever had."""
        known = self.given_ids | {
            one.producer_id for kept in (self.open, self.fenced, self.done) for one in kept.values()
        }
        known.add(self.idempotent.producer_id)
        new = {IdempotentProducer(client).producer_id for _ in range(3)}
        assert len(new) == 3 and not new & known
        self.given_ids |= new


def settle(one: TransactionalClient) -> None:
    """Wait until the end of a transaction is written everywhere."""
    request = DescribeTransactionsRequest(transactional_ids=[one.transactional_id])

    def complete() -> bool:
        return one.client.call(request, 0).transaction_states[0].transaction_state.startswith("Complete")

    wait_until(complete, timeout_s=30)


def commit_in_transaction(one: TransactionalClient, group: str, offset: int) -> None:
    if not one.v2:
        assert one.add_offsets(group) == 0

    def settled() -> bool:
        error = one.commit_offset(group, "codec-none", offset)
        assert error == 0 or error in NOT_YET, ErrorCode(error)
        return error == 0

    wait_until(settled)


def wait_for_commit(client: RawClient, one: TransactionalClient, group: str) -> int:
    def stable() -> bool:
        return one.fetch_offset(group, "codec-none", require_stable=True)[1] == 0

    wait_until(stable)
    return one.fetch_offset(group, "codec-none", require_stable=True)[0]


# What real clients write


def create_topics(servers: str) -> None:
    admin = AdminClient({"bootstrap.servers": servers})
    again = NewTopic("recreated", 1, 1)
    admin.create_topics([again])["recreated"].result(20)
    admin.delete_topics(["recreated"])["recreated"].result(20)
    new = [NewTopic(name, PARTITIONS, 1, config=config) for name, config in TOPICS.items()]
    for future in admin.create_topics([*new, again]).values():
        future.result(20)


def alter(client: RawClient, kind: int, name: str, values: dict[str, str]) -> None:
    entries = [AlterableConfig(name=key, config_operation=0, value=value) for key, value in values.items()]
    resource = AlterConfigsResource(resource_type=kind, resource_name=name, configs=entries)
    (answer,) = client.call(IncrementalAlterConfigsRequest(resources=[resource]), 1).responses
    assert answer.error_code == 0, answer.error_message


def produce(servers: str, topic: str, codec: str) -> None:
    """A hundred records into each partition, in many batches."""
    options = {"bootstrap.servers": servers, "enable.idempotence": True, "compression.type": codec}
    producer = Producer({**options, "batch.num.messages": 7, "linger.ms": 5})
    for number in range(100 * PARTITIONS):
        key, headers = b"key %d" % (number % 10), [("n", b"%d" % number)]
        producer.produce(topic, key=key, value=b"%d " % number * 20, partition=number % PARTITIONS, headers=headers)
    assert producer.flush(30) == 0


def fill_compacted(servers: str) -> None:
    """More than a segment for each partition, so that the first can be cleaned."""
    producer = Producer({"bootstrap.servers": servers, "enable.idempotence": True, "batch.num.messages": 50})
    for number in range(3000 * PARTITIONS):
        value = None if number % 100 >= 98 else b"%d " % number * 90
        producer.produce("compacted", key=b"key %d" % (number % 100), value=value, partition=number % PARTITIONS)
        producer.poll(0)
    assert producer.flush(30) == 0


def delete_records(servers: str, topic: str, partition: int, offset: int) -> None:
    admin = AdminClient({"bootstrap.servers": servers})
    for future in admin.delete_records([TopicPartition(topic, partition, offset)]).values():
        future.result(20)


def consume(servers: str, group: str, topic: str, count: int, **settings: str) -> None:
    """Read with a group, commit, and leave."""
    options = {"bootstrap.servers": servers, "group.id": group, "auto.offset.reset": "earliest", **settings}
    consumer = Consumer({**options, "enable.auto.commit": False})
    consumer.subscribe([topic])
    left = count
    while left:
        message = consumer.poll(30)
        assert message is not None and message.error() is None
        left -= 1
    consumer.commit(asynchronous=False)
    consumer.close()


def commit(servers: str, group: str, offsets: list[TopicPartition]) -> None:
    consumer = Consumer({"bootstrap.servers": servers, "group.id": group})
    consumer.commit(offsets=offsets, asynchronous=False)
    consumer.close()
