"""The Kafka sinks of a query: at least once in any mode, exactly once in micro-batches. Both take rows of one form.

A sink row has the columns of `SINK_COLUMNS`; every row names its topic, so one query writes to many. A null `partition` means by key as
Java's producer does, a null `value` is a tombstone, `timestamp` becomes the record's timestamp. `slot` (exactly once only) names the unit that
is committed as one: the source partition of a stateless query, the shuffle partition after an exchange. It must be the same when Spark
repeats a batch, and rows of one slot must be in one task.

The work is done in the JVM by `jvm/KafkaSink.scala`; this module checks and configures, and never looks at data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.readwriter import DataStreamWriter

SINK_COLUMNS: Mapping[str, str] = {
    "topic": "string",
    "partition": "int",
    "key": "binary",
    "value": "binary",
    "headers": "array<struct<key:string,value:binary>>",
    "timestamp": "timestamp",
    "slot": "string",
}
OPTIONAL_COLUMNS: Mapping[str, str] = {"source_timestamp": "timestamp", "key_suffix": "int"}
"""`source_timestamp`: when the source record was written, for the latency meter. Without it the meter goes by `timestamp`. `key_suffix`: how many bytes at
the key's end do not decide its partition."""

MARKER_TOPIC = "_headrace_markers"
FORMAT = "headrace.KafkaSink"


class Guarantee(StrEnum):
    """What a crash may do to the output: repeat some of it, or nothing at all."""

    AT_LEAST_ONCE = "at_least_once"
    EXACTLY_ONCE = "exactly_once"


class SinkError(ValueError):
    """A sink that cannot be started as asked; the message says what to change."""


@dataclass(frozen=True)
class SinkSettings:
    """How a query writes. `kafka` holds Kafka's own client settings by their own names, authentication included."""

    bootstrap_servers: str
    checkpoint_location: str
    pipeline: str = ""
    guarantee: Guarantee = Guarantee.AT_LEAST_ONCE
    kafka: Mapping[str, str] = field(default_factory=dict, repr=False)
    linger_ms: int = 0
    transaction_timeout_ms: int = 300_000
    """Longer than the slowest batch takes from its first row to its end, and at most the broker's transaction.max.timeout.ms."""
    marker_topic: str = MARKER_TOPIC
    check_replay: bool = True
    """Fail when a repeated batch has another number of records than the one that was written: then it was not deterministic."""


def kafka_sink(rows: DataFrame, settings: SinkSettings) -> DataStreamWriter:
    """A writer of sink rows, ready for a trigger, an output mode and `start`."""
    check_rows(rows, settings.guarantee)
    writer = rows.writeStream.format(FORMAT).option("checkpointLocation", settings.checkpoint_location)
    for name, value in _options(settings).items():
        writer = writer.option(name, value)
    return writer


def at_least_once(rows: DataFrame, settings: SinkSettings) -> DataStreamWriter:
    """The sink for real-time mode and for micro-batches that may repeat output after a crash."""
    return kafka_sink(rows, _with_guarantee(settings, Guarantee.AT_LEAST_ONCE))


def exactly_once(rows: DataFrame, settings: SinkSettings) -> DataStreamWriter:
    """The transactional sink. For micro-batches only: a real-time batch would keep a transaction open for a minute."""
    return kafka_sink(rows, _with_guarantee(settings, Guarantee.EXACTLY_ONCE))


def check_rows(rows: DataFrame, guarantee: Guarantee) -> None:
    """SinkError unless the columns are those of a sink row, each with its type."""
    given = {column.name: column.dataType.simpleString() for column in rows.schema.fields}
    wanted = dict(SINK_COLUMNS)
    if guarantee is Guarantee.AT_LEAST_ONCE:
        wanted.pop("slot")
    for name, kind in wanted.items():
        if name not in given:
            raise SinkError(f"a sink row needs the column {name} ({kind}); the query has {', '.join(given) or 'none'}")
    for name, kind in given.items():
        known = SINK_COLUMNS.get(name) or OPTIONAL_COLUMNS.get(name)
        if known is None:
            raise SinkError(
                f"a sink row has no column {name}: put it into the key, the value or the headers, or leave it out"
            )
        if kind != known:
            raise SinkError(f"the sink's column {name} must be {known}, the query gives {kind}")


def _with_guarantee(settings: SinkSettings, guarantee: Guarantee) -> SinkSettings:
    return replace(settings, guarantee=guarantee)


def _options(settings: SinkSettings) -> dict[str, str]:
    kafka = {"linger.ms": str(settings.linger_ms), **settings.kafka, "bootstrap.servers": settings.bootstrap_servers}
    return {
        "guarantee": str(settings.guarantee),
        "pipeline": settings.pipeline,
        "transaction.timeout.ms": str(settings.transaction_timeout_ms),
        "marker.topic": settings.marker_topic,
        "check.replay": str(settings.check_replay).lower(),
        **{f"kafka.{name}": str(value) for name, value in kafka.items()},
    }
