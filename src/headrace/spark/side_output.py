"""Records that cannot be decoded leave a query as data: a filter keeps the good rows and sends each bad one to the processing log.

A record of the log has the key `<topic>-<partition>-<offset>` and a JSON value: pipeline, topic, partition, offset, timestamp (ms), reason, key
and value (base64), size (of the value, in bytes) and cut (true when key or value were longer than 64 KB and are shown in part). It is written
at least once, in every mode and under every guarantee: the key tells repetitions apart. A task ends only when the broker has its bad
records, and fails when it cannot have them.

The sending is done in the JVM by `jvm/SideOutput.scala`. This module only builds the column, and must not be called per record.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession

PROCESSING_LOG = "_headrace_processing_log"
RECORD_COLUMNS = ("topic", "partition", "offset", "timestamp", "key", "value")


@dataclass(frozen=True)
class SideOutputSettings:
    """Where bad records go. `kafka` holds Kafka's own client settings, authentication included."""

    bootstrap_servers: str
    pipeline: str
    topic: str = PROCESSING_LOG
    kafka: Mapping[str, str] = field(default_factory=dict, repr=False)


def side_output(
    spark: SparkSession, reason: Column, settings: SideOutputSettings, record: Mapping[str, Column] | None = None
) -> Column:
    """A column that is false, and sends the record with its reason whenever it is evaluated.

    `record` says where topic, partition, offset, timestamp, key and value are, if not in columns of these names.
    """
    from pyspark.sql import functions as sql
    from pyspark.sql.classic.column import Column as JvmColumn

    placed = {name: sql.col(name) for name in RECORD_COLUMNS} | dict(record or {})
    columns = [placed[name] for name in RECORD_COLUMNS] + [reason]
    jvm = spark._jvm
    inputs = spark.sparkContext._gateway.new_array(jvm.org.apache.spark.sql.Column, len(columns))
    for index, column in enumerate(columns):
        inputs[index] = column._jc
    kafka = {**settings.kafka, "bootstrap.servers": settings.bootstrap_servers}
    return JvmColumn(jvm.headrace.SideOutput.column(kafka, settings.pipeline, settings.topic, inputs))


def only_good(
    spark: SparkSession, error: Column, settings: SideOutputSettings, record: Mapping[str, Column] | None = None
) -> Column:
    """For a filter: true where `error` is null; where it is not, the record leaves through the side output with it as reason."""
    from pyspark.sql import functions as sql

    return sql.when(error.isNull(), sql.lit(True)).otherwise(side_output(spark, error, settings, record))
