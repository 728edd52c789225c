"""Puts a Spark session through what pipelines do, so that `headrace setup` can archive the classes that they load.

One query with state and one without, from a topic to a topic in real-time mode, on a broker of its own in this process.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

    from headrace.testing import LocalBroker

_TIMEOUT_S = 120.0
_RECORDS = 20
_PLAIN = ("key", "to_json(struct(row.k, row.v + 1 AS v, timestamp)) AS value")
_COUNTED = ("k AS key", "to_json(struct(k, w, count)) AS value")


def exercise(session: SparkSession) -> None:
    from headrace.testing import broker

    with broker() as running, tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as checkpoints:
        for topic in ("in", "plain", "counted"):
            running.create_topic(topic)
        rows = _rows(session, running)
        windows = rows.selectExpr("row.k", "window(timestamp, '10 seconds') AS w").groupBy("k", "w").count()
        queries = [
            _start(rows.where("row.k IS NOT NULL").selectExpr(*_PLAIN), running, "plain", Path(checkpoints)),
            _start(windows.selectExpr(*_COUNTED), running, "counted", Path(checkpoints)),
        ]
        try:
            _pass_records(running)
        finally:
            for query in queries:
                query.stop()


def _rows(session: SparkSession, running: LocalBroker) -> DataFrame:
    options = {"kafka.bootstrap.servers": running.bootstrap_servers, "subscribe": "in", "startingOffsets": "earliest"}
    records = session.readStream.format("kafka").options(**options).load()
    parsed = "from_json(CAST(value AS STRING), 'k STRING, v BIGINT') AS row"
    return records.selectExpr("key", parsed, "timestamp", "partition", "offset")


def _start(rows: DataFrame, running: LocalBroker, topic: str, checkpoints: Path) -> StreamingQuery:
    writer = rows.writeStream.format("kafka").outputMode("update").trigger(realTime="30 seconds")
    options = {"kafka.bootstrap.servers": running.bootstrap_servers, "topic": topic}
    return writer.options(**options).option("checkpointLocation", str(checkpoints / topic)).start()


def _pass_records(running: LocalBroker) -> None:
    """Write a few records and wait until every query has put out what it makes of them: a row for each, in real-time mode."""
    running.produce("in", [(b"k", b'{"k": "a", "v": %d}' % number) for number in range(_RECORDS)])
    for topic in ("plain", "counted"):
        running.records(topic, _RECORDS, timeout_s=_TIMEOUT_S)
