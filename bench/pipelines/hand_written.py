"""The same jobs in PySpark, as someone would write them who knows it well: no more columns than needed, Spark's own Kafka sink.

Each takes the session and returns what is to be written (key, value) with its output mode.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from bench.pipelines.records import LEAST_AMOUNT, TAX

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

EVENT = "id BIGINT, name STRING, amount DOUBLE, kind STRING, note STRING"
USER = "city STRING, tier BIGINT"
Reader = Callable[[str], "DataFrame"]
Job = Callable[["SparkSession", Reader, Mapping[str, Any]], "tuple[DataFrame, str]"]


def mapped(_spark: SparkSession, read: Reader, where: Mapping[str, Any]) -> tuple[DataFrame, str]:
    events = read(where["events"]).selectExpr("key", f"from_json(CAST(value AS STRING), '{EVENT}') AS e")
    wanted = events.where(f"e.amount >= {LEAST_AMOUNT}")
    value = f"to_json(struct(e.id AS id, e.name AS name, e.amount * {TAX}D AS gross, e.kind AS kind)) AS value"
    return wanted.selectExpr("key", value), "update"


def _windowed(rows: DataFrame, length_s: int, slide_s: int, grace: str, mode: str) -> tuple[DataFrame, str]:
    from pyspark.sql import functions as sql

    window = sql.window("timestamp", f"{length_s} seconds", f"{slide_s} seconds").alias("w")
    counts = rows.withWatermark("timestamp", grace).groupBy("key", window).agg(sql.count("*").alias("n"))
    return counts.selectExpr("key", "to_json(struct(unix_millis(w.start) AS start, n)) AS value"), mode


def counted(_spark: SparkSession, read: Reader, where: Mapping[str, Any]) -> tuple[DataFrame, str]:
    return _windowed(read(where["events"]).select("key", "timestamp"), 10, 10, "1 day", "update")


def counted_json(_spark: SparkSession, read: Reader, where: Mapping[str, Any]) -> tuple[DataFrame, str]:
    events = read(where["events"]).selectExpr(
        "key", "timestamp", "from_json(CAST(value AS STRING), 'amount DOUBLE') AS e"
    )
    return _windowed(events.where(f"e.amount >= {LEAST_AMOUNT}").select("key", "timestamp"), 10, 10, "1 day", "update")


def joined(spark: SparkSession, read: Reader, where: Mapping[str, Any]) -> tuple[DataFrame, str]:
    """The table as it is when a batch begins, broadcast: cheaper than a join with state, and not exact within a batch."""
    from pyspark.sql import functions as sql

    topic = {"kafka.bootstrap.servers": where["bootstrap_servers"], "subscribe": where["users"]}
    users = spark.read.format("kafka").options(**topic).load()
    latest = users.groupBy("key").agg(sql.expr("max_by(value, offset) AS row"))
    table = latest.selectExpr("key", f"from_json(CAST(row AS STRING), '{USER}') AS u")
    events = read(where["events"]).selectExpr("key", f"from_json(CAST(value AS STRING), '{EVENT}') AS e")
    value = "to_json(struct(e.id AS id, e.amount AS amount, u.city AS city, u.tier AS tier)) AS value"
    return events.join(sql.broadcast(table), "key").selectExpr("key", value), "update"


def sliding(length_s: int) -> Job:
    def build(_spark: SparkSession, read: Reader, where: Mapping[str, Any]) -> tuple[DataFrame, str]:
        return _windowed(read(where["events"]).select("key", "timestamp"), length_s, 1, "0 seconds", "append")

    return build


JOBS: Mapping[str, Job] = {
    "map": mapped,
    "count": counted,
    "count-json": counted_json,
    "join": joined,
    "sliding-60": sliding(60),
    "sliding-600": sliding(600),
}
