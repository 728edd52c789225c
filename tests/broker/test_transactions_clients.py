"""confluent-kafka's transactional producer and read_committed consumer, through aborts, fencing, expiry and kill -9."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from headrace.testing import LocalBroker, broker, wait_until
from headrace.testing.clients import Clients, read
from headrace.testing.process import broker_process

TIMEOUT_S = 20.0
FEW_PARTITIONS = {"offsets.topic.num.partitions": 4, "transaction.state.log.num.partitions": 4}


@pytest.fixture(scope="module")
def server() -> Iterator[LocalBroker]:
    with broker(FEW_PARTITIONS | {"transaction.abort.timed.out.transaction.cleanup.interval.ms": 200}) as running:
        yield running


def transactional(server: Clients, transactional_id: str, **config: Any) -> Producer:
    producer = server.producer(transactional_id=transactional_id, linger_ms=0, **config)
    producer.init_transactions(TIMEOUT_S)
    return producer


def reader(server: Clients, topic: str, partitions: int = 2, isolation: str = "read_committed") -> Consumer:
    consumer = server.consumer(isolation_level=isolation, fetch_wait_max_ms=50)
    consumer.assign([TopicPartition(topic, index, OFFSET_BEGINNING) for index in range(partitions)])
    return consumer


def send(producer: Producer, topic: str, *values: str) -> None:
    """Every value into both partitions."""
    for value in values:
        for partition in range(2):
            producer.produce(topic, value, partition=partition)
    assert producer.flush(TIMEOUT_S) == 0


def visible(server: Clients, topic: str, isolation: str = "read_committed") -> list[str]:
    """What a reader of this kind gets, up to where it is told that the partitions end."""
    consumer = reader(server, topic, isolation=isolation)
    try:
        ends = [consumer.get_watermark_offsets(TopicPartition(topic, index), TIMEOUT_S)[1] for index in range(2)]
        found: list[Message] = []
        deadline = time.monotonic() + TIMEOUT_S
        while time.monotonic() < deadline:
            found += consumer.consume(1000, 0.1)
            at = {each.partition: each.offset for each in consumer.position(consumer.assignment())}
            if all(at[index] >= end or end == 0 for index, end in enumerate(ends)):
                return [f"{each.partition()}:{each.value().decode()}" for each in sorted(found, key=_place)]
        raise AssertionError(f"still at {at} of {ends}")
    finally:
        consumer.close()


def _place(message: Message) -> tuple[int, int]:
    return message.partition(), message.offset()


def both(*values: str) -> list[str]:
    return [f"{partition}:{value}" for partition in range(2) for value in values]


def test_committed_records_are_read_and_aborted_ones_are_not(server: LocalBroker, topic: str) -> None:
    producer = transactional(server, topic)
    for value, commit in (("a", True), ("b", False), ("c", True), ("d", False)):
        producer.begin_transaction()
        send(producer, topic, value)
        if commit:
            producer.commit_transaction(TIMEOUT_S)
        else:
            producer.abort_transaction(TIMEOUT_S)
    assert visible(server, topic) == both("a", "c")
    assert visible(server, topic, "read_uncommitted") == both("a", "b", "c", "d")


def test_an_open_transaction_holds_back_what_comes_after_it(server: LocalBroker, topic: str) -> None:
    producer = transactional(server, topic)
    server.produce(topic, ["before"] * 4)
    producer.begin_transaction()
    send(producer, topic, "x")
    server.produce(topic, ["after"] * 4)
    assert {each[2:] for each in visible(server, topic)} == {"before"}
    consumer = reader(server, topic)
    read(consumer, 4)
    assert consumer.consume(1, 0.5) == [], "a long poll brings nothing of an open transaction"
    producer.commit_transaction(TIMEOUT_S)
    assert sorted(each.value() for each in read(consumer, 6)) == [b"after"] * 4 + [b"x"] * 2
    consumer.close()


def test_two_producers_interleaved(server: LocalBroker, topic: str) -> None:
    first, second = transactional(server, f"{topic}-1"), transactional(server, f"{topic}-2")
    first.begin_transaction()
    send(first, topic, "a1")
    second.begin_transaction()
    send(second, topic, "b1")
    send(first, topic, "a2")
    second.commit_transaction(TIMEOUT_S)
    assert visible(server, topic) == [], "the first one is still open, and began earlier"
    send(first, topic, "a3")
    first.abort_transaction(TIMEOUT_S)
    assert visible(server, topic) == both("b1")


def test_a_new_instance_fences_the_old_one_and_ends_its_transaction(server: LocalBroker, topic: str) -> None:
    old = transactional(server, topic)
    old.begin_transaction()
    send(old, topic, "old")
    new = transactional(server, topic)
    new.begin_transaction()
    send(new, topic, "new")
    new.commit_transaction(TIMEOUT_S)
    with pytest.raises(KafkaException) as caught:
        old.commit_transaction(TIMEOUT_S)
    assert caught.value.args[0].code() == KafkaError._FENCED and caught.value.args[0].fatal()
    assert visible(server, topic) == both("new")


def test_a_fenced_producer_cannot_write(server: LocalBroker, topic: str) -> None:
    old = transactional(server, topic)
    old.begin_transaction()
    send(old, topic, "old")
    transactional(server, topic)
    old.produce(topic, "late", partition=0)
    with pytest.raises(KafkaException) as caught:
        old.flush(TIMEOUT_S)
    assert caught.value.args[0].code() == KafkaError._FENCED
    assert visible(server, topic) == []


def test_a_transaction_that_takes_too_long_is_aborted(server: LocalBroker, topic: str) -> None:
    producer = transactional(server, topic, transaction_timeout_ms=1000, message_timeout_ms=1000)
    producer.begin_transaction()
    send(producer, topic, "slow")
    server.produce(topic, ["plain"] * 2, partitioner="random")
    consumer = reader(server, topic)
    assert [each.value() for each in read(consumer, 2, timeout_s=TIMEOUT_S)] == [b"plain"] * 2
    consumer.close()
    with pytest.raises(KafkaException):
        producer.commit_transaction(TIMEOUT_S)


def group_consumer(server: Clients, group: str, topic: str) -> Consumer:
    consumer = server.consumer(
        group, isolation_level="read_committed", enable_auto_commit=False, session_timeout_ms=6000
    )
    consumer.subscribe([topic])
    return consumer


def committed(server: Clients, group: str, topic: str) -> int:
    """What counts now. A read_committed consumer would ask again until no open transaction has an offset for it."""
    consumer = server.consumer(group, isolation_level="read_uncommitted")
    try:
        return consumer.committed([TopicPartition(topic, 0)], TIMEOUT_S)[0].offset
    finally:
        consumer.close()


def copy(consumer: Consumer, producer: Producer, target: str, count: int, commit: bool) -> None:
    """One transaction of consume, transform, produce."""
    producer.begin_transaction()
    for message in read(consumer, count, timeout_s=TIMEOUT_S):
        producer.produce(target, message.value(), partition=0)
    offsets = consumer.position(consumer.assignment())
    producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata(), TIMEOUT_S)
    if commit:
        producer.commit_transaction(TIMEOUT_S)
    else:
        producer.abort_transaction(TIMEOUT_S)


def test_offsets_count_with_the_transaction(server: LocalBroker, topic: str) -> None:
    source, target = server.create_topic(f"{topic}-in"), server.create_topic(f"{topic}-out", 2)
    server.produce(source, [str(number) for number in range(30)])
    producer = transactional(server, topic)
    consumer = group_consumer(server, topic, source)
    copy(consumer, producer, target, 10, commit=True)
    assert committed(server, topic, source) == 10
    copy(consumer, producer, target, 10, commit=False)
    assert committed(server, topic, source) == 10
    consumer.close()
    consumer = group_consumer(server, topic, source)
    copy(consumer, producer, target, 20, commit=True)
    consumer.close()
    assert committed(server, topic, source) == 30
    assert visible(server, target) == [f"0:{number}" for number in range(30)]


def test_a_member_of_an_older_generation_cannot_commit_offsets(server: LocalBroker, topic: str) -> None:
    server.produce(topic, ["x"] * 4)
    producer = transactional(server, topic)
    consumer = group_consumer(server, topic, topic)
    read(consumer, 4, timeout_s=TIMEOUT_S)
    old, offsets = consumer.consumer_group_metadata(), consumer.position(consumer.assignment())
    consumer.close()
    producer.begin_transaction()
    with pytest.raises(KafkaException) as caught:
        producer.send_offsets_to_transaction(offsets, old, TIMEOUT_S)
    assert caught.value.args[0].txn_requires_abort()
    producer.abort_transaction(TIMEOUT_S)


def test_transactions_through_kill_9() -> None:
    """Killed with a transaction open, ended, and in the middle of committing: all or nothing each time."""
    with broker_process(FEW_PARTITIONS) as server:
        topic = server.create_topic("t", 2)
        expected: list[str] = []
        for life in range(2):
            producer = transactional(server, "x")
            producer.begin_transaction()
            send(producer, topic, f"committed{life}")
            producer.commit_transaction(TIMEOUT_S)
            expected.append(f"committed{life}")
            producer.begin_transaction()
            send(producer, topic, f"open{life}")
            server.kill()
            server.restart()
            assert visible(server, topic) == both(*expected)
            # The restarted broker knows the open transaction: its producer may go on.
            if life == 1:
                producer.commit_transaction(TIMEOUT_S)
                expected.append(f"open{life}")
        assert visible(server, topic) == both(*expected)


def test_offsets_in_transactions_through_kill_9() -> None:
    with broker_process(FEW_PARTITIONS) as server:
        source, target = server.create_topic("in"), server.create_topic("out", 2)
        server.produce(source, [str(number) for number in range(40)])
        producer = transactional(server, "x")
        consumer = group_consumer(server, "g", source)
        copy(consumer, producer, target, 10, commit=True)
        producer.begin_transaction()
        for message in read(consumer, 10, timeout_s=TIMEOUT_S):
            producer.produce(target, message.value(), partition=0)
        offsets = consumer.position(consumer.assignment())
        producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata(), TIMEOUT_S)
        server.kill()
        server.restart()
        assert committed(server, "g", source) == 10, "the offset of the open transaction does not count"
        producer.commit_transaction(TIMEOUT_S)
        wait_until(lambda: committed(server, "g", source) == 20)
        server.kill()
        server.restart()
        assert committed(server, "g", source) == 20
        assert visible(server, target) == [f"0:{number}" for number in range(20)]
        consumer.close()
