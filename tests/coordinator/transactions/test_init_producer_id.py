"""InitProducerId with a transactional id: ids, epochs, and who is fenced."""

from __future__ import annotations

import pytest

from headrace.coordinator.transactions.checks import Producer
from headrace.coordinator.transactions.transaction import MAX_EPOCH, TransactionState
from headrace.wire.errors import ErrorCode
from tests.coordinator.transactions.driver import Driver

LAST_EPOCH = MAX_EPOCH - 1


@pytest.fixture
def d() -> Driver:
    return Driver()


def test_each_producer_of_an_id_has_the_next_epoch(d: Driver) -> None:
    first = d.init().producer
    second = d.init().producer
    other = d.init("y").producer
    assert first.epoch == 0 and second == Producer(first.producer_id, 1)
    assert other.producer_id != first.producer_id and other.epoch == 0
    assert d.state() is TransactionState.EMPTY


@pytest.mark.parametrize("timeout_ms", [0, -1, 900_001])
def test_timeouts_outside_the_limit_are_refused(d: Driver, timeout_ms: int) -> None:
    assert d.init(timeout_ms=timeout_ms).error is ErrorCode.INVALID_TRANSACTION_TIMEOUT
    assert not d.coordinator.transactional_ids


def test_an_empty_id_is_refused(d: Driver) -> None:
    assert d.init("").error is ErrorCode.INVALID_REQUEST


def test_a_producer_may_ask_for_the_next_epoch_and_repeat_that(d: Driver) -> None:
    first = d.init().producer
    second = d.init(producer=first).producer
    assert second == Producer(first.producer_id, first.epoch + 1)
    assert d.init(producer=first).producer == second, "the answer may have been lost"
    d.init()
    assert d.init(producer=second).error is ErrorCode.PRODUCER_FENCED
    assert d.init(producer=Producer(99, 0)).error is ErrorCode.PRODUCER_FENCED
    assert d.init(producer=Producer(-2, 0)).error is ErrorCode.PRODUCER_FENCED


def test_a_new_id_takes_whatever_the_producer_says(d: Driver) -> None:
    """It may know the id from before its expiry."""
    assert d.init(producer=Producer(5, 17)).producer.epoch == 0


def test_an_open_transaction_is_aborted_first(d: Driver) -> None:
    first = d.init().producer
    d.add(first)
    assert d.init().error is ErrorCode.CONCURRENT_TRANSACTIONS
    assert d.state() is TransactionState.PREPARE_ABORT
    assert d.init().error is ErrorCode.CONCURRENT_TRANSACTIONS
    d.write_markers()
    assert d.written == [(("t", 0), first.producer_id, first.epoch + 1, False)]
    assert d.state() is TransactionState.COMPLETE_ABORT
    assert d.init().producer == Producer(first.producer_id, first.epoch + 2)
    assert d.add(first).error is ErrorCode.PRODUCER_FENCED


def test_an_open_transaction_is_aborted_first_before_version_2() -> None:
    d = Driver(server_version=1)
    first = d.init().producer
    d.add(first, version=0)
    assert d.init().error is ErrorCode.CONCURRENT_TRANSACTIONS
    d.write_markers()
    assert d.written == [(("t", 0), first.producer_id, first.epoch + 1, False)]
    assert d.init().producer == Producer(first.producer_id, first.epoch + 2)


def test_a_fence_that_cannot_be_written_bumps_the_epoch_once() -> None:
    d = Driver(server_version=1)
    first = d.init().producer
    d.add(first, version=0)
    d.fail_with = ErrorCode.NOT_ENOUGH_REPLICAS
    assert d.init().error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert d.init().error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert d.current().producer_epoch == first.epoch + 1 and d.state() is TransactionState.ONGOING
    assert d.add(first).error is ErrorCode.PRODUCER_FENCED
    d.fail_with = None
    assert d.init().error is ErrorCode.CONCURRENT_TRANSACTIONS
    assert d.current().producer_epoch == first.epoch + 1


def test_used_up_epochs_bring_a_new_producer_id(d: Driver) -> None:
    first = d.init().producer
    last = d.set_epoch(LAST_EPOCH)
    second = d.init().producer
    assert second.producer_id != first.producer_id and second.epoch == 0
    assert d.init(producer=last).error is ErrorCode.PRODUCER_FENCED


def test_a_producer_whose_epochs_are_used_up_may_repeat_that(d: Driver) -> None:
    d.init()
    last = d.set_epoch(LAST_EPOCH)
    second = d.init(producer=last).producer
    assert second.epoch == 0 and second.producer_id != last.producer_id
    assert d.init(producer=last).producer == second
    assert d.init(producer=Producer(last.producer_id, 7)).error is ErrorCode.PRODUCER_FENCED


def test_without_a_producer_id_in_hand_clients_try_again(d: Driver) -> None:
    d.ids_in_hand = False
    assert d.init().error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    d.ids_in_hand = True
    assert d.init().producer.epoch == 0


def test_an_epoch_that_was_not_written_was_not_given(d: Driver) -> None:
    d.fail_with = ErrorCode.KAFKA_STORAGE_ERROR
    assert d.init().error is ErrorCode.NOT_COORDINATOR
    d.fail_with = None
    assert d.init().producer.epoch == 0


def test_two_at_once(d: Driver) -> None:
    d.hold = True
    first, second = d.init(), d.init()
    assert second.error is ErrorCode.CONCURRENT_TRANSACTIONS and first.response is None
    d.release()
    assert first.producer.epoch == 0
