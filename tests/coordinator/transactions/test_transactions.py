"""Transactions from their first partition to their last marker."""

from __future__ import annotations

import pytest

from headrace.coordinator.transactions.checks import Producer
from headrace.coordinator.transactions.describing import Filter
from headrace.coordinator.transactions.transaction import MAX_EPOCH, TransactionState
from headrace.wire.errors import ErrorCode
from tests.coordinator.transactions.driver import START_MS, Driver

LAST_EPOCH = MAX_EPOCH - 1
A, B = ("a", 0), ("b", 3)


@pytest.fixture
def d() -> Driver:
    return Driver()


@pytest.mark.parametrize("version, epoch", [(0, 0), (2, 1)])
@pytest.mark.parametrize("commit", [True, False])
def test_markers_go_to_every_partition_and_complete_it(d: Driver, version: int, epoch: int, commit: bool) -> None:
    producer = d.init().producer
    assert d.add(producer, A, version=version).error is ErrorCode.NONE
    assert d.add(producer, B, version=version).error is ErrorCode.NONE
    ended = d.end(producer, commit=commit, version=version)
    assert ended.error is ErrorCode.NONE
    assert d.state() is (TransactionState.PREPARE_COMMIT if commit else TransactionState.PREPARE_ABORT)
    d.write_markers({B: ErrorCode.NOT_LEADER_OR_FOLLOWER})
    assert d.current().partitions == {B}, "those without a marker are shown"
    assert [each.attempt for each in d.markers] == [1]
    d.write_markers()
    assert d.written == [(each, producer.producer_id, epoch, commit) for each in (A, B)]
    assert d.state() is (TransactionState.COMPLETE_COMMIT if commit else TransactionState.COMPLETE_ABORT)
    assert not d.current().partitions


def test_version_2_gives_the_next_epoch_and_version_1_nothing(d: Driver) -> None:
    producer = d.init().producer
    d.add(producer)
    assert d.end(producer).producer == Producer(producer.producer_id, 1)
    old = d.init("y").producer
    d.add(old, name="y", version=0)
    answer = d.end(old, name="y", version=0).response
    assert (answer.producer_id, answer.producer_epoch) == (-1, -1)
    assert d.current("y").producer_epoch == 0


def test_a_version_2_end_may_be_repeated(d: Driver) -> None:
    producer = d.init().producer
    d.add(producer)
    bumped = d.end(producer).producer
    assert d.end(producer).error is ErrorCode.CONCURRENT_TRANSACTIONS
    d.write_markers()
    assert d.end(producer).producer == bumped
    assert d.end(producer, commit=False).error is ErrorCode.INVALID_TXN_STATE
    assert d.end(bumped).error is ErrorCode.INVALID_TXN_STATE, "nothing to commit in the next transaction"


def test_a_version_2_abort_needs_no_partitions(d: Driver) -> None:
    producer = d.init().producer
    assert d.end(Producer(producer.producer_id, -1), commit=False).error is ErrorCode.PRODUCER_FENCED
    assert d.end(producer).error is ErrorCode.INVALID_TXN_STATE
    for epoch in (1, 2):
        producer = d.end(producer, commit=False).producer
        assert producer.epoch == epoch and d.state() is TransactionState.COMPLETE_ABORT
    assert not d.markers and d.current().start_ms == START_MS


def test_a_version_1_end_needs_a_transaction_and_may_be_repeated(d: Driver) -> None:
    producer = d.init().producer
    for commit in (True, False):
        assert d.end(producer, commit=commit, version=0).error is ErrorCode.INVALID_TXN_STATE
    d.add(producer, version=0)
    d.end(producer, version=0)
    assert d.end(producer, version=0).error is ErrorCode.CONCURRENT_TRANSACTIONS
    d.write_markers()
    assert d.end(producer, version=0).error is ErrorCode.NONE
    assert d.end(producer, commit=False, version=0).error is ErrorCode.INVALID_TXN_STATE
    assert d.end(Producer(producer.producer_id, 1), version=0).error is ErrorCode.PRODUCER_FENCED


@pytest.mark.parametrize("version", [0, 2])
def test_strangers_are_refused(d: Driver, version: int) -> None:
    assert d.add(Producer(1, 0), version=version).error is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert d.end(Producer(1, 0), version=version).error is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert d.verify(Producer(1, 0)) is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert d.verify(Producer(1, 0), name="") is ErrorCode.INVALID_REQUEST
    assert d.add(Producer(1, 0), name="").error is d.end(Producer(1, 0), name="").error is ErrorCode.INVALID_REQUEST
    producer = d.init().producer
    stranger, fenced = Producer(1, 0), Producer(producer.producer_id, 7)
    assert d.add(stranger, version=version).error is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert d.end(stranger, version=version).error is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert d.add(fenced, version=version).error is ErrorCode.PRODUCER_FENCED
    assert d.end(fenced, version=version).error is ErrorCode.PRODUCER_FENCED
    assert d.verify(stranger) is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert d.verify(fenced) is ErrorCode.PRODUCER_FENCED


def test_verification_knows_what_was_added(d: Driver) -> None:
    producer = d.init().producer
    assert d.verify(producer, A) is ErrorCode.TRANSACTION_ABORTABLE
    d.add(producer, A, version=0)
    assert d.verify(producer, A) is ErrorCode.NONE
    assert d.verify(producer, B) is ErrorCode.TRANSACTION_ABORTABLE
    d.end(producer, version=0)
    assert d.verify(producer, A) is ErrorCode.CONCURRENT_TRANSACTIONS
    d.write_markers()
    assert d.verify(producer, A) is ErrorCode.TRANSACTION_ABORTABLE


def test_adding_again_writes_nothing(d: Driver) -> None:
    producer = d.init().producer
    d.add(producer, A, B)
    written = len(d.log)
    assert d.add(producer, B).error is ErrorCode.NONE
    assert len(d.log) == written


def test_the_next_transaction_waits_for_the_markers(d: Driver) -> None:
    producer = d.init().producer
    d.add(producer)
    bumped = d.end(producer).producer
    assert d.add(bumped).error is ErrorCode.CONCURRENT_TRANSACTIONS
    d.write_markers()
    assert d.add(bumped).error is ErrorCode.NONE
    assert d.add(producer).error is ErrorCode.PRODUCER_FENCED


@pytest.mark.parametrize("commit", [True, False])
def test_the_last_epoch_ends_with_a_new_producer_id(d: Driver, commit: bool) -> None:
    d.init()
    last = d.set_epoch(LAST_EPOCH)
    d.add(last)
    fresh = d.end(last, commit=commit).producer
    assert fresh.producer_id != last.producer_id and fresh.epoch == 0
    assert d.add(fresh).error is ErrorCode.CONCURRENT_TRANSACTIONS
    d.write_markers()
    assert d.written == [(("t", 0), last.producer_id, MAX_EPOCH, commit)]
    assert d.end(last, commit=commit).producer == fresh, "the answer may have been lost"
    assert d.add(fresh).error is ErrorCode.NONE
    assert d.end(last, commit=commit).error is ErrorCode.INVALID_PRODUCER_ID_MAPPING


def test_a_fence_at_the_last_epoch_also_brings_a_new_producer_id(d: Driver) -> None:
    d.init()
    last = d.set_epoch(LAST_EPOCH)
    d.add(last)
    d.init()
    d.write_markers()
    assert d.current().producer_epoch == 0 and d.current().producer_id != last.producer_id
    assert d.init().producer.epoch == 1


def test_no_end_without_a_producer_id_when_one_is_needed(d: Driver) -> None:
    d.init()
    last = d.set_epoch(LAST_EPOCH)
    d.add(last)
    d.ids_in_hand = False
    assert d.end(last).error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert d.init().error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    d.advance(120_000)
    assert d.state() is TransactionState.ONGOING
    d.ids_in_hand = True
    d.advance(20_000)
    assert d.state() is TransactionState.PREPARE_ABORT


@pytest.mark.parametrize("server, client", [(2, 2), (2, 0), (1, 0)])
def test_a_transaction_times_out(server: int, client: int) -> None:
    d = Driver(server_version=server)
    producer = d.init(timeout_ms=30_000).producer
    d.advance(100_000)
    d.add(producer, version=client)
    d.advance(29_000)
    assert d.state() is TransactionState.ONGOING
    d.advance(12_000)
    assert d.state() is TransactionState.PREPARE_ABORT
    d.write_markers()
    assert d.written == [(("t", 0), producer.producer_id, 1, False)]
    assert d.end(producer, version=client).error is (
        ErrorCode.INVALID_TXN_STATE if client == 2 else ErrorCode.PRODUCER_FENCED
    )
    assert d.add(producer, version=client).error is ErrorCode.PRODUCER_FENCED


def test_a_setting_of_the_clock_moves_the_checks(d: Driver) -> None:
    d.add(d.init().producer)
    before = d.coordinator.next_deadline_ms()
    assert before is not None
    d.coordinator.on_clock_set(5000)
    assert d.coordinator.next_deadline_ms() == before + 5000


def test_ids_with_long_names_expire_in_batches_that_fit_a_log() -> None:
    d = Driver(transactional_id_expiration_ms=50_000, remove_expired_interval_ms=1000)
    names = [f"{number:030000}" for number in range(100)]
    for name in names:
        d.init(name)
    d.now_ms += 60_000
    results = d.coordinator.on_timer(d.now_ms)
    assert [record.transactional_id for result in results for record in result.records] == names
    for result in results:
        assert sum(len(record.encode(2)[0]) for record in result.records) < 1 << 20


def test_ids_expire_when_nothing_is_open() -> None:
    d = Driver(transactional_id_expiration_ms=50_000, remove_expired_interval_ms=1000)
    rested, busy = d.init("rested").producer, d.init("busy", timeout_ms=900_000).producer
    d.add(busy, name="busy")
    d.advance(49_000)
    assert set(d.coordinator.transactional_ids) == {"rested", "busy"}
    d.fail_with = ErrorCode.NOT_ENOUGH_REPLICAS
    d.advance(2000)
    assert set(d.coordinator.transactional_ids) == {"rested", "busy"}
    d.fail_with = None
    d.advance(2000)
    assert set(d.coordinator.transactional_ids) == {"busy"}
    d.restart()
    assert set(d.coordinator.transactional_ids) == {"busy"}
    again = d.init("rested", rested).producer
    assert again.producer_id != rested.producer_id and again.epoch == 0


def test_a_crash_between_prepare_and_the_last_marker(d: Driver) -> None:
    producer = d.init().producer
    d.add(producer, A, B)
    d.end(producer)
    d.write_markers({B: ErrorCode.KAFKA_STORAGE_ERROR})
    d.restart()
    (markers,) = d.markers
    assert markers.partitions == (A, B) and markers.commit and markers.coordinator_epoch == 4
    assert markers.transaction_version == 2 and markers.producer_epoch == 1
    d.write_markers()
    assert d.state() is TransactionState.COMPLETE_COMMIT


def test_a_crash_of_an_abort_without_partitions(d: Driver) -> None:
    producer = d.init().producer
    d.end(producer, commit=False)
    d.log.pop()
    d.restart()
    assert d.state() is TransactionState.COMPLETE_ABORT


def test_a_completion_that_cannot_be_written_is_tried_again(d: Driver) -> None:
    producer = d.init().producer
    d.add(producer)
    d.end(producer)
    d.fail_with = ErrorCode.NOT_ENOUGH_REPLICAS
    d.write_markers()
    d.advance(5000)
    assert d.state() is TransactionState.PREPARE_COMMIT
    d.fail_with = None
    d.advance(2000)
    assert d.state() is TransactionState.COMPLETE_COMMIT


def test_markers_of_a_transaction_that_is_over_do_nothing(d: Driver) -> None:
    producer = d.init().producer
    d.add(producer)
    d.end(producer)
    late = d.markers[0]
    d.write_markers()
    d.markers = [late]
    d.write_markers()
    assert d.state() is TransactionState.COMPLETE_COMMIT and not d.markers


def test_a_marker_that_is_refused_is_not_written_and_a_replaced_coordinator_stops(d: Driver) -> None:
    producer = d.init().producer
    d.add(producer, A, B)
    d.end(producer)
    d.write_markers({A: ErrorCode.INVALID_PRODUCER_EPOCH})
    assert d.current().partitions == {A} and d.state() is TransactionState.PREPARE_COMMIT
    d.write_markers({A: ErrorCode.TRANSACTION_COORDINATOR_FENCED})
    assert not d.markers and d.current().partitions == {A}


def test_an_end_that_cannot_be_written_changes_nothing(d: Driver) -> None:
    producer = d.init().producer
    d.add(producer)
    d.fail_with = ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert d.end(producer).error is ErrorCode.NOT_COORDINATOR
    assert d.state() is TransactionState.ONGOING and not d.markers
    d.fail_with = None
    assert d.end(producer).error is ErrorCode.NONE


def test_describe_and_list(d: Driver) -> None:
    producer = d.init().producer
    d.init("y")
    d.advance(1000)
    d.add(producer, B, A, ("a", 2))
    d.advance(5000)
    shown = d.coordinator.describe_transaction("x")
    assert (shown.transaction_state, shown.transaction_timeout_ms) == ("Ongoing", 60_000)
    assert shown.transaction_start_time_ms == START_MS + 1000
    assert [(each.topic, each.partitions) for each in shown.topics] == [("a", [0, 2]), ("b", [3])]
    assert d.coordinator.describe_transaction("z").error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    assert d.coordinator.describe_transaction("").error_code == ErrorCode.INVALID_REQUEST

    def names(wanted: Filter) -> list[str]:
        return [each.transactional_id for each in d.coordinator.list_transactions(wanted, d.now_ms)]

    assert names(Filter()) == ["x", "y"]
    assert names(Filter(states=["Ongoing"])) == ["x"]
    assert names(Filter(states=["Nonsense"])) == []
    assert names(Filter(producer_ids=[producer.producer_id])) == ["x"]
    assert names(Filter(states=["Ongoing"], longer_than_ms=4999)) == ["x"]
    assert names(Filter(states=["Ongoing"], longer_than_ms=5000)) == []
