"""Produce, Fetch and ListOffsets on the wire: offsets, errors, limits, long polls, sessions."""

from __future__ import annotations

import threading
import time

import pytest

from headrace.testing import LocalBroker, broker, wait_until
from headrace.testing.faults import ThrottledFs
from headrace.wire.batch import decode_records
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from headrace.wire.messages.init_producer_id import InitProducerIdRequest
from headrace.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from tests.broker.raw import RawClient, batch, fetch_request, produce_request


def values(data) -> list[bytes | None]:
    found, position, records = [], 0, memoryview(data.records or b"")
    while position < len(records):
        size = 12 + int.from_bytes(records[position + 8 : position + 12], "big")
        found += [record.value for record in decode_records(records[position : position + size])]
        position += size
    return found


@pytest.mark.parametrize("version", range(3, 14))
def test_every_version_of_produce_appends(server: LocalBroker, client: RawClient, topic: str, version: int) -> None:
    request = produce_request(topic, batch(b"a", b"b"))
    request.topic_data[0].topic_id = server.call(lambda b: b.image.topics[topic].id)
    answer = client.call(request, version).responses[0].partition_responses[0]
    assert (answer.error_code, answer.base_offset) == (0, 0)


@pytest.mark.parametrize("version", range(4, 19))
def test_every_version_of_fetch_reads(server: LocalBroker, client: RawClient, topic: str, version: int) -> None:
    client.produce(topic, batch(b"a", b"b"))
    request = fetch_request(topic, 0)
    request.topics[0].topic_id = server.call(lambda b: b.image.topics[topic].id)
    data = client.call(request, version).responses[0].partitions[0]
    assert values(data) == [b"a", b"b"] and data.high_watermark == 2


def test_an_offset_inside_a_batch_answers_the_whole_batch(client: RawClient, topic: str) -> None:
    client.produce(topic, batch(b"a", b"b", b"c"))
    client.produce(topic, batch(b"d"))
    assert values(client.fetch(topic, 1)) == [b"a", b"b", b"c", b"d"]
    assert values(client.fetch(topic, 3)) == [b"d"]
    assert values(client.fetch(topic, 4)) == []


def test_the_first_batch_comes_whole_however_small_the_limit(client: RawClient, topic: str) -> None:
    client.produce(topic, batch(b"x" * 5000))
    client.produce(topic, batch(b"y"))
    assert values(client.fetch(topic, 0, partition_max_bytes=1)) == [b"x" * 5000]
    assert values(client.fetch(topic, 0, max_bytes=1)) == [b"x" * 5000]
    assert values(client.fetch(topic, 0, partition_max_bytes=0)) == [b"x" * 5000]


def test_offsets_outside_the_log_are_refused(client: RawClient, topic: str) -> None:
    client.produce(topic, batch(b"a"))
    assert client.fetch(topic, 2).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert client.fetch(topic, -1).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert client.fetch(topic, 1).error_code == 0


def test_unknown_topics_partitions_and_epochs(client: RawClient, topic: str) -> None:
    assert client.fetch("nowhere", 0).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert client.fetch(topic, 0, partition=9).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert client.fetch(topic, 0, leader_epoch=5).error_code == ErrorCode.UNKNOWN_LEADER_EPOCH
    assert client.produce("nowhere", batch(b"a")).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    unknown = client.call(fetch_request(topic, 0), 13).responses[0].partitions[0]
    assert unknown.error_code == ErrorCode.UNKNOWN_TOPIC_ID


@pytest.mark.parametrize(
    ("damage", "code"),
    [
        (lambda b: b[:30], ErrorCode.INVALID_RECORD),
        (lambda b: b + b, ErrorCode.INVALID_RECORD),
        (lambda b: b[:70] + bytes([b[70] ^ 1]) + b[71:], ErrorCode.CORRUPT_MESSAGE),
        (lambda b: b"", ErrorCode.INVALID_RECORD),
    ],
    ids=["cut", "two batches", "bit flip", "empty"],
)
def test_bad_batches_are_refused(client: RawClient, topic: str, damage, code: ErrorCode) -> None:
    answer = client.produce(topic, damage(bytes(batch(b"a", b"b"))))
    assert answer.error_code == code
    assert client.fetch(topic, 0).high_watermark == 0


def test_wrong_acks_are_refused(client: RawClient, topic: str) -> None:
    answer = client.call(produce_request(topic, batch(b"a"), acks=2), 9)
    assert answer.responses[0].partition_responses[0].error_code == ErrorCode.INVALID_REQUIRED_ACKS


def test_a_long_poll_ends_with_data_or_with_time(server: LocalBroker, client: RawClient, topic: str) -> None:
    started = time.monotonic()
    assert values(client.fetch(topic, 0, max_wait_ms=80)) == []
    assert time.monotonic() - started >= 0.079

    def later() -> None:
        with RawClient(server.port) as writer:
            writer.produce(topic, batch(b"now"))

    client.send(fetch_request(topic, 0, max_wait_ms=30_000), 12)
    writer = threading.Thread(target=later)
    writer.start()
    assert values(client.receive().responses[0].partitions[0]) == [b"now"]
    writer.join()


def test_a_segment_that_ends_is_not_waited_for(server: LocalBroker, client: RawClient, topic: str) -> None:
    """There is more in the next one, which another request reads."""
    for _ in range(3):
        client.produce(topic, batch(b"x"))
        server.call(lambda b: b.replicas.topics[topic][0].log.roll(b.clock.now_ms()))
    began = time.monotonic()
    data = client.fetch(topic, 0, max_wait_ms=20_000, min_bytes=100_000)
    assert values(data) == [b"x"] and data.high_watermark == 3
    assert time.monotonic() - began < 10


def test_what_arrives_during_a_read_from_disk_is_not_missed() -> None:
    fs = ThrottledFs(read_delay_s=0.5, matching="cold-0", active=False)
    with broker(fs=fs) as server, RawClient(server.port) as client, RawClient(server.port) as other:
        server.create_topic("cold")
        client.produce("cold", batch(b"first"))
        fs.active = True
        other.send(fetch_request("cold", 0, max_wait_ms=20_000, min_bytes=500), 12)
        wait_until(lambda: fs.hits, message="the read from disk has begun")
        client.produce("cold", batch(b"x" * 1000))
        began = time.monotonic()
        assert len(other.receive().responses[0].partitions[0].records) > 1000
        assert time.monotonic() - began < 10


def test_min_bytes_waits_for_enough(server: LocalBroker, client: RawClient, topic: str) -> None:
    client.send(fetch_request(topic, 0, max_wait_ms=30_000, min_bytes=3000), 12)
    with RawClient(server.port) as writer:
        for _ in range(3):
            writer.produce(topic, batch(b"x" * 1000))
    assert len(values(client.receive().responses[0].partitions[0])) == 3


def test_idempotent_batches_are_stored_once(client: RawClient, topic: str) -> None:
    given = client.call(InitProducerIdRequest(transactional_id=None), 4)
    assert given.error_code == 0 and given.producer_epoch == 0
    fields = {"producer_id": given.producer_id, "producer_epoch": 0}
    first = client.produce(topic, batch(b"a", b"b", base_sequence=0, **fields))
    again = client.produce(topic, batch(b"a", b"b", base_sequence=0, **fields))
    assert (first.base_offset, again.base_offset, again.error_code) == (0, 0, 0)
    gap = client.produce(topic, batch(b"z", base_sequence=5, **fields))
    assert gap.error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert client.produce(topic, batch(b"c", base_sequence=2, **fields)).base_offset == 2
    assert values(client.fetch(topic, 0)) == [b"a", b"b", b"c"]


def test_producer_ids_are_never_given_twice(server: LocalBroker, client: RawClient) -> None:
    ids = [client.call(InitProducerIdRequest(transactional_id=None), 4).producer_id for _ in range(50)]
    server.restart()
    with RawClient(server.port) as again:
        ids += [again.call(InitProducerIdRequest(transactional_id=None), 4).producer_id for _ in range(50)]
    assert len(set(ids)) == 100


def list_offsets(client: RawClient, topic: str, timestamp: int, version: int = 7, partition: int = 0):
    part = ListOffsetsPartition(partition_index=partition, timestamp=timestamp, current_leader_epoch=-1)
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=topic, partitions=[part])])
    return client.call(request, version).topics[0].partitions[0]


def test_offsets_by_time(server: LocalBroker, topic: str) -> None:
    with RawClient(server.port) as client:
        for timestamp in (1000, 3000, 2000):
            client.produce(topic, batch(b"a", b"b", timestamp=timestamp))
        found = {ts: list_offsets(client, topic, ts).offset for ts in (-2, -1, -3, 0, 1000, 1001, 2500, 3000, 3001)}
    assert found == {-2: 0, -1: 6, -3: 2, 0: 0, 1000: 0, 1001: 2, 2500: 2, 3000: 2, 3001: -1}


def test_offsets_of_nothing(server: LocalBroker, topic: str) -> None:
    with RawClient(server.port) as client:
        assert list_offsets(client, topic, -3).offset == -1
        assert list_offsets(client, topic, 5).offset == -1
        assert list_offsets(client, "nowhere", -1).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert list_offsets(client, topic, -3, version=6).error_code == ErrorCode.UNSUPPORTED_VERSION
        assert list_offsets(client, topic, -5, version=11).offset == -1


def test_an_incremental_session_sends_only_news(server: LocalBroker, topic: str) -> None:
    with RawClient(server.port) as client:
        client.produce(topic, batch(b"a"))
        opened = client.call(session_request(topic, 0, 0, {0: 0, 1: 0}), 12)
        assert opened.session_id and [p.partition_index for p in opened.responses[0].partitions] == [0, 1]
        moved = client.call(session_request(topic, opened.session_id, 1, {0: 1}), 12)
        assert moved.responses == []
        client.produce(topic, batch(b"b"), partition=1)
        news = client.call(session_request(topic, opened.session_id, 2, {}), 12)
        assert [p.partition_index for p in news.responses[0].partitions] == [1]
        wrong = client.call(session_request(topic, opened.session_id, 9, {}), 12)
        assert wrong.error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH


def session_request(topic: str, session_id: int, epoch: int, offsets: dict[int, int]) -> FetchRequest:
    partitions = [FetchPartition(partition=p, fetch_offset=o, partition_max_bytes=1 << 20) for p, o in offsets.items()]
    topics = [FetchTopic(topic=topic, partitions=partitions)] if partitions else []
    return FetchRequest(
        session_id=session_id, session_epoch=epoch, max_wait_ms=0, min_bytes=1, max_bytes=1 << 20, topics=topics
    )


def test_short_answers_on_this_machine_serve_every_partition_in_turn(server: LocalBroker, topic: str) -> None:
    with RawClient(server.port) as client:
        for partition in (0, 1):
            for _ in range(3):
                client.produce(topic, batch(b"x" * 460_000), partition=partition)
            client.produce(topic, batch(b"small"), partition=partition)
        wanted = [FetchPartition(partition=p, fetch_offset=0, partition_max_bytes=1 << 20) for p in (0, 1)]
        request = FetchRequest(
            session_epoch=-1, max_bytes=1 << 30, topics=[FetchTopic(topic=topic, partitions=wanted)], min_bytes=1
        )

        def served() -> set[tuple[int, ...]]:
            answers = [client.call(request, 12).responses[0].partitions for _ in range(4)]
            assert all([row.partition_index for row in rows] == [0, 1] for rows in answers), "the request's order"
            return {tuple(len(values(row)) for row in rows) for rows in answers}

        assert served() == {(2, 0), (0, 2)}
        wanted[0].fetch_offset, wanted[1].fetch_offset = 1, 3
        assert served() == {(3, 0), (3, 1)}, "whoever comes second finds too little room to be looked at"
        request.min_bytes = 930_000
        assert served() == {(3, 1)}, "unless that is still wanted"
        wanted[0].fetch_offset = wanted[1].fetch_offset = 0
        request.min_bytes = 2_000_000
        rows = client.call(request, 12).responses[0].partitions
        assert sum(len(row.records) for row in rows) > 1_500_000, "min_bytes counts for more than the short answer"
