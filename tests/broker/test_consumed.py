"""Delete once consumed, on a running broker and with real clients."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import (
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    ResourceType,
)

from conformance.apache_kafka import run_tool
from headrace.testing import LocalBroker, ManualClock, broker, wait_until
from headrace.testing.process import broker_process

SETTING = "headrace.delete.consumed.groups"
FEW_PARTITIONS = {"offsets.topic.num.partitions": 4, "transaction.state.log.num.partitions": 4}


@pytest.fixture(scope="module")
def server() -> Iterator[LocalBroker]:
    with broker(FEW_PARTITIONS) as running:
        yield running


def topic_of(server: LocalBroker, name: str, groups: str, partitions: int = 1, records: int = 10) -> str:
    server.create_topic(name, partitions, headrace_delete_consumed_groups=groups)
    producer = server.producer()
    for number in range(records):
        for index in range(partitions):
            producer.produce(name, b"%d" % number, partition=index)
    assert producer.flush(10) == 0
    return name


def commit(server: LocalBroker, group: str, topic: str, offset: int, partition: int = 0) -> None:
    consumer = server.consumer(group)
    try:
        consumer.commit(offsets=[TopicPartition(topic, partition, offset)], asynchronous=False)
    finally:
        consumer.close()


def start_after_retention(server: LocalBroker, topic: str, partition: int = 0) -> int:
    server.call(lambda running: running.apply_retention())
    return earliest(server, topic, partition)


def earliest(server, topic: str, partition: int = 0) -> int:
    consumer = server.consumer()
    try:
        return consumer.get_watermark_offsets(TopicPartition(topic, partition), 10)[0]
    finally:
        consumer.close()


def delete_group(server: LocalBroker, group: str) -> None:
    admin = server.admin()
    admin.delete_consumer_groups([group])[group].result(10)


def set_groups(server: LocalBroker, topic: str, groups: str) -> None:
    entry = ConfigEntry(SETTING, groups, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
    admin = server.admin()
    admin.incremental_alter_configs([resource])[resource].result(10)


def test_the_slowest_of_the_named_groups_decides(server: LocalBroker) -> None:
    topic = topic_of(server, "named", "billing,audit")
    assert start_after_retention(server, topic) == 0
    commit(server, "billing", topic, 8)
    commit(server, "somebody-else", topic, 10)
    assert start_after_retention(server, topic) == 0, "audit has not committed yet"
    commit(server, "audit", topic, 3)
    assert start_after_retention(server, topic) == 3
    commit(server, "audit", topic, 9)
    assert start_after_retention(server, topic) == 8
    assert [message.offset() for message in server.records(topic, 2)] == [8, 9]


def test_each_partition_goes_its_own_way(server: LocalBroker) -> None:
    topic = topic_of(server, "two-partitions", "both-readers", partitions=2)
    commit(server, "both-readers", topic, 6)
    assert (start_after_retention(server, topic), earliest(server, topic, 1)) == (6, 0)
    commit(server, "both-readers", topic, 2, partition=1)
    assert (start_after_retention(server, topic), earliest(server, topic, 1)) == (6, 2)


def test_a_named_group_that_is_deleted_holds_nothing_more(server: LocalBroker) -> None:
    topic = topic_of(server, "released", "stays,goes")
    commit(server, "stays", topic, 7)
    commit(server, "goes", topic, 2)
    assert start_after_retention(server, topic) == 2
    delete_group(server, "goes")
    assert start_after_retention(server, topic) == 7
    commit(server, "goes", topic, 5)
    commit(server, "stays", topic, 10)
    assert start_after_retention(server, topic) == 7, "it reads again and is behind"
    delete_group(server, "goes")
    delete_group(server, "stays")
    assert start_after_retention(server, topic) == 7, "nobody is left to say what was consumed"


def test_star_means_whoever_has_committed(server: LocalBroker) -> None:
    topic = topic_of(server, "star", "*")
    assert start_after_retention(server, topic) == 0
    commit(server, "star-1", topic, 4)
    assert start_after_retention(server, topic) == 4
    commit(server, "star-2", topic, 4)
    commit(server, "star-1", topic, 9)
    assert start_after_retention(server, topic) == 4
    delete_group(server, "star-2")
    assert start_after_retention(server, topic) == 9


def test_an_open_transaction_is_kept_whole(server: LocalBroker) -> None:
    topic = topic_of(server, "transactional", "fast")
    producer = server.producer(transactional_id="open", linger_ms=0)
    producer.init_transactions(10)
    producer.begin_transaction()
    producer.produce(topic, b"in a transaction", partition=0)
    producer.flush(10)
    server.produce(topic, [b"after it"])
    commit(server, "fast", topic, 12)
    assert start_after_retention(server, topic) == 10
    producer.commit_transaction(10)
    assert start_after_retention(server, topic) == 12


def test_a_commit_beyond_the_end_deletes_no_more_than_there_is(server: LocalBroker) -> None:
    topic = topic_of(server, "beyond", "eager")
    commit(server, "eager", topic, 1000)
    assert start_after_retention(server, topic) == 10
    server.produce(topic, [b"one more"])
    assert start_after_retention(server, topic) == 11


def test_a_new_topic_of_the_same_name_knows_nothing_of_the_old_one(server: LocalBroker) -> None:
    topic = topic_of(server, "again", "reader-of-again")
    commit(server, "reader-of-again", topic, 10)
    assert start_after_retention(server, topic) == 10
    admin = server.admin()
    admin.delete_topics([topic])[topic].result(10)
    topic_of(server, "again", "reader-of-again,other-of-again")
    commit(server, "other-of-again", topic, 10)
    assert start_after_retention(server, topic) == 0


def test_compacted_topics_are_left_alone(server: LocalBroker) -> None:
    server.create_topic("table", cleanup_policy="compact", headrace_delete_consumed_groups="*")
    server.produce("table", [(b"k", b"v")])
    commit(server, "reader-of-table", "table", 1)
    assert start_after_retention(server, "table") == 0


def test_the_setting_can_change_and_is_described_as_ours(server: LocalBroker) -> None:
    topic = topic_of(server, "changing", "never-comes")
    commit(server, "comes", topic, 5)
    assert start_after_retention(server, topic) == 0
    set_groups(server, topic, "comes")
    assert start_after_retention(server, topic) == 5
    resource = ConfigResource(ResourceType.TOPIC, topic)
    admin = server.admin()
    described = admin.describe_configs([resource])[resource].result(10)[SETTING]
    assert (described.value, described.source) == ("comes", ConfigSource.DYNAMIC_TOPIC_CONFIG.value)


@pytest.mark.peer("apache-kafka")
def test_kafkas_own_tools_accept_such_a_topic(server: LocalBroker) -> None:
    topic = topic_of(server, "seen-by-java", "java-reader")
    entity = ["--entity-type", "topics", "--entity-name", topic]
    configs = "kafka.admin.ConfigCommand"
    for main_class, arguments in (
        (configs, [*entity, "--describe"]),
        ("org.apache.kafka.tools.TopicCommand", ["--describe", "--topic", topic]),
        (configs, [*entity, "--alter", "--add-config", f"{SETTING}=[java-reader,other],retention.ms=3600000"]),
        (configs, [*entity, "--describe"]),
    ):
        done = run_tool(main_class, "--bootstrap-server", server.bootstrap_servers, *arguments, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        if "--describe" in arguments:
            assert f"{SETTING}=java-reader" in done.stdout
    assert f"{SETTING}=java-reader,other" in done.stdout


def test_segments_go_and_time_still_applies() -> None:
    clock = ManualClock(1_700_000_000_000)
    with broker(FEW_PARTITIONS, clock=clock, log_segment_delete_delay_ms=0) as server:
        server.create_topic(
            "t", headrace_delete_consumed_groups="reader,absent", internal_segment_bytes=200, retention_ms=60_000
        )
        server.produce("t", [b"x" * 50] * 40, batch_num_messages=1)
        commit(server, "reader", "t", 30)
        assert start_after_retention(server, "t") == 0
        set_groups(server, "t", "reader")
        assert start_after_retention(server, "t") == 30
        folder = server.data_dir / "t-0"
        wait_until(lambda: 25 < min(int(file.stem) for file in folder.glob("*.log")) <= 30)
        clock.advance(120_000)
        assert start_after_retention(server, "t") == 40


def test_an_expired_group_holds_nothing_more() -> None:
    clock = ManualClock(1_700_000_000_000)
    settings = {
        "offsets.retention.minutes": 1,
        "offsets.retention.check.interval.ms": 1000,
        "log.retention.ms": -1,
        "log.message.timestamp.type": "LogAppendTime",
    }
    with broker(FEW_PARTITIONS | settings, clock=clock) as server:
        for topic, groups in (("named", "fast,slow"), ("star", "*")):
            topic_of(server, topic, groups)
            commit(server, "slow", topic, 1)
            commit(server, "fast", topic, 9)
            assert start_after_retention(server, topic) == 1
        clock.advance(50_000)
        for topic in ("named", "star"):
            commit(server, "fast", topic, 9)
        clock.advance(30_000)
        server.call(lambda running: running.groups.on_clock())
        for topic in ("named", "star"):
            wait_until(lambda topic=topic: start_after_retention(server, topic) == 9)


def test_a_restart_remembers_who_has_committed() -> None:
    with broker(FEW_PARTITIONS) as server:
        topic = topic_of(server, "t", "stays,goes")
        commit(server, "goes", topic, 2)
        commit(server, "stays", topic, 6)
        wait_until(lambda: (server.data_dir / "headrace-consumed-groups.json").exists())
        delete_group(server, "goes")
        server.restart()
        wait_until(lambda: start_after_retention(server, topic) == 6)
        server.restart()
        assert earliest(server, topic) == 6
        memory = json.loads((server.data_dir / "headrace-consumed-groups.json").read_text())
        assert list(memory["topics"].values()) == [["goes", "stays"]]
        (server.data_dir / "headrace-consumed-groups.json").write_text("{")
        server.restart()
        commit(server, "stays", topic, 10)
        assert start_after_retention(server, topic) == 6, "goes may be still to come"


def test_after_a_kill_the_log_starts_no_later_than_the_slowest_group() -> None:
    with broker_process(FEW_PARTITIONS, log_retention_check_interval_ms=100) as server:
        topic = topic_of(server, "t", "one,two", records=100)
        commit(server, "one", topic, 70)
        commit(server, "two", topic, 40)
        wait_until(lambda: earliest(server, topic) == 40)
        server.kill()
        server.start()
        wait_until(lambda: earliest(server, topic) == 40)
        assert [message.offset() for message in server.records(topic, 60)] == list(range(40, 100))
        admin = server.admin()
        (fetched,) = admin.list_consumer_group_offsets(
            [ConsumerGroupTopicPartitions("two", [TopicPartition(topic, 0)])]
        ).values()
        assert fetched.result(10).topic_partitions[0].offset == 40
