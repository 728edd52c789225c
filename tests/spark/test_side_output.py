"""Bad records leave as data, once each, from every mode; good ones are not touched."""

from __future__ import annotations

import base64
import itertools
import json
from typing import Any

import pytest

from headrace.spark.meters import snapshot
from headrace.spark.side_output import SideOutputSettings, only_good
from headrace.spark.sinks import Guarantee, SinkSettings, kafka_sink
from headrace.testing import LocalBroker, wait_until

pyspark = pytest.importorskip("pyspark")
from pyspark.sql import DataFrame, SparkSession  # noqa: E402
from pyspark.sql import functions as sql  # noqa: E402

numbers = itertools.count()
ERROR = "IF(parsed.n IS NULL, concat('not an object with n: ', coalesce(length(value), 0), ' bytes'), NULL)"
NO_HEADERS = "CAST(NULL AS ARRAY<STRUCT<key: STRING, value: BINARY>>) AS headers"


class Pipeline:
    """A topic of JSON, one of numbers that come out, a processing log: names of one test."""

    def __init__(self, spark: SparkSession, broker: LocalBroker) -> None:
        self.spark, self.broker = spark, broker
        self.name = f"side-{next(numbers)}"
        self.topic_in, self.topic_out, self.log = (
            broker.create_topic(f"{self.name}-{part}") for part in ("in", "out", "log")
        )
        self.settings = SideOutputSettings(broker.bootstrap_servers, self.name, self.log)

    def good(self) -> DataFrame:
        reader = self.spark.readStream.format("kafka").option("kafka.bootstrap.servers", self.broker.bootstrap_servers)
        df = reader.option("subscribe", self.topic_in).option("startingOffsets", "earliest").load()
        parsed = df.withColumn("parsed", sql.expr("from_json(CAST(value AS STRING), 'n INT')"))
        return parsed.where(only_good(self.spark, sql.expr(ERROR), self.settings))

    def rows(self) -> DataFrame:
        return self.good().selectExpr(
            f"'{self.topic_out}' AS topic",
            "CAST(NULL AS INT) AS partition",
            "key",
            "CAST(CAST(parsed.n * 10 AS STRING) AS BINARY) AS value",
            NO_HEADERS,
            "timestamp",
            "concat_ws('-', topic, partition) AS slot",
        )

    def sink(self, checkpoint: object, guarantee: Guarantee = Guarantee.AT_LEAST_ONCE) -> SinkSettings:
        return SinkSettings(self.broker.bootstrap_servers, str(checkpoint), self.name, guarantee)

    def logged(self, count: int) -> list[dict[str, Any]]:
        return [json.loads(message.value()) for message in self.broker.records(self.log, count)]

    def log_length(self) -> int:
        return end_offset(self.broker, self.log)


def end_offset(broker: LocalBroker, topic: str) -> int:
    from confluent_kafka import TopicPartition

    consumer = broker.consumer()
    try:
        return consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=10)[1]
    finally:
        consumer.close()


@pytest.fixture
def pipeline(spark: SparkSession, headrace_shared_broker: LocalBroker) -> Pipeline:
    return Pipeline(spark, headrace_shared_broker)


def run_once(pipeline: Pipeline, checkpoint: object, guarantee: Guarantee = Guarantee.AT_LEAST_ONCE) -> None:
    query = kafka_sink(pipeline.rows(), pipeline.sink(checkpoint, guarantee)).trigger(availableNow=True).start()
    assert query.awaitTermination(60)


@pytest.mark.parametrize("codegen", ["true", "false"])
@pytest.mark.parametrize("guarantee", [Guarantee.AT_LEAST_ONCE, Guarantee.EXACTLY_ONCE])
def test_each_bad_record_is_logged_once(pipeline, tmp_path, codegen, guarantee):
    broker = pipeline.broker
    values = [b'{"n": 1}', b"not json", b'{"n": 2}', b"\xff\xfe", b'{"m": 3}']
    broker.produce(pipeline.topic_in, [(f"k{n}", value) for n, value in enumerate(values)])
    pipeline.spark.conf.set("spark.sql.codegen.wholeStage", codegen)
    pipeline.spark.conf.set("spark.sql.codegen.factoryMode", "FALLBACK" if codegen == "true" else "NO_CODEGEN")
    try:
        run_once(pipeline, tmp_path / "c", guarantee)
    finally:
        pipeline.spark.conf.unset("spark.sql.codegen.wholeStage")
        pipeline.spark.conf.unset("spark.sql.codegen.factoryMode")
    assert [message.value() for message in broker.records(pipeline.topic_out, 2)] == [b"10", b"20"]
    entries = pipeline.logged(3)
    assert pipeline.log_length() == 3
    assert [entry["offset"] for entry in entries] == [1, 3, 4]
    first = entries[0]
    assert base64.b64decode(first.pop("value")) == b"not json"
    assert base64.b64decode(first.pop("key")) == b"k1"
    assert first.pop("timestamp") == broker.records(pipeline.topic_in, 2)[1].timestamp()[1]
    assert first == {
        "pipeline": pipeline.name,
        "topic": pipeline.topic_in,
        "partition": 0,
        "offset": 1,
        "reason": "not an object with n: 8 bytes",
        "size": 8,
        "cut": False,
    }
    assert broker.records(pipeline.log, 1)[0].key() == f"{pipeline.topic_in}-0-1".encode()
    counts = snapshot(pipeline.spark, pipeline.name)
    assert (counts["bad"], counts["rows_out"]) == (3, 2)


def test_real_time_mode_logs_at_once(pipeline, tmp_path):
    broker = pipeline.broker
    writer = kafka_sink(pipeline.rows(), pipeline.sink(tmp_path / "c")).outputMode("update")
    query = writer.trigger(realTime="60 seconds").start()
    try:
        broker.produce(pipeline.topic_in, ["bad", '{"n": 7}', "worse"])
        wait_until(lambda: pipeline.log_length() == 2, timeout_s=30, message="two bad records")
        wait_until(lambda: end_offset(broker, pipeline.topic_out) == 1, timeout_s=30, message="one good record")
    finally:
        query.stop()
    assert [base64.b64decode(entry["value"]) for entry in pipeline.logged(2)] == [b"bad", b"worse"]


def test_before_a_shuffle_each_bad_record_is_logged_once(pipeline, tmp_path):
    broker = pipeline.broker
    broker.produce(pipeline.topic_in, ['{"n": 1}', "bad", '{"n": 1}', "bad"])
    counted = pipeline.good().groupBy("parsed.n").count()
    rows = counted.selectExpr(
        f"'{pipeline.topic_out}' AS topic",
        "CAST(NULL AS INT) AS partition",
        "CAST(CAST(n AS STRING) AS BINARY) AS key",
        "CAST(CAST(count AS STRING) AS BINARY) AS value",
        NO_HEADERS,
        "CAST(NULL AS TIMESTAMP) AS timestamp",
        "CAST(spark_partition_id() AS STRING) AS slot",
    )
    writer = kafka_sink(rows, pipeline.sink(tmp_path / "c", Guarantee.EXACTLY_ONCE)).outputMode("update")
    assert writer.trigger(availableNow=True).start().awaitTermination(60)
    assert pipeline.log_length() == 2
    assert [message.value() for message in broker.records(pipeline.topic_out, 1)] == [b"2"]


def test_long_values_are_cut_and_said_to_be(pipeline, tmp_path):
    broker = pipeline.broker
    broker.produce(pipeline.topic_in, [(None, b"x" * 100_000), (b"y" * 70_000, None)])
    run_once(pipeline, tmp_path / "c")
    value, key = pipeline.logged(2)
    assert (value["size"], value["cut"], value["key"]) == (100_000, True, None)
    assert base64.b64decode(value["value"]) == b"x" * 65536
    assert (key["size"], key["cut"], key["value"]) == (None, True, None)
    assert base64.b64decode(key["key"]) == b"y" * 65536


def test_a_log_that_cannot_be_written_fails_the_task(pipeline, tmp_path):
    pipeline.broker.produce(pipeline.topic_in, ["bad"])
    quick = {"max.block.ms": "400"}
    pipeline.settings = SideOutputSettings(
        pipeline.broker.bootstrap_servers, pipeline.name, "no.such.topic", {**quick, "max.request.size": "10"}
    )
    with pytest.raises(
        Exception, match=r"side output of side-\d+ to no\.such\.topic: .*(create it|max\.request\.size)"
    ):
        run_once(pipeline, tmp_path / "c")


def test_passwords_do_not_show_in_plans(pipeline):
    secret = "org.apache.kafka.common.security.plain.PlainLoginModule required password='hush';"
    pipeline.settings = SideOutputSettings("127.0.0.1:1", pipeline.name, pipeline.log, {"sasl.jaas.config": secret})
    good = pipeline.good()
    plan = good._jdf.queryExecution().toString()
    assert "side_output" in plan
    assert "hush" not in plan + repr(pipeline.settings) + str(good)
