"""The guard between the coordinator's answer and the append: what happens in between must not let a batch in."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor, Future
from types import SimpleNamespace
from typing import Any

import pytest

from headrace.broker.verification import Verifications, client_error
from headrace.replica.preparation import Preparation
from headrace.storage.config import LogConfig
from headrace.storage.errors import AppendError
from headrace.storage.log import Appended
from headrace.storage.producer_entry import BatchMetadata, ProducerEntry
from headrace.storage.producers import Producers
from headrace.wire.batch_header import BatchHeader, read_header
from headrace.wire.errors import ErrorCode
from tests.broker.raw import batch

PRODUCER = 7


@pytest.fixture
def partition() -> Any:
    """As much of a partition as is looked at."""
    return SimpleNamespace(topic="t", partition=0, log=SimpleNamespace(producers=Producers()))


@pytest.fixture
def verifications() -> Verifications:
    return Verifications(lambda: True)


def header(sequence: int, epoch: int = 0) -> BatchHeader:
    sent = batch(b"x", is_transactional=True, producer_id=PRODUCER, producer_epoch=epoch, base_sequence=sequence)
    return read_header(sent)


def remember(partition: Any, *, epoch: int = 0, open_since: int = -1, last_sequence: int = 0) -> None:
    batches = (BatchMetadata(last_sequence, last_sequence, 0, 0),)
    partition.log.producers.entries[PRODUCER] = ProducerEntry(epoch, batches, 0, 0, open_since)


def refused(verifications: Verifications, partition: Any, guard: Any, epoch: int = 0) -> ErrorCode:
    with pytest.raises(AppendError) as caught:
        verifications.check(partition, PRODUCER, epoch, guard)
    return caught.value.error_code


def test_an_open_transaction_needs_no_question(partition: Any, verifications: Verifications) -> None:
    remember(partition, open_since=5)
    assert verifications.begin(partition, PRODUCER, 0, 1, adds=False) is None
    verifications.check(partition, PRODUCER, 0, None)


def test_an_old_epoch_is_refused_before_anybody_is_asked(partition: Any, verifications: Verifications) -> None:
    remember(partition, epoch=3)
    with pytest.raises(AppendError) as caught:
        verifications.begin(partition, PRODUCER, 2, 0, adds=True)
    assert caught.value.error_code is ErrorCode.INVALID_PRODUCER_EPOCH


def test_an_answer_holds_until_the_append(partition: Any, verifications: Verifications) -> None:
    guard = verifications.begin(partition, PRODUCER, 0, 0, adds=False)
    assert guard is not None
    verifications.check(partition, PRODUCER, 0, guard)
    verifications.on_appended(partition, PRODUCER)
    assert refused(verifications, partition, guard) is ErrorCode.INVALID_TXN_STATE


def test_a_marker_in_between_makes_the_answer_void(partition: Any, verifications: Verifications) -> None:
    guard = verifications.begin(partition, PRODUCER, 0, 0, adds=False)
    verifications.on_marker(partition, PRODUCER, 0)
    assert refused(verifications, partition, guard) is ErrorCode.INVALID_TXN_STATE
    assert verifications.begin(partition, PRODUCER, 0, 0, adds=False) is not guard


def test_with_version_2_the_last_marker_does_not_touch_the_next_transaction(
    partition: Any, verifications: Verifications
) -> None:
    guard = verifications.begin(partition, PRODUCER, 4, 0, adds=True)
    verifications.on_marker(partition, PRODUCER, 4)
    verifications.check(partition, PRODUCER, 4, guard)
    verifications.on_marker(partition, PRODUCER, 5)
    assert refused(verifications, partition, guard, 4) is ErrorCode.INVALID_TXN_STATE


def test_two_requests_at_once_share_a_guard(partition: Any, verifications: Verifications) -> None:
    first = verifications.begin(partition, PRODUCER, 0, 0, adds=False)
    again = verifications.begin(partition, PRODUCER, 0, 0, adds=False)
    verifications.check(partition, PRODUCER, 0, first)
    remember(partition, open_since=0)
    verifications.on_appended(partition, PRODUCER)
    verifications.check(partition, PRODUCER, 0, again)


def test_batches_do_not_overtake_the_one_that_was_refused(partition: Any, verifications: Verifications) -> None:
    remember(partition, last_sequence=3)
    verifications.begin(partition, PRODUCER, 0, 4, adds=False)
    verifications.begin(partition, PRODUCER, 0, 5, adds=False)
    with pytest.raises(AppendError) as caught:
        verifications.check_sequence(partition, header(5))
    assert caught.value.error_code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    verifications.check_sequence(partition, header(4))
    verifications.check_sequence(partition, header(3))  # a repetition, which the log recognises
    verifications.begin(partition, PRODUCER, 1, 0, adds=False)
    verifications.check_sequence(partition, header(0, epoch=1))


def test_with_version_2_an_unknown_producer_begins_at_0(partition: Any, verifications: Verifications) -> None:
    verifications.begin(partition, PRODUCER, 0, 1, adds=True)
    with pytest.raises(AppendError):
        verifications.check_sequence(partition, header(1))


def test_without_verification_the_clients_word_is_taken(partition: Any) -> None:
    verifications = Verifications(lambda: False)
    assert verifications.begin(partition, PRODUCER, 0, 3, adds=False) is None
    verifications.check(partition, PRODUCER, 0, None)
    verifications.check_sequence(partition, header(3))
    assert verifications.begin(partition, PRODUCER, 0, 0, adds=True) is not None, "which opens the transaction, too"


def test_what_producers_hear() -> None:
    assert client_error(ErrorCode.PRODUCER_FENCED, True) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert client_error(ErrorCode.TRANSACTION_ABORTABLE, False) is ErrorCode.INVALID_TXN_STATE
    assert client_error(ErrorCode.TRANSACTION_ABORTABLE, True) is ErrorCode.TRANSACTION_ABORTABLE


class LaterExecutor(Executor):
    """Does its work when told to."""

    def __init__(self) -> None:
        self.work: list[Callable[[], None]] = []

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **options: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.work.append(lambda: future.set_result(function(*arguments, **options)))
        return future


def test_a_marker_while_the_batch_is_being_compressed_shuts_it_out(
    partition: Any, verifications: Verifications
) -> None:
    sent = batch(b"x", is_transactional=True, producer_id=PRODUCER, producer_epoch=0, base_sequence=0)
    guard = verifications.begin(partition, PRODUCER, 0, 0, adds=False)

    def append(_: memoryview, __: int, check: Callable[[], None] | None, ___: bool) -> Appended:
        assert check is not None
        check()
        raise AssertionError("the batch was let in")

    async def run() -> None:
        threads = LaterExecutor()
        preparation = Preparation(threads, append)
        appended = preparation.append(
            memoryview(sent),
            1_700_000_000_000,
            LogConfig(compression_type="gzip"),
            lambda: verifications.check(partition, PRODUCER, 0, guard),
        )
        verifications.on_marker(partition, PRODUCER, 0)
        threads.work[0]()
        assert isinstance(appended, asyncio.Future)
        with pytest.raises(AppendError) as caught:
            await appended
        assert caught.value.error_code is ErrorCode.INVALID_TXN_STATE

    asyncio.run(run())
