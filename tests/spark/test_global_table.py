"""Global tables on a real broker: read whole before the first look-up, followed, bounded, closed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from headrace import client
from headrace.spark.stateful.global_tables import GlobalTable, GlobalTableSpec, catch_up, close, register, summaries
from headrace.testing import LocalBroker, wait_until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headrace.spark.stateful.global_tables import GlobalTable as Handle


class Users:
    """A topic of users and the table over it."""

    def __init__(self, spark: SparkSession, broker: LocalBroker) -> None:
        self.spark, self.broker = spark, broker
        self.topic = f"users-{uuid4().hex[:8]}"
        self.function = self.topic.replace("-", "_")
        self.tables: list[Handle] = []
        broker.create_topic(self.topic, partitions=2)

    def put(self, *rows: tuple[Any, Any]) -> None:
        producer = client.producer(self.broker.bootstrap_servers)
        for key, value in rows:
            text = value if value is None else json.dumps({"name": value})
            producer.produce(self.topic, key=key if isinstance(key, bytes) else json.dumps({"id": key}), value=text)
        producer.flush()

    def register(self, **more: Any) -> GlobalTable:
        spec = GlobalTableSpec(
            topic=more.pop("topic", self.topic),
            kafka={"bootstrap.servers": self.broker.bootstrap_servers},
            parse={
                "k": "from_json(CAST(key AS STRING), 'id BIGINT')",
                "v": "from_json(CAST(value AS STRING), 'name STRING')",
            },
            key="k",
            value="v",
            error="CASE WHEN k.id IS NULL THEN 'the key has no id' END",
            **more,
        )
        self.tables.append(register(self.spark, self.function, spec))
        return self.tables[-1]

    def names(self, *ids: int) -> list[str | None]:
        rows = self.spark.createDataFrame([(i,) for i in ids], "id BIGINT").selectExpr(f"{self.function}(id).name AS n")
        return [row.n for row in rows.collect()]

    def summary(self) -> dict[str, Any]:
        return next(held for held in summaries(self.spark) if held["topic"] == self.topic)


@pytest.fixture
def users(spark: SparkSession, headrace_shared_broker: LocalBroker) -> Iterator[Users]:
    users = Users(spark, headrace_shared_broker)
    yield users
    for table in users.tables:
        close(spark, table)


def test_all_that_is_there_is_seen_by_the_first_look_up_and_changes_follow(users: Users) -> None:
    users.put(*((i, f"n{i}") for i in range(100)), (b"nonsense", "x"), (7, "seven"), (8, None))
    table = users.register()
    assert users.names(1, 7, 8, 99, 100) == ["n1", "seven", None, "n99", None]
    assert {name: users.summary()[name] for name in ("rows", "bad", "loaded", "error")} == {
        "rows": 99,
        "bad": 1,
        "loaded": True,
        "error": None,
    }
    users.put((8, "eight"), (1, None))
    catch_up(users.spark, table)
    assert users.names(1, 8) == [None, "eight"]


def test_a_look_up_takes_the_key_as_a_struct_too(users: Users) -> None:
    users.put((1, "one"))
    users.register()
    row = users.spark.sql(
        f"SELECT {users.function}(named_struct('id', 1L)).name AS n, {users.function}(NULL) AS m"
    ).head()
    assert row is not None and (row.n, row.m) == ("one", None)


def test_a_transaction_counts_once_it_is_committed(users: Users) -> None:
    producer = client.producer(users.broker.bootstrap_servers, {"transactional.id": users.topic})
    producer.init_transactions()
    for number, commit in ((1, False), (2, True)):
        producer.begin_transaction()
        producer.produce(users.topic, key=json.dumps({"id": number}), value='{"name": "t"}')
        producer.commit_transaction() if commit else producer.abort_transaction()
    users.register()
    assert users.names(1, 2) == [None, "t"]


def test_it_works_in_real_time_mode(users: Users, tmp_path: Path) -> None:
    clicks, out = f"clicks-{users.topic}", f"out-{users.topic}"
    for topic in (clicks, out):
        users.broker.create_topic(topic, partitions=1)
    users.put((1, "one"))
    table = users.register()
    bootstrap = users.broker.bootstrap_servers
    source = users.spark.readStream.format("kafka").option("kafka.bootstrap.servers", bootstrap)
    rows = source.option("subscribe", clicks).option("startingOffsets", "earliest").load()
    found = rows.selectExpr(f"{users.function}(CAST(CAST(value AS STRING) AS BIGINT)) AS user").where(
        "user IS NOT NULL"
    )
    sink = found.selectExpr("CAST(user.name AS BINARY) AS value").writeStream.format("kafka").option("topic", out)
    sink = sink.option("kafka.bootstrap.servers", bootstrap).option("checkpointLocation", str(tmp_path))
    query = sink.outputMode("update").trigger(realTime="60 seconds").start()
    producer = client.producer(bootstrap)
    reader = client.consumer(bootstrap, users.topic)
    reader.subscribe([out])
    seen: list[bytes] = []

    def arrived(count: int) -> bool:
        assert query.exception() is None
        message = reader.poll(0.1)
        if message is not None and not message.error():
            seen.append(message.value())
        return len(seen) == count

    try:
        for number in (5, 1):
            producer.produce(clicks, value=str(number))
        producer.flush()
        wait_until(lambda: arrived(1), timeout_s=60)
        users.put((5, "five"))
        catch_up(users.spark, table)
        producer.produce(clicks, value="5")
        producer.flush()
        wait_until(lambda: arrived(2), timeout_s=60)
        assert seen == [b"one", b"five"]
    finally:
        query.stop()
        reader.close()


def test_a_table_that_outgrows_its_memory_says_so_and_can_be_read_again(users: Users) -> None:
    users.put(*((i, "x" * 100) for i in range(100)))
    users.register(max_bytes=10_000)
    with pytest.raises(Exception, match="larger than 10000 bytes"):
        users.names(1)
    users.register(max_bytes=1_000_000)
    assert users.names(1) == ["x" * 100]


def test_a_topic_that_does_not_exist_is_an_error_of_the_look_up(users: Users) -> None:
    users.register(topic="nowhere")
    with pytest.raises(Exception, match="global table nowhere: there is no such topic"):
        users.names(1)


def test_a_closed_or_idle_table_is_gone_and_comes_back(users: Users) -> None:
    users.put((1, "one"))
    table = users.register()
    assert users.names(1) == ["one"]
    close(users.spark, table)
    assert users.topic not in [held["topic"] for held in summaries(users.spark)]
    assert users.names(1) == ["one"]
    close(users.spark, table)
    users.register(idle_ms=100)
    assert users.names(1) == ["one"]
    wait_until(lambda: users.topic not in [held["topic"] for held in summaries(users.spark)], timeout_s=20)


def test_names_are_checked(users: Users) -> None:
    with pytest.raises(ValueError, match="letters"):
        register(users.spark, "a b", GlobalTableSpec("t", {}, "k", "v"))
