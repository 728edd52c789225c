"""The transaction coordinator on a broker: its topic, its log, its timers, and what a restart finds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headrace.clock import ManualClock
from headrace.testing import LocalBroker, broker, wait_until
from headrace.testing.faults import FailingFs
from headrace.wire.batch import Record, encode_batch
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from headrace.wire.messages.delete_topics import DeleteTopicsRequest
from headrace.wire.messages.describe_transactions import DescribeTransactionsRequest, TransactionState
from headrace.wire.messages.end_txn import EndTxnRequest
from headrace.wire.messages.find_coordinator import FindCoordinatorRequest
from headrace.wire.messages.init_producer_id import InitProducerIdRequest
from headrace.wire.messages.list_transactions import ListTransactionsRequest
from tests.broker.raw import RawClient
from tests.broker.transactional_client import TRANSACTIONS, TransactionalClient

TOPIC = "__transaction_state"
FEW = {"transaction.state.log.num.partitions": 4, "offsets.topic.num.partitions": 2}


def describe(client: RawClient, transactional_id: str) -> TransactionState:
    answer = client.call(DescribeTransactionsRequest(transactional_ids=[transactional_id]), 0)
    state: TransactionState = answer.transaction_states[0]
    return state


def is_in(client: RawClient, transactional_id: str, state: str) -> bool:
    return describe(client, transactional_id).transaction_state == state


def delete(client: RawClient, name: str) -> None:
    assert client.call(DeleteTopicsRequest(topic_names=[name], timeout_ms=10_000), 5).responses[0].error_code == 0


def test_the_first_question_creates_the_topic() -> None:
    with broker(FEW) as server, RawClient(server.port) as client:
        assert (
            client.call(InitProducerIdRequest(transactional_id="x", transaction_timeout_ms=1), 4).error_code
            == ErrorCode.NOT_COORDINATOR
        )
        assert server.call(lambda b: TOPIC not in b.image.topics)
        asked = FindCoordinatorRequest(key_type=TRANSACTIONS, coordinator_keys=["x", "y"])
        found = client.call(asked, 4).coordinators
        assert [(each.error_code, each.port) for each in found] == [(0, server.port)] * 2
        assert server.call(lambda b: len(b.image.topics[TOPIC].partitions)) == 4


def test_transactional_ids_that_are_missing_or_empty(client: RawClient, topic: str) -> None:
    producer = TransactionalClient(client, topic, v2=True)
    assert describe(client, "nobody").error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    assert describe(client, "").error_code == ErrorCode.INVALID_REQUEST
    for name, error in (("", ErrorCode.INVALID_REQUEST), ("nobody", ErrorCode.INVALID_PRODUCER_ID_MAPPING)):
        ended = EndTxnRequest(transactional_id=name, producer_id=producer.producer_id, producer_epoch=0)
        assert client.call(ended, 5).error_code == error
    empty = InitProducerIdRequest(transactional_id="", transaction_timeout_ms=1000)
    assert client.call(empty, 4).error_code == ErrorCode.INVALID_REQUEST
    half = InitProducerIdRequest(transactional_id="x", transaction_timeout_ms=1000, producer_id=7)
    assert client.call(half, 4).error_code == ErrorCode.INVALID_REQUEST
    long = InitProducerIdRequest(transactional_id="x", transaction_timeout_ms=900_001)
    assert client.call(long, 4).error_code == ErrorCode.INVALID_TRANSACTION_TIMEOUT


def test_clients_that_do_not_know_the_error_hear_an_older_one(client: RawClient, topic: str) -> None:
    producer = TransactionalClient(client, topic, v2=False)
    stale: dict[str, Any] = {"producer_id": producer.producer_id, "producer_epoch": producer.epoch + 1}
    fenced, old = ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH
    for version, error in ((1, old), (2, fenced), (4, fenced)):
        assert client.call(EndTxnRequest(transactional_id=topic, **stale), version).error_code == error
    again = InitProducerIdRequest(transactional_id=topic, transaction_timeout_ms=1000, **stale)
    assert client.call(again, 3).error_code == old
    assert client.call(again, 4).error_code == fenced


def test_one_partition_that_does_not_exist_fails_all(client: RawClient, topic: str) -> None:
    producer = TransactionalClient(client, topic, v2=True)

    def add(verify_only: bool, *partitions: int) -> list[int]:
        transaction = AddPartitionsToTxnTransaction(
            transactional_id=topic,
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            verify_only=verify_only,
            topics=[AddPartitionsToTxnTopic(name=topic, partitions=list(partitions))],
        )
        answer = client.call(AddPartitionsToTxnRequest(transactions=[transaction]), 5).results_by_transaction[0]
        return [each.partition_error_code for each in answer.topic_results[0].results_by_partition]

    assert add(False, 0, 9) == [ErrorCode.OPERATION_NOT_ATTEMPTED, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert add(True, 0) == [ErrorCode.TRANSACTION_ABORTABLE]
    assert add(False, 0) == add(False, 0) == [0]
    assert add(True, 0, 1) == [0, ErrorCode.TRANSACTION_ABORTABLE]
    assert producer.end(commit=False) == 0


@pytest.mark.parametrize("name", [TOPIC, "__consumer_offsets"])
def test_clients_do_not_write_into_the_state_of_coordinators(client: RawClient, topic: str, name: str) -> None:
    """What they wrote would be believed at the next start, or keep the coordinator from loading."""
    producer = TransactionalClient(client, topic, v2=False)
    assert producer.add_offsets("a group") == 0
    assert producer.end(commit=True) == 0
    record = encode_batch([Record(0, 1_700_000_000_000, b"\0\0\0\1a", b"forged", ())])
    for version in (3, 9, 12):
        refused = client.produce(name, record, version=version)
        assert (refused.error_code, refused.log_start_offset) == (ErrorCode.INVALID_TOPIC_EXCEPTION, -1)
    assert client.produce(name, b"junk").error_code == ErrorCode.INVALID_RECORD
    request = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=topic,
        v3_and_below_producer_id=producer.producer_id,
        v3_and_below_producer_epoch=producer.epoch,
        v3_and_below_topics=[
            AddPartitionsToTxnTopic(name=name, partitions=[0]),
            AddPartitionsToTxnTopic(name=topic, partitions=[0]),
        ],
    )
    added = {each.name: each.results_by_partition[0] for each in client.call(request, 3).results_by_topic_v3_and_below}
    assert added[name].partition_error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert added[topic].partition_error_code == ErrorCode.OPERATION_NOT_ATTEMPTED


def test_describe_and_list(client: RawClient, topic: str) -> None:
    producer = TransactionalClient(client, topic, v2=True)
    producer.write(topic, b"a", partition=1)
    state = describe(client, topic)
    assert (state.transaction_state, state.producer_id, state.producer_epoch) == ("Ongoing", producer.producer_id, 0)
    assert [(each.topic, each.partitions) for each in state.topics] == [(topic, [1])]

    def names(version: int = 2, **filters: Any) -> list[str]:
        answer = client.call(ListTransactionsRequest(**filters), version)
        assert answer.error_code == 0
        return [each.transactional_id for each in answer.transaction_states]

    assert topic in names(0)
    assert names(state_filters=["Ongoing"], transactional_id_pattern=f"{topic}") == [topic]
    assert names(producer_id_filters=[producer.producer_id]) == [topic]
    assert names(1, duration_filter=3_600_000, producer_id_filters=[producer.producer_id]) == []
    unknown = client.call(ListTransactionsRequest(state_filters=["Sleeping"]), 2)
    assert unknown.unknown_state_filters == ["Sleeping"] and not unknown.transaction_states
    for pattern in ("(", "(?=a)", r"(a)\1", "x{5000}"):
        broken = client.call(ListTransactionsRequest(transactional_id_pattern=pattern), 2)
        assert broken.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION
    producer.end(commit=True)
    wait_until(lambda: is_in(client, topic, "CompleteCommit"))


def test_a_hostile_pattern_stops_nobody(client: RawClient, topic: str) -> None:
    """A backtracking matcher would take longer than the universe is old."""
    name = f"{topic}-{'a' * 60}"
    TransactionalClient(client, name, v2=True)
    listed = client.call(ListTransactionsRequest(transactional_id_pattern=f"{topic}-(a+)+b"), 2)
    assert listed.error_code == 0 and not listed.transaction_states
    listed = client.call(ListTransactionsRequest(transactional_id_pattern=f"{topic}-(a+)+"), 2)
    assert [each.transactional_id for each in listed.transaction_states] == [name]


@pytest.mark.parametrize("v2", [False, True], ids=["v1", "v2"])
def test_a_restart_between_the_decision_and_the_markers(v2: bool, tmp_path: Path) -> None:
    """The disk of a partition that took part fails before the marker is there, and is repaired after a restart."""
    kept, broken = tmp_path / "kept", tmp_path / "broken"
    disk = FailingFs(matching=str(broken), active=False)
    one = {"transaction.state.log.num.partitions": 1, "log.dirs": f"{kept},{broken}"}
    with broker(one, fs=disk) as server:
        server.create_topic("t", 2)
        index = next(int(path.name[2:]) for path in broken.glob("t-*"))
        # A partition goes where there are fewest, so that the next one goes to the directory that is kept.
        server.create_topic("f")
        if list(kept.glob("f-0")):
            server.create_topic("g")
        with RawClient(server.port) as client:
            producer = TransactionalClient(client, "x", v2=v2)
            assert list(kept.glob("__transaction_state-0"))
            producer.write("t", b"a", partition=index)
            disk.active = True
            assert producer.end(commit=True) == 0
            wait_until(lambda: server.call(lambda b: b.replicas.directories[1].files.offline) is not None)
            assert is_in(client, "x", "PrepareCommit")
        disk.active = False
        server.restart()
        with RawClient(server.port) as client:
            wait_until(lambda: is_in(client, "x", "CompleteCommit"))
            data = client.fetch("t", 0, partition=index, isolation_level=1)
            assert data.last_stable_offset == 2 and data.aborted_transactions in (None, [])
            fresh = TransactionalClient(client, "x", v2=v2)
            assert fresh.producer_id == producer.producer_id and fresh.epoch == producer.epoch + 1


def test_partitions_of_a_deleted_topic_need_no_marker() -> None:
    with broker(FEW) as server, RawClient(server.port) as client:
        server.create_topic("t")
        producer = TransactionalClient(client, "x", v2=True)
        producer.write("t", b"a")
        delete(client, "t")
        assert producer.end(commit=True) == 0
        wait_until(lambda: is_in(client, "x", "CompleteCommit"))


def test_timeouts_and_expiry_by_the_clock() -> None:
    clock = ManualClock()
    hour_ms = 3_600_000

    def advance(server: LocalBroker, ms: int) -> None:
        clock.advance(ms)
        server.call(lambda b: b.transactions.on_clock())

    with broker({**FEW, "transactional.id.expiration.ms": 2 * hour_ms}, clock=clock) as server:
        with RawClient(server.port) as client:
            server.create_topic("t")
            producer = TransactionalClient(client, "x", v2=False)
            assert producer.add("t") == 0
            advance(server, 50_000)
            assert is_in(client, "x", "Ongoing")
            advance(server, 20_000)
            wait_until(lambda: is_in(client, "x", "CompleteAbort"))
            assert producer.end(commit=True) == ErrorCode.PRODUCER_FENCED
            advance(server, 4 * hour_ms)
            assert describe(client, "x").error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
        server.restart()
        with RawClient(server.port) as client:
            assert describe(client, "x").error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND


def test_a_deleted_topic_is_created_anew() -> None:
    with broker(FEW) as server, RawClient(server.port) as client:
        first = TransactionalClient(client, "x", v2=True)
        delete(client, TOPIC)
        assert first.end(commit=False) == ErrorCode.NOT_COORDINATOR
        second = TransactionalClient(client, "x", v2=True)
        assert second.epoch == 0 and second.producer_id != first.producer_id
