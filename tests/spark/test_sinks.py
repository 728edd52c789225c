"""The sinks, from a DataFrame to a topic: what a row becomes, both guarantees, both modes, what is refused."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import OFFSET_BEGINNING, Message, TopicPartition

from headrace.client import producer as kafka_producer
from headrace.spark.meters import forget, rows_in, snapshot
from headrace.spark.sinks import (
    MARKER_TOPIC,
    Guarantee,
    SinkError,
    SinkSettings,
    at_least_once,
    exactly_once,
    kafka_sink,
)
from headrace.testing import LocalBroker, wait_until

pyspark = pytest.importorskip("pyspark")
from pyspark.sql import DataFrame, SparkSession  # noqa: E402
from pyspark.sql import functions as sql  # noqa: E402
from pyspark.sql.streaming import StreamingQuery  # noqa: E402

numbers = itertools.count()
GUARANTEES = (Guarantee.AT_LEAST_ONCE, Guarantee.EXACTLY_ONCE)
NO_HEADERS = "CAST(NULL AS ARRAY<STRUCT<key: STRING, value: BINARY>>) AS headers"
ROW = [
    "'{topic}' AS topic",
    "CAST(NULL AS INT) AS partition",
    "key",
    "value",
    NO_HEADERS,
    "timestamp",
    "concat_ws('-', topic, partition) AS slot",
]


@pytest.fixture
def names(headrace_shared_broker: LocalBroker) -> tuple[str, str]:
    """An input topic with two partitions and an output topic with three, of this test alone."""
    number = next(numbers)
    return tuple(
        headrace_shared_broker.create_topic(f"sinks-{which}-{number}", partitions)
        for which, partitions in (("in", 2), ("out", 3))
    )


def source(spark: SparkSession, broker: LocalBroker, topic: str, **options: str) -> DataFrame:
    reader = spark.readStream.format("kafka").option("kafka.bootstrap.servers", broker.bootstrap_servers)
    reader = reader.option("subscribe", topic).option("startingOffsets", "earliest").option("includeHeaders", "true")
    return reader.options(**options).load()


def sink_rows(df: DataFrame, topic: str) -> DataFrame:
    return df.selectExpr(*(column.format(topic=topic) for column in ROW))


def settings(broker: LocalBroker, checkpoint: Path, guarantee: Guarantee, **more: object) -> SinkSettings:
    return SinkSettings(broker.bootstrap_servers, str(checkpoint), guarantee=guarantee, **more)


def run_once(rows: DataFrame, how: SinkSettings) -> StreamingQuery:
    """Work off what is there and stop."""
    session = rows.sparkSession
    # The sink listens to the session that is active when a query starts, as pipelines have it; an earlier pipeline's may still be.
    session._jvm.org.apache.spark.sql.SparkSession.setActiveSession(session._jsparkSession)  # type: ignore[union-attr]
    query = kafka_sink(rows, how).trigger(availableNow=True).start()
    assert query.awaitTermination(60), "the query did not end"
    return query


def committed(broker: LocalBroker, topic: str) -> list[Message]:
    """Everything that a read_committed consumer sees in a topic."""
    consumer = broker.consumer(isolation_level="read_committed", enable_partition_eof=True)
    try:
        partitions = consumer.list_topics(topic, timeout=10).topics[topic].partitions
        consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in partitions])
        return list(_until_all_ends(consumer, len(partitions)))
    finally:
        consumer.close()


def _until_all_ends(consumer, partitions: int) -> Iterator[Message]:
    ended: set[int] = set()
    while len(ended) < partitions:
        message = consumer.poll(10)
        assert message is not None, f"reading came to the end of {len(ended)} of {partitions} partitions"
        if message.error() is not None:
            ended.add(message.partition())
        else:
            yield message


def end_offsets(broker: LocalBroker, topic: str) -> int:
    consumer = broker.consumer()
    try:
        partitions = consumer.list_topics(topic, timeout=10).topics[topic].partitions
        return sum(consumer.get_watermark_offsets(TopicPartition(topic, p), timeout=10)[1] for p in partitions)
    finally:
        consumer.close()


@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_a_row_becomes_a_record_with_all_its_parts(spark, headrace_shared_broker, names, tmp_path, guarantee):
    broker, (topic_in, topic_out) = headrace_shared_broker, names
    producer = kafka_producer(broker.bootstrap_servers)
    producer.produce(topic_in, b"v", b"k", headers=[("a", b"1"), ("b", None)], timestamp=1234567890123, partition=0)
    producer.produce(topic_in, None, b"gone", timestamp=1234567890124, partition=0)
    producer.flush(10)
    rows = source(spark, broker, topic_in).selectExpr(
        f"'{topic_out}' AS topic",
        "CAST(IF(offset = 0, 2, 1) AS INT) AS partition",
        "key",
        "value",
        "headers",
        "timestamp",
        "'one' AS slot",
    )
    run_once(rows, settings(broker, tmp_path / "c", guarantee))
    records = {message.partition(): message for message in committed(broker, topic_out)}
    first, tombstone = records[2], records[1]
    assert (first.key(), first.value(), first.headers()) == (b"k", b"v", [("a", b"1"), ("b", None)])
    assert first.timestamp()[1] == 1234567890123
    assert (tombstone.key(), tombstone.value(), tombstone.headers()) == (b"gone", None, None)


@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_rows_are_routed_by_topic_and_keys_are_placed_as_java_places_them(
    spark, headrace_shared_broker, names, tmp_path, guarantee
):
    broker, (topic_in, topic_out) = headrace_shared_broker, names
    other = broker.create_topic(f"{topic_out}-other", 3)
    reference = broker.create_topic(f"{topic_out}-reference", 3)
    pairs = [(f"key-{n}", str(n)) for n in range(400)]
    broker.produce(topic_in, pairs)
    broker.produce(reference, pairs)
    rows = sink_rows(source(spark, broker, topic_in), topic_out)
    rows = rows.withColumn("topic", sql.expr(f"IF(CAST(CAST(value AS STRING) AS INT) % 4 = 0, '{other}', topic)"))
    run_once(rows, settings(broker, tmp_path / "c", guarantee))
    here, there = committed(broker, topic_out), committed(broker, other)
    assert len(here) == 300
    assert len(there) == 100
    wanted = {message.key(): message.partition() for message in committed(broker, reference)}
    assert {message.key(): message.partition() for message in here + there} == wanted


@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_order_per_partition_is_kept(spark, headrace_shared_broker, names, tmp_path, guarantee):
    broker, (topic_in, topic_out) = headrace_shared_broker, names
    broker.produce(topic_in, [(f"key-{n % 7}", str(n)) for n in range(3000)])
    rows = sink_rows(source(spark, broker, topic_in, maxOffsetsPerTrigger="1000"), topic_out)
    run_once(rows, settings(broker, tmp_path / "c", guarantee))
    per_key: dict[bytes, list[int]] = {}
    for message in committed(broker, topic_out):
        per_key.setdefault(message.key(), []).append(int(message.value()))
    assert {key: len(values) for key, values in per_key.items()} == {
        f"key-{n}".encode(): len(range(n, 3000, 7)) for n in range(7)
    }
    assert all(values == sorted(values) for values in per_key.values())


def test_one_task_with_several_slots_commits_each(spark, headrace_shared_broker, names, tmp_path):
    broker, (topic_in, topic_out) = headrace_shared_broker, names
    broker.produce(topic_in, [(f"key-{n}", str(n)) for n in range(200)])
    rows = sink_rows(source(spark, broker, topic_in).coalesce(1), topic_out)
    query = run_once(rows, settings(broker, tmp_path / "c", Guarantee.EXACTLY_ONCE))
    assert len(committed(broker, topic_out)) == 200
    assert [marker(broker, f"{query.id}-{topic_in}-{partition}") for partition in (0, 1)] == [1, 1]


def marker(broker: LocalBroker, group: str) -> int:
    """The next batch id that a slot has committed; negative when it never has."""
    consumer = broker.consumer(group)
    try:
        (committed_at,) = consumer.committed([TopicPartition(MARKER_TOPIC, 0)], timeout=10)
        return committed_at.offset
    finally:
        consumer.close()


def test_a_batch_without_rows_opens_no_transaction(spark, headrace_shared_broker, names, tmp_path):
    broker, (topic_in, topic_out) = headrace_shared_broker, names
    broker.produce(topic_in, ["x"])
    rows = sink_rows(source(spark, broker, topic_in).where("false"), topic_out)
    query = run_once(rows, settings(broker, tmp_path / "c", Guarantee.EXACTLY_ONCE))
    assert [marker(broker, f"{query.id}-{topic_in}-{partition}") < 0 for partition in (0, 1)] == [True, True]
    assert end_offsets(broker, topic_out) == 0


def test_a_repeated_batch_is_written_once(spark, headrace_shared_broker, names, tmp_path):
    """As after a crash between the sink's commit and the checkpoint's: the commit log lacks the last batch."""
    broker, (topic_in, topic_out) = headrace_shared_broker, names
    broker.produce(topic_in, [(f"key-{n}", str(n)) for n in range(100)])
    how = settings(broker, tmp_path / "c", Guarantee.EXACTLY_ONCE, pipeline=topic_out)
    run_once(sink_rows(source(spark, broker, topic_in), topic_out), how)
    forget_last_commit(tmp_path / "c")
    spark._jvm.headrace.Producers.closeAll()
    run_once(sink_rows(source(spark, broker, topic_in), topic_out), how)
    assert len(committed(broker, topic_out)) == 100
    assert snapshot(spark, topic_out)["rows_out"] == 100
    broker.produce(topic_in, ["more"])
    run_once(sink_rows(source(spark, broker, topic_in), topic_out), how)
    assert len(committed(broker, topic_out)) == 101
    forget(spark, topic_out)


def forget_last_commit(checkpoint: Path) -> None:
    commits = [path for path in (checkpoint / "commits").iterdir() if path.name.isdigit()]
    newest = max(commits, key=lambda path: int(path.name))
    newest.unlink()
    newest.with_name(f".{newest.name}.crc").unlink(missing_ok=True)


def test_a_new_checkpoint_writes_anew(spark, headrace_shared_broker, names, tmp_path):
    broker, (topic_in, topic_out) = headrace_shared_broker, names
    broker.produce(topic_in, ["a", "b"])
    for checkpoint in ("first", "second"):
        rows = sink_rows(source(spark, broker, topic_in), topic_out)
        run_once(rows, settings(broker, tmp_path / checkpoint, Guarantee.EXACTLY_ONCE))
    assert len(committed(broker, topic_out)) == 4


def test_a_repeated_batch_with_other_content_is_an_error(spark, headrace_shared_broker, names, tmp_path):
    broker, (topic_in, topic_out) = headrace_shared_broker, names
    broker.produce(topic_in, [(f"key-{n}", str(n)) for n in range(100)])
    how = settings(broker, tmp_path / "c", Guarantee.EXACTLY_ONCE)
    run_once(sink_rows(source(spark, broker, topic_in), topic_out), how)
    forget_last_commit(tmp_path / "c")
    with pytest.raises(Exception, match="the query is not deterministic"):
        run_once(sink_rows(source(spark, broker, topic_in).where("offset < 10"), topic_out), how)


def test_a_checkpoint_older_than_the_output_is_an_error(spark, headrace_shared_broker, names, tmp_path):
    broker, (topic_in, topic_out) = headrace_shared_broker, names
    how = settings(broker, tmp_path / "c", Guarantee.EXACTLY_ONCE)
    for n in range(3):
        broker.produce(topic_in, [("key", str(n))])
        run_once(sink_rows(source(spark, broker, topic_in), topic_out), how)
    forget_last_commit(tmp_path / "c")
    forget_last_commit(tmp_path / "c")
    (tmp_path / "c" / "offsets" / "2").unlink()
    with pytest.raises(Exception, match="the checkpoint is older than the output"):
        run_once(sink_rows(source(spark, broker, topic_in), topic_out), how)


def test_a_task_that_fails_leaves_nothing_to_readers(spark, headrace_shared_broker, names, tmp_path):
    broker, (topic_in, topic_out) = headrace_shared_broker, names
    broker.produce(topic_in, [("key", str(n)) for n in range(50)])
    broken = source(spark, broker, topic_in).where("IF(offset = 49, assert_true(false, 'broken') IS NULL, true)")
    how = settings(broker, tmp_path / "c", Guarantee.EXACTLY_ONCE)
    with pytest.raises(Exception, match="broken"):
        run_once(sink_rows(broken, topic_out), how)
    assert committed(broker, topic_out) == []
    run_once(sink_rows(source(spark, broker, topic_in), topic_out), how)
    assert sorted(int(message.value()) for message in committed(broker, topic_out)) == list(range(50))


@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_a_topic_that_is_not_there_fails_with_what_to_do(spark, headrace_shared_broker, names, tmp_path, guarantee):
    broker, (topic_in, _) = headrace_shared_broker, names
    broker.produce(topic_in, ["x"])
    how = settings(
        broker,
        tmp_path / "c",
        guarantee,
        kafka={"max.block.ms": "1000", "delivery.timeout.ms": "1500", "request.timeout.ms": "1000"},
    )
    rows = sink_rows(source(spark, broker, topic_in), "no.such.topic").withColumn("partition", sql.lit(7))
    with pytest.raises(Exception, match="create it first"):
        run_once(rows, how)


def test_a_transaction_timeout_above_the_brokers_is_explained(spark, headrace_shared_broker, names, tmp_path):
    broker, (topic_in, topic_out) = headrace_shared_broker, names
    broker.produce(topic_in, ["x"])
    how = settings(broker, tmp_path / "c", Guarantee.EXACTLY_ONCE, transaction_timeout_ms=2_000_000_000)
    with pytest.raises(Exception, match=r"transaction\.max\.timeout\.ms"):
        run_once(sink_rows(source(spark, broker, topic_in), topic_out), how)


def test_settings_that_break_the_promise_are_refused(spark, headrace_shared_broker, names, tmp_path):
    broker, (topic_in, topic_out) = headrace_shared_broker, names
    how = settings(broker, tmp_path / "c", Guarantee.AT_LEAST_ONCE, kafka={"acks": "1"})
    with pytest.raises(Exception, match="would break what the sink promises"):
        run_once(sink_rows(source(spark, broker, topic_in), topic_out), how)


def test_rows_of_another_form_are_refused(spark, headrace_shared_broker, names, tmp_path):
    broker, (topic_in, topic_out) = headrace_shared_broker, names
    rows = sink_rows(source(spark, broker, topic_in), topic_out)
    how = settings(broker, tmp_path / "c", Guarantee.EXACTLY_ONCE)
    with pytest.raises(SinkError, match="needs the column slot"):
        exactly_once(rows.drop("slot"), how)
    with pytest.raises(SinkError, match="column value must be binary, the query gives string"):
        at_least_once(rows.withColumn("value", sql.lit("text")), how)
    with pytest.raises(SinkError, match="has no column colour"):
        at_least_once(rows.withColumn("colour", sql.lit("red")), how)


def test_real_time_mode_sends_each_record_at_once_and_meters_see_it(spark, headrace_shared_broker, names, tmp_path):
    broker, (topic_in, topic_out) = headrace_shared_broker, names
    df = source(spark, broker, topic_in)
    counted = df.where(rows_in(spark, topic_out, sql.col("topic"), sql.col("partition"), sql.col("timestamp")))
    how = settings(broker, tmp_path / "c", Guarantee.AT_LEAST_ONCE, pipeline=topic_out)
    query = kafka_sink(sink_rows(counted, topic_out), how).outputMode("update").trigger(realTime="60 seconds").start()
    try:
        for n in range(3):
            broker.produce(topic_in, [("key", str(n))])
            wait_until(lambda n=n: end_offsets(broker, topic_out) == n + 1, timeout_s=30, message=f"record {n}")
        counts = snapshot(spark, topic_out)
    finally:
        query.stop()
    assert (counts["rows_in"], counts["rows_out"], counts["bad"], counts["late"]) == (3, 3, 0, 0)
    assert counts["latency_ms"]["count"] == 3
    assert counts["last_output_ms"] > 0
    (place,) = counts["partitions"].values()
    newest = max(message.timestamp()[1] for message in committed(broker, topic_out))
    assert place == {"rows": 3, "max_timestamp_ms": newest}
    forget(spark, topic_out)
    assert snapshot(spark, topic_out)["rows_in"] == 0


def test_exactly_once_is_refused_in_real_time_mode(spark, headrace_shared_broker, names, tmp_path):
    broker, (topic_in, topic_out) = headrace_shared_broker, names
    rows = sink_rows(source(spark, broker, topic_in), topic_out)
    writer = exactly_once(rows, settings(broker, tmp_path / "c", Guarantee.EXACTLY_ONCE)).outputMode("update")
    with pytest.raises(Exception, match="OPERATOR_OR_SINK_NOT_IN_ALLOWLIST"):
        writer.trigger(realTime="60 seconds").start()


def test_counts_of_other_processes_reach_the_driver_with_their_tasks(spark):
    """An executor counts into a meter of its own and hands it over; here both ends are in one process."""
    jvm = spark._jvm.headrace
    counted = jvm.PipelineMeter()
    counted.sent(0)
    counted.partition("topic-1").begin().came(77)
    driver, executor = (jvm.MeterAccumulator("elsewhere") for _ in range(2))
    executor.add(counted)
    assert driver.isZero() and not executor.isZero()
    for _ in range(2):
        driver.merge(executor)
    counts = snapshot(spark, "elsewhere")
    assert (counts["rows_out"], counts["latency_ms"]["count"]) == (2, 2)
    assert counts["partitions"] == {"topic-1": {"rows": 2, "max_timestamp_ms": 77}}
    forget(spark, "elsewhere")


def test_producers_are_closed_when_their_query_ends(spark, headrace_shared_broker, names, tmp_path):
    broker, (topic_in, topic_out) = headrace_shared_broker, names
    broker.produce(topic_in, ["x", "y"])
    for guarantee in GUARANTEES:
        run_once(
            sink_rows(source(spark, broker, topic_in), topic_out), settings(broker, tmp_path / guarantee, guarantee)
        )
    wait_until(lambda: spark._jvm.headrace.Producers.count() == 0, message="no producers left")
