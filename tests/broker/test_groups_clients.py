"""Consumers of three client libraries in groups: eager and cooperative, static, through rebalances and restarts."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import aiokafka
import kafka
import pytest
from confluent_kafka import Consumer, ConsumerGroupState, ConsumerGroupTopicPartitions, KafkaException, TopicPartition

from headrace.testing import LocalBroker, broker

PARTITIONS = 6


@pytest.fixture(scope="module")
def server() -> Iterator[LocalBroker]:
    with broker(group_initial_rebalance_delay_ms=0) as running:
        yield running


@pytest.fixture
def topic(server: LocalBroker, request: pytest.FixtureRequest) -> str:
    name = request.node.name.replace("[", "-").replace("]", "")
    return server.create_topic(name, PARTITIONS)


class Member:
    """A confluent-kafka consumer that counts its rebalances and keeps what it read."""

    def __init__(self, server: LocalBroker, topic: str, **config: Any) -> None:
        settings = {
            "bootstrap.servers": server.bootstrap_servers,
            "group.id": topic,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "session.timeout.ms": 6000,
            "heartbeat.interval.ms": 200,
            "log_level": 0,
        }
        self.consumer = Consumer(settings | {key.replace("_", "."): value for key, value in config.items()})
        self.values: list[bytes] = []
        self.revoked: list[int] = []
        self.rebalances = 0
        self.consumer.subscribe([topic], on_assign=self._assigned, on_revoke=self._revoked)

    def _assigned(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self.rebalances += 1

    def _revoked(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self.revoked += [each.partition for each in partitions]

    @property
    def partitions(self) -> set[int]:
        return {each.partition for each in self.consumer.assignment()}

    def poll(self) -> None:
        message = self.consumer.poll(0.02)
        if message is not None and message.error() is None:
            self.values.append(message.value())
            # A rebalance may come first: then the record is read again by whoever gets the partition.
            with contextlib.suppress(KafkaException):
                self.consumer.commit(message, asynchronous=False)

    def close(self) -> None:
        self.consumer.close()


def poll_until(members: list[Member], condition: Callable[[], bool], timeout_s: float = 30.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, [(each.partitions, len(each.values)) for each in members]
        for member in members:
            member.poll()


def shared(members: list[Member], low: int = 1) -> bool:
    """Every partition has exactly one owner, and everybody has some."""
    owned = [partition for member in members for partition in member.partitions]
    return sorted(owned) == list(range(PARTITIONS)) and all(len(each.partitions) >= low for each in members)


@pytest.mark.peer("confluent-kafka")
@pytest.mark.parametrize("strategy", ["range", "roundrobin", "cooperative-sticky"])
def test_members_come_and_go(server: LocalBroker, topic: str, strategy: str) -> None:
    server.produce(topic, [str(number) for number in range(300)])
    members = [Member(server, topic, partition_assignment_strategy=strategy)]
    poll_until(members, lambda: shared(members))
    for _ in range(2):
        members.append(Member(server, topic, partition_assignment_strategy=strategy))
        poll_until(members, lambda: shared(members, 2))
    gone = members.pop(0)
    gone.close()
    poll_until(members, lambda: shared(members, 3))
    seen = gone.values
    poll_until(members, lambda: len({*seen, *(value for each in members for value in each.values)}) == 300)
    if strategy == "cooperative-sticky":
        assert len(members[0].revoked) < PARTITIONS, "a cooperative member keeps what it may keep"
    for member in members:
        member.close()


@pytest.mark.peer("confluent-kafka")
def test_a_crashed_member_is_replaced_after_its_session(server: LocalBroker, topic: str) -> None:
    members = [Member(server, topic), Member(server, topic, max_poll_interval_ms=6000)]
    poll_until(members, lambda: shared(members, 3))
    silent = members.pop()  # does not poll any more, so librdkafka leaves the group for it
    poll_until(members, lambda: shared(members))
    members[0].close()
    silent.close()


@pytest.mark.peer("confluent-kafka")
def test_a_static_member_restarts_without_a_rebalance(server: LocalBroker, topic: str) -> None:
    members = [Member(server, topic, group_instance_id=name, session_timeout_ms=20_000) for name in ("one", "two")]
    poll_until(members, lambda: shared(members, 3))
    kept, before = members[0].partitions, [each.rebalances for each in members]
    owned = members[1].partitions
    members[1].close()
    members[1] = Member(server, topic, group_instance_id="two", session_timeout_ms=20_000)
    poll_until(members, lambda: shared(members, 3))
    assert members[1].partitions == owned and members[0].partitions == kept
    assert members[0].rebalances == before[0]
    for member in members:
        member.close()


@pytest.mark.peer("confluent-kafka")
def test_two_processes_with_one_instance_id(server: LocalBroker, topic: str) -> None:
    old = Member(server, topic, group_instance_id="same")
    poll_until([old], lambda: shared([old]))
    new = Member(server, topic, group_instance_id="same")
    poll_until([new], lambda: shared([new]))
    with pytest.raises(KafkaException):
        old.consumer.commit(offsets=[TopicPartition(topic, 0, 1)], asynchronous=False)
    new.close()
    old.close()


@pytest.mark.peer("confluent-kafka")
def test_a_restart_of_the_broker_goes_unnoticed_by_the_group(topic: str) -> None:
    with broker(group_initial_rebalance_delay_ms=0) as server:
        server.create_topic(topic, PARTITIONS)
        server.produce(topic, [str(number) for number in range(100)])
        members = [Member(server, topic, session_timeout_ms=30_000) for _ in range(2)]
        poll_until(members, lambda: shared(members, 3) and sum(len(each.values) for each in members) >= 100)
        before = [(each.partitions, each.rebalances) for each in members]
        server.restart()
        server.produce(topic, [str(number) for number in range(100, 200)])
        poll_until(members, lambda: len({value for each in members for value in each.values}) == 200)
        assert [(each.partitions, each.rebalances) for each in members] == before
        for member in members:
            member.close()


@pytest.mark.peer("confluent-kafka")
def test_administration(server: LocalBroker, topic: str) -> None:
    server.produce(topic, [str(number) for number in range(60)])
    member = Member(server, topic)
    poll_until([member], lambda: len(member.values) == 60)
    admin = server.admin()
    described = admin.describe_consumer_groups([topic])[topic].result(10)
    assert described.state is ConsumerGroupState.STABLE and described.members[0].host == "/127.0.0.1"
    assert {each.partition for each in described.members[0].assignment.topic_partitions} == set(range(PARTITIONS))
    with pytest.raises(KafkaException, match="NON_EMPTY_GROUP"):
        admin.delete_consumer_groups([topic])[topic].result(10)
    member.close()
    asked = [ConsumerGroupTopicPartitions(topic)]
    offsets = admin.list_consumer_group_offsets(asked)[topic].result(10).topic_partitions
    assert sum(each.offset for each in offsets) == 60
    rewound = [ConsumerGroupTopicPartitions(topic, [TopicPartition(topic, 0, 3)])]
    admin.alter_consumer_group_offsets(rewound)[topic].result(10)
    offsets = admin.list_consumer_group_offsets(asked)[topic].result(10).topic_partitions
    assert next(each.offset for each in offsets if each.partition == 0) == 3
    listed = {each.group_id: each.state for each in admin.list_consumer_groups().result(10).valid}
    assert listed[topic] is ConsumerGroupState.EMPTY
    admin.delete_consumer_groups([topic])[topic].result(10)
    assert topic not in {each.group_id for each in admin.list_consumer_groups().result(10).valid}


@pytest.mark.peer("kafka-python")
def test_kafka_python_members_share_and_resume(server: LocalBroker, topic: str) -> None:
    server.produce(topic, [str(number) for number in range(120)])

    def consumer() -> Any:
        return kafka.KafkaConsumer(
            topic,
            bootstrap_servers=server.bootstrap_servers,
            group_id=topic,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            session_timeout_ms=6000,
            heartbeat_interval_ms=300,
        )

    done, values, owned = threading.Event(), [[], []], [set(), set()]

    def run(index: int) -> None:
        member = consumer()
        # A leader of kafka-python 3.0 that rejoins because its metadata changed loses its assignment when a poll times
        # out in the middle (on Apache Kafka too). So it has the metadata before it joins.
        assert member.partitions_for_topic(topic) == set(range(PARTITIONS))
        while not done.is_set():
            for records in member.poll(timeout_ms=50).values():
                values[index] += [record.value for record in records]
                with contextlib.suppress(kafka.errors.CommitFailedError, kafka.errors.RebalanceInProgressError):
                    member.commit()
            owned[index] = {each.partition for each in member.assignment()}
        member.close()

    threads = [threading.Thread(target=run, args=(index,)) for index in range(2)]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + 30
    try:
        while time.monotonic() < deadline:
            complete = len({*values[0], *values[1]}) == 120
            if complete and len(owned[0]) == len(owned[1]) == 3 and not owned[0] & owned[1]:
                break
            time.sleep(0.02)
        else:
            pytest.fail(f"{owned}, {[len(each) for each in values]}")
    finally:
        done.set()
        for thread in threads:
            thread.join()
    resumed = consumer()
    assert resumed.poll(timeout_ms=500) == {}
    assert sum(resumed.committed(kafka.TopicPartition(topic, index)) or 0 for index in range(PARTITIONS)) == 120
    resumed.close()


@pytest.mark.peer("aiokafka")
def test_aiokafka_members_share_and_resume(server: LocalBroker, topic: str) -> None:
    server.produce(topic, [str(number) for number in range(120)])

    def consumer() -> aiokafka.AIOKafkaConsumer:
        return aiokafka.AIOKafkaConsumer(
            topic,
            bootstrap_servers=server.bootstrap_servers,
            group_id=topic,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            session_timeout_ms=6000,
            heartbeat_interval_ms=300,
        )

    async def run() -> None:
        members = [consumer(), consumer()]
        values: set[bytes] = set()
        await asyncio.gather(*(member.start() for member in members))
        try:
            async with asyncio.timeout(30):
                while len(values) < 120 or any(len(member.assignment()) != 3 for member in members):
                    for member in members:
                        batches = await member.getmany(timeout_ms=50)
                        values |= {record.value for records in batches.values() for record in records}
                        with contextlib.suppress(aiokafka.errors.CommitFailedError):
                            await member.commit()
        finally:
            await asyncio.gather(*(member.stop() for member in members))
        resumed = consumer()
        await resumed.start()
        try:
            assert await resumed.getmany(timeout_ms=500) == {}
            committed = [await resumed.committed(aiokafka.TopicPartition(topic, index)) for index in range(PARTITIONS)]
            assert sum(each or 0 for each in committed) == 120
        finally:
            await resumed.stop()

    asyncio.run(run())


@pytest.mark.peer("apache-kafka")
def test_kafkas_own_decoder_reads_the_offsets_topic(topic: str) -> None:
    from conformance.apache_kafka import java_command

    with broker(group_initial_rebalance_delay_ms=0, offsets_topic_num_partitions=1) as server:
        server.create_topic(topic, PARTITIONS)
        server.produce(topic, ["x"] * 10)
        member = Member(server, topic, group_instance_id="one")
        poll_until([member], lambda: len(member.values) == 10)
        member.close()
        server.stop()
        segment = server.data_dir / "__consumer_offsets-0" / "00000000000000000000.log"
        command = java_command(
            "org.apache.kafka.tools.DumpLogSegments", "--offsets-decoder", "--files", str(segment), "--deep-iteration"
        )
        dumped = subprocess.run(command, capture_output=True, text=True, timeout=100, check=True)
    assert '"type":"1"' in dumped.stdout and f'"topic":"{topic}"' in dumped.stdout
    assert '"type":"2"' in dumped.stdout and '"groupInstanceId":"one"' in dumped.stdout
    assert "rror" not in dumped.stdout + dumped.stderr
