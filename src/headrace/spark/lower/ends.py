"""The rows of lanes as rows of the sink: topic, key and value as bytes, timestamp, slot. All lanes of a trunk leave through one sink."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headrace.formats import FORMATS
from headrace.functions.sql_text import cast_sql, string_sql
from headrace.plan import steps as s
from headrace.plan.relations import Relation
from headrace.plan.serdes import KeyWindow, Serde
from headrace.plan.stores import StoreTopic
from headrace.plan.types import Struct
from headrace.spark.lower.flow import Lane, RowSql, Trunk
from headrace.spark.lower.routes import routed
from headrace.spark.lower.texts import PythonNames, Texts

NO_HEADERS = "CAST(NULL AS ARRAY<STRUCT<key: STRING, value: BINARY>>)"


@dataclass(frozen=True)
class End:
    """One output of a lane: where its rows go, and their bytes, as SQL."""

    lane: Lane
    topic: str
    key: str
    value: str
    key_suffix: int = 0
    """Bytes at the key's end that say nothing about its partition: all windows of a key are in one, as in Kafka Streams."""

    def columns(self) -> dict[str, str]:
        row = {"topic": self.topic, "key": self.key, "value": self.value, "timestamp": self.lane.ts}
        return {**row, "key_suffix": str(self.key_suffix)}


def sink_columns(trunk: Trunk, ends: Sequence[End], slots: bool) -> list[str]:
    """The select list that makes sink rows of a trunk; with `slots`, which exactly-once needs."""
    columns = routed(trunk, [(end.lane, end.columns()) for end in ends])
    columns |= {"headers": NO_HEADERS, "partition": "CAST(NULL AS INT)"}
    if slots:
        columns["slot"] = trunk.slot
    return [f"{sql} AS {name}" for name, sql in columns.items()]


def sink_end(lane: Lane, step: s.Sink, relation: Relation, python: PythonNames) -> End:
    """A sink's rows. A topic that its expression does not name is the sink's own."""
    topic = string_sql(step.topic)
    if step.topic_expression is not None:
        topic = f"coalesce({Texts.over(relation, python).sql(step.topic_expression, lane)}, {topic})"
    key = widened(lane.key, relation.key, step.key.columns)
    value = widened(lane.value, relation.value, step.value.columns)
    return End(lane, topic, encoded_key(lane, key, step.key), encoded(value, step.value), window_size(lane, step.key))


def store_end(lane: Lane, store: StoreTopic) -> End:
    key = encoded_key(lane, lane.key, store.key)
    return End(lane, string_sql(store.topic), key, encoded(lane.value, store.value), window_size(lane, store.key))


def encoded(row: RowSql, serde: Serde) -> str:
    """A row as bytes; null where the row is."""
    return FORMATS[serde.format].encode_sql(row.struct(), serde)


def encoded_key(lane: Lane, key: RowSql, serde: Serde) -> str:
    """A key as bytes, in Kafka's windowed form where the serde says so."""
    start, end = lane.window or (None, None)
    return FORMATS[serde.format].encode_sql(key.struct(), serde, start, end)


def window_size(lane: Lane, serde: Serde) -> int:
    """How many bytes of an encoded key are its window."""
    if lane.window is None or serde.window is None:
        return 0
    return 8 if serde.window is KeyWindow.TIME else 16


def widened(row: RowSql, from_: Struct, to: Struct) -> RowSql:
    """A row with the columns of a serde, in their order and of their types."""
    if from_ == to:
        return row
    fields = {}
    for column in to:
        given = from_.get(column.name)
        assert given is not None
        fields[column.name] = cast_sql(row.fields[column.name], given, column.type)
    return RowSql(fields, row.missing)
