"""Requests that ordinary clients do not send, answered as Kafka answers them; `tests/oracle` found each of these."""

from __future__ import annotations

import struct

import pytest

from headrace.testing import LocalBroker, broker_process
from headrace.wire.batch import Record, encode_batch
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.api_versions import ApiVersionsRequest
from headrace.wire.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from headrace.wire.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from headrace.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic
from headrace.wire.messages.find_coordinator import FindCoordinatorRequest
from headrace.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from headrace.wire.messages.init_producer_id import InitProducerIdRequest
from headrace.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from headrace.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from headrace.wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from headrace.wire.messages.produce import ProduceRequest, TopicProduceData
from tests.broker.raw import RawClient, batch

DAY_MS = 86_400_000


def fetch(topic: str, *wanted: tuple[int, int], session: int = 0, epoch: int = -1, **fields) -> FetchRequest:
    rows = [
        FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=1 << 20) for index, offset in wanted
    ]
    topics = [FetchTopic(topic=topic, partitions=rows)] if rows else []
    return FetchRequest(min_bytes=1, session_id=session, session_epoch=epoch, topics=topics, **fields)


def test_a_transactional_batch_without_a_transaction_is_refused(client: RawClient, topic: str) -> None:
    """Nobody could end it, and readers of committed records would stop there for ever."""
    sent = batch(b"a", is_transactional=True, producer_id=5, producer_epoch=0, base_sequence=0)
    assert client.produce(topic, sent).error_code == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert client.fetch(topic, 0).last_stable_offset == 0


@pytest.mark.parametrize(("version", "code"), [(3, 76), (6, 76), (7, 0), (12, 0)])
def test_zstd_needs_version_7(client: RawClient, topic: str, version: int, code: int) -> None:
    assert client.produce(topic, batch(b"a", codec=4), version=version).error_code == code


def test_where_the_log_starts_is_told_with_some_errors_only(client: RawClient, topic: str) -> None:
    damaged = batch(b"a")
    damaged[-1] ^= 1
    for sent, start in ((damaged, -1), (b"", -1), (batch(b"a") * 2, -1), (batch(b"a", is_control=True), 0)):
        answer = client.produce(topic, sent)
        assert answer.error_code and answer.log_start_offset == start


def test_a_topic_without_partitions_is_left_out(client: RawClient, topic: str) -> None:
    produce = ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[TopicProduceData(name=topic)])
    assert client.call(produce, 12).responses == []
    assert client.call(ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=topic)]), 7).topics == []
    assert client.call(DeleteRecordsRequest(topics=[DeleteRecordsTopic(name=topic)]), 2).topics == []


def test_a_missing_key_comes_before_a_wrong_time(server: LocalBroker, client: RawClient) -> None:
    name = server.create_topic("compact", cleanup_policy="compact")
    tomorrow = server.clock.now_ms() + DAY_MS
    records = [Record(timestamp=tomorrow, value=b"a"), Record(timestamp=tomorrow, value=b"b")]
    answer = client.produce(name, encode_batch(records))
    assert (answer.error_code, len(answer.record_errors)) == (ErrorCode.INVALID_RECORD, 2)
    keyed = [Record(timestamp=tomorrow, key=b"k", value=b"a"), Record(timestamp=tomorrow, value=b"b")]
    answer = client.produce(name, encode_batch(keyed))
    assert (answer.error_code, len(answer.record_errors)) == (ErrorCode.INVALID_TIMESTAMP, 2)


@pytest.mark.parametrize(("producer_id", "epoch"), [(5, -1), (-1, 5)])
def test_an_id_without_an_epoch_is_refused(client: RawClient, producer_id: int, epoch: int) -> None:
    request = InitProducerIdRequest(transactional_id=None, producer_id=producer_id, producer_epoch=epoch)
    assert client.call(request, 4).error_code == ErrorCode.INVALID_REQUEST


def test_a_version_that_is_not_advertised_is_not_served(client: RawClient) -> None:
    client.socket.sendall(struct.pack(">ihhihb", 11, 22, 6, 1, -1, 0))
    assert client.closed()


def test_a_client_with_a_bad_name_learns_nothing(client: RawClient) -> None:
    answer = client.call(ApiVersionsRequest(client_software_name="a b", client_software_version="1"), 3)
    assert (answer.error_code, answer.api_keys) == (ErrorCode.INVALID_REQUEST, [])


def test_an_offset_out_of_range_tells_no_offsets(client: RawClient, topic: str) -> None:
    client.produce(topic, batch(b"a"))
    data = client.fetch(topic, 7)
    assert (data.error_code, data.high_watermark, data.log_start_offset) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1, -1)
    assert data.aborted_transactions is None


def test_the_last_word_about_a_partition_counts(client: RawClient, topic: str) -> None:
    for _ in range(3):
        client.produce(topic, batch(b"a"))
    (read,) = client.call(fetch(topic, (0, 0), (0, 2)), 12).responses[0].partitions
    assert struct.unpack_from(">q", read.records)[0] == 2
    rows = [DeleteRecordsPartition(partition_index=0, offset=offset) for offset in (2, 1)]
    request = DeleteRecordsRequest(timeout_ms=1000, topics=[DeleteRecordsTopic(name=topic, partitions=rows)])
    (deleted,) = client.call(request, 2).topics[0].partitions
    assert deleted.low_watermark == 1


def test_a_partition_asked_for_twice_is_answered_once(client: RawClient, topic: str) -> None:
    rows = [ListOffsetsPartition(partition_index=0, timestamp=timestamp) for timestamp in (-1, -2)]
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=topic, partitions=rows)])
    (answer,) = client.call(request, 7).topics[0].partitions
    assert answer.error_code == ErrorCode.INVALID_REQUEST


def test_a_long_request_with_a_repetition_stops_nobody(client: RawClient, topic: str) -> None:
    indexes = [*range(50_000), 0]
    rows = [ListOffsetsPartition(partition_index=index, timestamp=-1) for index in indexes]
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=topic, partitions=rows)])
    answers = client.call(request, 5).topics[0].partitions
    errors = [each.error_code for each in answers]
    assert errors[:3] == [ErrorCode.INVALID_REQUEST, 0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]


def test_a_reader_that_diverged_is_told_where(client: RawClient, topic: str) -> None:
    client.produce(topic, batch(b"a"))

    def read(offset: int, epoch: int):
        request = fetch(topic, (0, offset), max_wait_ms=20_000)
        request.topics[0].partitions[0].last_fetched_epoch = epoch
        return client.call(request, 12).responses[0].partitions[0]

    assert read(0, 0).records
    diverged = read(5, 0)
    assert (diverged.error_code, diverged.records) == (0, b"")
    assert (diverged.diverging_epoch.epoch, diverged.diverging_epoch.end_offset) == (0, 1)
    assert read(0, 3).error_code == ErrorCode.OFFSET_OUT_OF_RANGE


def test_a_session_ends_with_its_last_partition(client: RawClient, topic: str) -> None:
    session = client.call(fetch(topic, (0, 0), epoch=0), 12).session_id
    forget = [ForgottenTopic(topic=topic, partitions=[0])]
    ended = client.call(fetch(topic, session=session, epoch=1, forgotten_topics_data=forget), 12)
    assert (ended.error_code, ended.session_id) == (ErrorCode.NONE, 0)
    after = client.call(fetch(topic, session=session, epoch=2), 12)
    assert after.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_a_session_may_begin_empty(client: RawClient, topic: str) -> None:
    client.produce(topic, batch(b"a"))
    session = client.call(fetch(topic, epoch=0), 12).session_id
    assert session
    assert client.call(fetch(topic, (0, 0), session=session, epoch=1), 12).responses[0].partitions[0].records


def test_the_first_answer_of_a_session_does_not_change_the_order(client: RawClient, topic: str) -> None:
    for partition in (0, 1):
        client.produce(topic, batch(b"a"), partition=partition)
    limit = {"max_bytes": 1}
    session = client.call(fetch(topic, (0, 0), (1, 0), epoch=0, **limit), 12).session_id
    for epoch, expected in ((1, 0), (2, 1), (3, 0)):
        answer = client.call(fetch(topic, session=session, epoch=epoch, **limit), 12)
        assert [row.partition_index for row in answer.responses[0].partitions if row.records] == [expected]


def test_the_epoch_of_a_leader_begins_before_its_first_record(client: RawClient, topic: str) -> None:
    def ask(epoch: int, current: int = -1):
        row = OffsetForLeaderPartition(partition=0, leader_epoch=epoch, current_leader_epoch=current)
        request = OffsetForLeaderEpochRequest(topics=[OffsetForLeaderTopic(topic=topic, partitions=[row])])
        answer = client.call(request, 4).topics[0].partitions[0]
        return answer.error_code, answer.leader_epoch, answer.end_offset

    assert ask(0) == (0, 0, 0)
    assert ask(-2) == (0, -2, 0)
    assert ask(-1) == ask(7) == (0, -1, -1)
    assert ask(0, current=-2)[0] == ErrorCode.FENCED_LEADER_EPOCH


def test_an_epoch_in_which_nothing_was_written_ends_with_the_one_before() -> None:
    with broker_process() as process:
        process.create_topic("t")
        process.produce("t", [b"a", b"b"])
        for _ in range(2):
            process.kill()
            process.restart()
        with RawClient(process.port) as client:
            row = OffsetForLeaderPartition(partition=0, leader_epoch=1, current_leader_epoch=2)
            request = OffsetForLeaderEpochRequest(topics=[OffsetForLeaderTopic(topic="t", partitions=[row])])
            answer = client.call(request, 4).topics[0].partitions[0]
    assert (answer.error_code, answer.leader_epoch, answer.end_offset) == (0, 0, 2)


def test_names_beside_ids_are_not_looked_at(server: LocalBroker, client: RawClient, topic: str) -> None:
    topic_id = server.call(lambda b: b.image.topics[topic].id)
    wanted = [MetadataRequestTopic(name="other"), MetadataRequestTopic(name=None, topic_id=topic_id)]
    wanted.append(MetadataRequestTopic(name=None, topic_id=bytes(range(16))))
    request = MetadataRequest(topics=wanted, include_topic_authorized_operations=True)
    found = {row.topic_id: row for row in client.call(request, 12).topics}
    assert found[topic_id].name == topic and len(found) == 2
    assert found[bytes(range(16))].topic_authorized_operations == -0x80000000


def test_elections_of_no_known_kind_are_refused(client: RawClient, topic: str) -> None:
    request = ElectLeadersRequest(election_type=7, topic_partitions=[TopicPartitions(topic=topic, partitions=[0])])
    answer = client.call(request, 2)
    assert answer.error_code == ErrorCode.INVALID_REQUEST
    assert answer.replica_election_results[0].partition_result[0].error_code == ErrorCode.INVALID_REQUEST


def test_asking_for_no_coordinator_makes_none(client: RawClient) -> None:
    assert client.call(FindCoordinatorRequest(coordinator_keys=[]), 4).coordinators == []
    names = {row.name for row in client.call(MetadataRequest(topics=None), 9).topics}
    assert "__consumer_offsets" not in names


@pytest.mark.parametrize("version", [0, 1])
def test_a_long_value_is_not_repeated_in_full(client: RawClient, topic: str, version: int) -> None:
    configs = [AlterableConfig(name="cleanup.policy", value="x" * 32_767)]
    resource = AlterConfigsResource(resource_type=2, resource_name=topic, configs=configs)
    answer = client.call(IncrementalAlterConfigsRequest(resources=[resource]), version).responses[0]
    assert answer.error_code == ErrorCode.INVALID_CONFIG and len(answer.error_message) < 2000
