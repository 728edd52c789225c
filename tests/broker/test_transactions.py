"""Transactions request by request: what is verified, added, refused, visible."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from headrace.broker.server import Broker
from headrace.broker.verification import Guard
from headrace.replica.partition import Partition
from headrace.storage.errors import AppendError
from headrace.testing import LocalBroker, broker, wait_until
from headrace.testing.faults import ThrottledFs
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.describe_producers import DescribeProducersRequest, TopicRequest
from headrace.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from headrace.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from headrace.wire.messages.write_txn_markers import WritableTxnMarker, WritableTxnMarkerTopic, WriteTxnMarkersRequest
from tests.broker.raw import RawClient, batch, fetch_request
from tests.broker.transactional_client import TransactionalClient

READ_COMMITTED = 1


@pytest.fixture(params=[False, True], ids=["v1", "v2"])
def producer(request: pytest.FixtureRequest, client: RawClient, topic: str) -> Iterator[TransactionalClient]:
    yield TransactionalClient(client, topic, v2=request.param)


def latest(client: RawClient, topic: str, isolation_level: int = READ_COMMITTED) -> int:
    request = ListOffsetsRequest(
        replica_id=-1,
        isolation_level=isolation_level,
        topics=[ListOffsetsTopic(name=topic, partitions=[ListOffsetsPartition(partition_index=0, timestamp=-1)])],
    )
    return client.call(request, 7).topics[0].partitions[0].offset


def aborted(client: RawClient, topic: str, offset: int = 0) -> list[tuple[int, int]]:
    data = client.fetch(topic, offset, isolation_level=READ_COMMITTED)
    assert data.error_code == 0
    return [(each.producer_id, each.first_offset) for each in data.aborted_transactions or ()]


def long_polls(server: LocalBroker) -> int:
    return server.call(lambda b: len(b.long_polls))


def write_marker(client: RawClient, topic: str, producer: TransactionalClient, **options: int) -> int:
    """Abort by an admin's hand."""
    marker = WritableTxnMarker(
        producer_id=producer.producer_id,
        producer_epoch=options.get("epoch", producer.epoch),
        transaction_result=False,
        coordinator_epoch=options.get("coordinator_epoch", 0),
        topics=[WritableTxnMarkerTopic(name=topic, partition_indexes=[options.get("partition", 0)])],
    )
    answer = client.call(WriteTxnMarkersRequest(markers=[marker]), 1)
    return answer.markers[0].topics[0].partitions[0].error_code


def test_a_commit_lets_readers_pass(client: RawClient, topic: str, producer: TransactionalClient) -> None:
    assert producer.write(topic, b"a", b"b") == 0
    assert producer.write(topic, b"c") == 2
    assert latest(client, topic) == 0 and latest(client, topic, 0) == 3
    data = client.fetch(topic, 0, isolation_level=READ_COMMITTED)
    assert (data.last_stable_offset, data.high_watermark, len(data.records)) == (0, 3, 0)
    assert producer.end(True) == 0
    wait_until(lambda: latest(client, topic) == 4)
    assert aborted(client, topic) == []


def test_an_abort_is_told_to_readers_of_its_records(
    client: RawClient, topic: str, producer: TransactionalClient
) -> None:
    before = producer.producer_id
    for number in range(4):
        producer.write(topic, b"x", b"y")
        assert producer.end(number % 2 == 0) == 0
        wait_until(lambda number=number: latest(client, topic) == 3 * (number + 1))
    assert aborted(client, topic) == [(before, 3), (before, 9)]
    assert aborted(client, topic, 6) == [(before, 9)]
    assert client.fetch(topic, 0).aborted_transactions is None, "for those who read everything"
    first = client.fetch(topic, 0, isolation_level=READ_COMMITTED, partition_max_bytes=1)
    assert first.aborted_transactions == [], "none of the one batch that was sent"


@pytest.mark.parametrize(
    ("version", "error"), [(9, ErrorCode.INVALID_TXN_STATE), (11, ErrorCode.TRANSACTION_ABORTABLE)]
)
def test_a_partition_that_was_not_added(client: RawClient, topic: str, version: int, error: ErrorCode) -> None:
    producer = TransactionalClient(client, topic, v2=False)
    producer.write(topic, b"a", partition=1)
    answer = producer.produce(topic, b"b", version=version)
    assert (answer.error_code, answer.base_offset, answer.log_start_offset) == (error, -1, -1)
    assert latest(client, topic, 0) == 0


def test_a_broker_that_does_not_verify() -> None:
    with broker(transaction_partition_verification_enable=False) as server, RawClient(server.port) as client:
        topic = server.create_topic("t", 2)
        producer = TransactionalClient(client, topic, v2=False)
        producer.write(topic, b"a", partition=1)
        assert producer.produce(topic, b"b").error_code == 0, "which hangs, as nobody will end it"
        newer = TransactionalClient(client, "newer", v2=True)
        newer.write(topic, b"c", partition=1)
        assert newer.end(True) == 0


def test_a_refused_marker_leaves_a_verification_under_way_as_it_is(
    server: LocalBroker, client: RawClient, topic: str
) -> None:
    producer = TransactionalClient(client, topic, v2=False)
    producer.write(topic, b"a")
    assert producer.end(True) == 0
    wait_until(lambda: latest(client, topic) == 2)

    def guarded(b: Broker) -> tuple[Guard | None, Partition]:
        partition = b.replicas.topics[topic][0]
        return b.verifications.begin(partition, producer.producer_id, producer.epoch, 1, adds=False), partition

    guard, partition = server.call(guarded)
    fenced = {"coordinator_epoch": -1, "epoch": producer.epoch - 1}
    assert write_marker(client, topic, producer, **fenced) in (
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.TRANSACTION_COORDINATOR_FENCED,
    )
    server.call(lambda b: b.verifications.check(partition, producer.producer_id, producer.epoch, guard))
    assert write_marker(client, topic, producer) == 0
    with pytest.raises(AppendError):
        server.call(lambda b: b.verifications.check(partition, producer.producer_id, producer.epoch, guard))


def test_a_batch_that_comes_after_the_end(client: RawClient, topic: str) -> None:
    producer = TransactionalClient(client, topic, v2=False)
    producer.write(topic, b"a")
    assert producer.end(True) == 0
    wait_until(lambda: latest(client, topic) == 2)
    assert producer.produce(topic, b"late").error_code == ErrorCode.INVALID_TXN_STATE
    assert producer.produce(topic, b"a", sequence=0).error_code == ErrorCode.INVALID_TXN_STATE, "a repetition too"
    assert latest(client, topic, 0) == 2


def test_with_version_2_an_epoch_ends_with_its_transaction(client: RawClient, topic: str) -> None:
    producer = TransactionalClient(client, topic, v2=True)
    producer.write(topic, b"a")
    before = producer.epoch
    assert producer.end(True) == 0 and producer.epoch == before + 1
    wait_until(lambda: latest(client, topic) == 2)
    current, producer.epoch = producer.epoch, before
    assert producer.produce(topic, b"late", sequence=1).error_code == ErrorCode.INVALID_PRODUCER_EPOCH
    producer.epoch = current
    assert producer.write(topic, b"b") == 2


def test_with_version_2_a_producer_begins_with_sequence_0(client: RawClient, topic: str) -> None:
    producer = TransactionalClient(client, topic, v2=True)
    assert producer.produce(topic, b"a", sequence=1).error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert producer.produce(topic, b"a", sequence=0).error_code == 0


def test_an_old_epoch_is_fenced_before_it_writes(client: RawClient, topic: str, producer: TransactionalClient) -> None:
    old = producer.epoch
    producer.init()
    producer.epoch, current = old, producer.epoch
    assert current > old
    assert producer.produce(topic, b"a").error_code == ErrorCode.INVALID_PRODUCER_EPOCH
    assert latest(client, topic, 0) == 0


def test_a_request_is_of_one_producer(client: RawClient, topic: str, producer: TransactionalClient) -> None:
    sent = [
        batch(b"x", is_transactional=True, producer_id=each, producer_epoch=0, base_sequence=0) for each in (91, 92)
    ]
    data = [PartitionProduceData(index=index, records=records) for index, records in enumerate(sent)]
    request = ProduceRequest(
        transactional_id=topic,
        acks=-1,
        timeout_ms=1000,
        topic_data=[TopicProduceData(name=topic, partition_data=data)],
    )
    answer = client.call(request, 9)
    codes = [each.error_code for each in answer.responses[0].partition_responses]
    assert codes == [ErrorCode.INVALID_PRODUCER_ID_MAPPING] * 2


def test_plain_batches_of_a_transactional_request_are_plain(
    client: RawClient, topic: str, producer: TransactionalClient
) -> None:
    request = ProduceRequest(
        transactional_id=topic,
        acks=-1,
        timeout_ms=1000,
        topic_data=[
            TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=0, records=batch(b"plain"))])
        ],
    )
    assert client.call(request, 9).responses[0].partition_responses[0].error_code == 0
    assert latest(client, topic) == 1


def test_a_long_poll_waits_for_the_end_of_the_transaction(
    server: LocalBroker, client: RawClient, topic: str, producer: TransactionalClient
) -> None:
    with RawClient(server.port) as other:
        other.send(fetch_request(topic, 0, isolation_level=READ_COMMITTED, max_wait_ms=8000, min_bytes=150), 12)
        wait_until(lambda: long_polls(server) == 1)
        for _ in range(5):
            producer.write(topic, b"x" * 100)
            assert long_polls(server) == 1, "what is not decided is nothing to it"
        began = time.monotonic()
        assert producer.end(True) == 0
        data = other.receive().responses[0].partitions[0]
        assert len(data.records) >= 500 and time.monotonic() - began < 5


def test_a_long_poll_counts_what_the_end_sets_free(
    server: LocalBroker, client: RawClient, topic: str, producer: TransactionalClient
) -> None:
    producer.write(topic, b"x" * 1000)
    with RawClient(server.port) as other:
        wanted = fetch_request(topic, 0, isolation_level=READ_COMMITTED, max_wait_ms=8000, min_bytes=500)
        other.send(wanted, 12)
        wait_until(lambda: long_polls(server) == 1)
        began = time.monotonic()
        assert producer.end(True) == 0
        data = other.receive().responses[0].partitions[0]
        assert len(data.records) > 1000 and time.monotonic() - began < 5, "the marker alone is smaller than min_bytes"


def test_a_long_poll_counts_a_transaction_that_begins_and_ends_meanwhile(
    server: LocalBroker, client: RawClient, topic: str, producer: TransactionalClient
) -> None:
    with RawClient(server.port) as other:
        other.send(fetch_request(topic, 0, isolation_level=READ_COMMITTED, max_wait_ms=8000, min_bytes=2000), 12)
        wait_until(lambda: long_polls(server) == 1)
        began = time.monotonic()
        for _ in range(2):
            producer.write(topic, b"x" * 1000)
        assert producer.end(True) == 0
        data = other.receive().responses[0].partitions[0]
        assert len(data.records) > 2000 and time.monotonic() - began < 5


def test_the_end_of_a_transaction_during_a_read_from_disk_is_not_missed() -> None:
    fs = ThrottledFs(read_delay_s=0.5, matching="cold-0", active=False)
    with broker(fs=fs) as server, RawClient(server.port) as client, RawClient(server.port) as other:
        server.create_topic("cold")
        producer = TransactionalClient(client, "cold", v2=True)
        producer.write("cold", b"first")
        producer.end(True)
        producer.write("cold", b"x" * 1000)
        fs.active = True
        other.send(fetch_request("cold", 0, isolation_level=READ_COMMITTED, max_wait_ms=20_000, min_bytes=500), 12)
        wait_until(lambda: fs.hits, message="the read from disk has begun")
        assert producer.end(True) == 0
        began = time.monotonic()
        assert len(other.receive().responses[0].partitions[0].records) > 1000
        assert time.monotonic() - began < 10


def test_a_topic_with_a_compression_of_its_own(
    server: LocalBroker, client: RawClient, topic: str, producer: TransactionalClient
) -> None:
    """Batches wait for a thread there, and are looked at once more when their turn has come."""
    packed = server.create_topic(f"{topic}-gzip", 1, compression_type="gzip")
    for number in range(4):
        producer.write(packed, b"x" * 1000, b"y" * 1000)
        producer.write(packed, b"z")
        assert producer.end(number % 2 == 0) == 0
        wait_until(lambda number=number: latest(client, packed) == 4 * (number + 1))
    assert [first for _, first in aborted(client, packed)] == [4, 12]


# Offsets


def test_offsets_wait_for_the_end(client: RawClient, topic: str, producer: TransactionalClient) -> None:
    if not producer.v2:
        assert producer.add_offsets(topic) == 0
    assert producer.commit_offset(topic, topic, 7) == 0
    assert producer.fetch_offset(topic, topic, True) == (-1, ErrorCode.UNSTABLE_OFFSET_COMMIT)
    assert producer.fetch_offset(topic, topic, False) == (-1, 0)
    assert producer.end(True) == 0
    wait_until(lambda: producer.fetch_offset(topic, topic, True) == (7, 0))


@pytest.mark.parametrize(("version", "error"), [(3, ErrorCode.INVALID_TXN_STATE), (4, ErrorCode.TRANSACTION_ABORTABLE)])
def test_offsets_of_a_group_that_was_not_added(client: RawClient, topic: str, version: int, error: ErrorCode) -> None:
    producer = TransactionalClient(client, topic, v2=False)
    producer.write(topic, b"a")
    assert producer.commit_offset(topic, topic, 7, version=version) == error


def test_offsets_of_partitions_and_groups_that_do_not_exist(
    client: RawClient, topic: str, producer: TransactionalClient
) -> None:
    assert producer.commit_offset(topic, "nosuchtopic", 7) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if not producer.v2:
        assert producer.add_offsets(topic) == 0
    error = producer.commit_offset(topic, topic, 7, generation_id=3, member_id="m")
    assert error == ErrorCode.ILLEGAL_GENERATION


# Markers by hand


def test_an_admin_aborts_a_transaction_that_hangs(client: RawClient, topic: str, producer: TransactionalClient) -> None:
    producer.write(topic, b"a")
    asked = DescribeProducersRequest(topics=[TopicRequest(name=topic, partition_indexes=[0])])
    (state,) = client.call(asked, 0).topics[0].partitions[0].active_producers
    assert state.producer_id == producer.producer_id and state.current_txn_start_offset == 0
    assert write_marker(client, topic, producer) == 0
    assert latest(client, topic) == 2 and aborted(client, topic) == [(producer.producer_id, 0)]
    (state,) = client.call(asked, 0).topics[0].partitions[0].active_producers
    assert (state.current_txn_start_offset, state.coordinator_epoch) == (-1, 0)


def test_markers_that_come_too_late(client: RawClient, topic: str) -> None:
    producer = TransactionalClient(client, topic, v2=False)
    producer.init()
    producer.write(topic, b"a")
    assert write_marker(client, topic, producer, partition=9) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert write_marker(client, topic, producer, coordinator_epoch=4) == 0
    late = write_marker(client, topic, producer, coordinator_epoch=3)
    assert late == ErrorCode.TRANSACTION_COORDINATOR_FENCED
    stale = write_marker(client, topic, producer, coordinator_epoch=4, epoch=producer.epoch - 1)
    assert stale == ErrorCode.INVALID_PRODUCER_EPOCH


def test_a_transaction_is_not_complete_while_a_partition_holds_one_that_the_coordinator_has_lost(
    server: LocalBroker, client: RawClient, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    """As power loss can leave it: the log of a partition is ahead of the coordinator's. The next transaction would join what
    is open there, and commit records of which nobody knows how they ended."""
    producer = TransactionalClient(client, topic, v2=True)
    producer.write(topic, b"a")
    producer.write(topic, b"b", partition=1)
    unknown = batch(b"lost", is_transactional=True, producer_id=producer.producer_id, producer_epoch=1, base_sequence=0)
    server.call(lambda b: b.replicas.get(topic, 0).append(memoryview(unknown), b.clock.now_ms()))
    assert producer.end(True) == 0
    wait_until(lambda: f"{topic}-0; trying again" in caplog.text)
    assert latest(client, topic) == 0 and f"{topic}-1" not in caplog.text
    assert producer.produce(topic, b"c", partition=1).error_code == ErrorCode.CONCURRENT_TRANSACTIONS
    assert write_marker(client, topic, producer, epoch=1) == 0
    wait_until(lambda: producer.produce(topic, b"c", partition=1).error_code == 0)
    assert aborted(client, topic) == [(producer.producer_id, 0)]


# A slow disk


@pytest.mark.parametrize("v2", [False, True])
def test_on_a_slow_disk_everything_keeps_its_order(v2: bool) -> None:
    """Every append is done by the writer thread: verification, offsets and markers all end later than they began."""
    fs = ThrottledFs(write_delay_s=0.01, matching=".log", active=False)
    few = {"offsets.topic.num.partitions": 2, "transaction.state.log.num.partitions": 2}
    with broker(few, fs=fs) as server, RawClient(server.port) as client:
        topic = server.create_topic("t", 2)
        producer = TransactionalClient(client, "x", v2=v2)
        producer.write(topic, b"warm")
        assert producer.end(True) == 0
        fs.active = True
        for number in range(6):
            for partition in range(2):
                producer.write(topic, b"a", b"b", partition=partition)
            if not v2:
                assert producer.add_offsets("g") == 0
            assert producer.commit_offset("g", topic, number) == 0
            assert producer.fetch_offset("g", topic, True)[1] == ErrorCode.UNSTABLE_OFFSET_COMMIT
            assert producer.end(number % 2 == 0) == 0
            expected = number if number % 2 == 0 else number - 1
            wait_until(lambda expected=expected: producer.fetch_offset("g", topic, True) == (expected, 0))
            wait_until(lambda number=number: latest(client, topic) == 2 + 3 * (number + 1))
        assert fs.hits > 20
        assert [first for _, first in aborted(client, topic)] == [5, 11, 17]
