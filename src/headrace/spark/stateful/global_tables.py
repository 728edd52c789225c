"""Global tables: a topic that every process of a query holds in memory, as an SQL function from a key to a row.

    handle = register(spark, "users", GlobalTableSpec(topic="users", kafka={"bootstrap.servers": …}, parse=…, key=…, value=…, error=…))
    spark.sql("… users(named_struct('id', click.user)).name …")

The topic is read to its end before the first look-up is answered and followed ever after, committed records only, by one thread per process; look-ups never wait
for Kafka again and work in real-time mode. As in Kafka Streams nothing orders the table's changes against the stream: a row sees the table as it is at that
moment, so a repeated batch may see more of it.

Memory: `max_bytes` bounds the decoded rows of a table in each process (a row's own bytes and 120 more). A table that outgrows it fails, and with it the queries
that look it up. A table that nobody has looked up for `idle_ms` is dropped, and read again at the next look-up; `close` drops it at once, the end of the session all.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True)
class GlobalTableSpec:
    """A topic and how its records are decoded.

    `parse`: columns computed once for each record, SQL over `key` and `value` (BINARY). `key`, `value` (structs) and `error` (the reason for which a record is no
    row, else NULL) are SQL over those and the columns of `parse`. Records that cannot be decoded, or have no key, are left out, counted and told in the log.
    """

    topic: str
    kafka: Mapping[str, str]
    """Settings of the consumer, in Kafka's names; `bootstrap.servers` at least."""
    key: str
    value: str
    error: str = "CAST(NULL AS STRING)"
    parse: Mapping[str, str] = field(default_factory=dict)
    max_bytes: int = 256 << 20
    load_timeout_ms: int = 600_000
    idle_ms: int = 3_600_000


@dataclass(frozen=True)
class GlobalTable:
    """A registered global table: the name of its SQL function, and what it is known by inside the processes."""

    function: str
    identity: str


def register(spark: SparkSession, function: str, spec: GlobalTableSpec) -> GlobalTable:
    """Make `function(key)` known to the session. The key is the table's key struct, or its only field. Nothing is read before the first look-up."""
    for name in (function, *spec.parse):
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} cannot name a function or a column here: letters, digits and _ only")
    columns = {"key": "key", "value": "value", **spec.parse}
    description = {
        "step": function,
        "topic": spec.topic,
        "kafka": dict(sorted(spec.kafka.items())),
        "parse": _struct(columns),
        "decode": _struct({"key": spec.key, "value": spec.value, "error": spec.error}),
        "max_bytes": spec.max_bytes,
        "load_timeout_ms": spec.load_timeout_ms,
        "idle_ms": spec.idle_ms,
    }
    identity = _jvm(spark).GlobalTableLookup.register(spark._jsparkSession, function, json.dumps(description))
    return GlobalTable(function, identity)


def catch_up(spark: SparkSession, table: GlobalTable, timeout_s: float = 30.0) -> None:
    """Wait until this process has read all that the topic holds now. Does nothing for a table that nobody has looked up: its first look-up reads it."""
    _jvm(spark).GlobalTables.catchUp(table.identity, int(timeout_s * 1000))


def close(spark: SparkSession, table: GlobalTable) -> None:
    """Drop this process's copy. Executors elsewhere drop theirs when idle, or end."""
    _jvm(spark).GlobalTables.close(table.identity)


def summaries(spark: SparkSession) -> list[dict[str, Any]]:
    """What this process holds: topic, rows, bytes, bad (records left out), loaded, error."""
    held: list[dict[str, Any]] = json.loads(_jvm(spark).GlobalTables.summaries())
    return held


def _struct(columns: Mapping[str, str]) -> str:
    return "named_struct(" + ", ".join(f"'{name}', {sql}" for name, sql in columns.items()) + ")"


def _jvm(spark: SparkSession) -> Any:
    jvm = spark._jvm
    assert jvm is not None, "a global table needs a session with a Java process of its own"
    return jvm.headrace
