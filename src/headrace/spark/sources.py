"""Topics as streaming DataFrames, with the columns that Spark's Kafka source has.

Only committed records are read, in every mode: internal topics and outputs of other pipelines may be written in transactions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.plan.stage_modes import Mode
from headrace.plan.steps import OffsetReset
from headrace.spark.pipeline_settings import PipelineSettings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MAX_POLL_RECORDS = 10_000
"""Before each poll Spark asks the broker where its partition begins and ends; with Kafka's 500 that is a tenth of a query's time. What a poll holds
is bounded by max.partition.fetch.bytes all the same; with more of both, collections cost more than the questions that are spared."""


def source_options(
    topic: str, mode: Mode, settings: PipelineSettings, offset_reset: OffsetReset, headers: bool
) -> dict[str, str]:
    """The options of Spark's Kafka source. Partitions are never split: order and exactly-once slots are by partition."""
    options = {
        "kafka.max.poll.records": str(MAX_POLL_RECORDS),
        **{f"kafka.{name}": str(value) for name, value in settings.kafka.items()},
        "kafka.bootstrap.servers": settings.bootstrap_servers,
        "kafka.isolation.level": "read_committed",
        "subscribe": topic,
        "startingOffsets": str(offset_reset),
        "failOnDataLoss": str(settings.fail_on_data_loss).lower(),
    }
    if headers:
        options["includeHeaders"] = "true"
    if mode is Mode.MICRO_BATCH:
        options["maxOffsetsPerTrigger"] = str(settings.max_records_per_batch)
        options["kafka.fetch.max.wait.ms"] = str(settings.fetch_max_wait_ms)
    return options


def topic_rows(
    spark: SparkSession,
    topic: str,
    mode: Mode,
    settings: PipelineSettings,
    offset_reset: OffsetReset = OffsetReset.EARLIEST,
    headers: bool = False,
) -> DataFrame:
    """A topic's records: key, value, topic, partition, offset, timestamp, and headers if wanted."""
    options = source_options(topic, mode, settings, offset_reset, headers)
    return spark.readStream.format("kafka").options(**options).load().drop("timestampType")
