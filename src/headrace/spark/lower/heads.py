"""The records of a topic as lanes: one trunk per topic, decoded once for each source step that reads it.

What cannot be decoded leaves for the processing log, with its reason, and so does what has no time or one that Kafka cannot hold.
"""

from __future__ import annotations

from collections.abc import Sequence

from headrace.formats import FORMATS
from headrace.functions.sql_text import string_sql
from headrace.plan import steps as s
from headrace.plan.expressions import Meta
from headrace.plan.relations import Relation
from headrace.plan.serdes import Serde
from headrace.spark.lower.flow import Lane, RowSql, Trunk, row_of
from headrace.spark.lower.stateless import with_key
from headrace.spark.lower.texts import PythonNames, Texts

Source = s.StreamSource | s.TableSource | s.GlobalTableSource
SOURCE_SLOT = "concat(topic, '-', CAST(partition AS STRING))"
PLACE = {Meta.TOPIC: "topic", Meta.ROWPARTITION: "partition", Meta.ROWOFFSET: "offset", Meta.HEADERS: "headers"}
EPOCH = "TIMESTAMP '1970-01-01 00:00:00'"


def topic_trunk(topic: str, heads: Sequence[str]) -> Trunk:
    return Trunk(topic, SOURCE_SLOT, heads)


def source_lanes(trunk: Trunk, sources: Sequence[tuple[Source, Relation]], python: PythonNames) -> dict[str, Lane]:
    """The lanes of the source steps that read one topic."""
    return {step.id: _source_lane(trunk, step, relation, python, len(sources) == 1) for step, relation in sources}


def _source_lane(trunk: Trunk, step: Source, relation: Relation, python: PythonNames, alone: bool) -> Lane:
    key, window, key_error = decoded(trunk, "key", step.key)
    value, _, value_error = decoded(trunk, "value", step.value)
    lane = Lane(trunk, key, value, "timestamp", window=window, place=PLACE)
    errors = [error for error in (key_error, value_error) if error is not None]
    time = None if isinstance(step, s.GlobalTableSource) else step.timestamp
    if time is not None:
        ts = trunk.column(Texts.over(relation, python).timestamp(time, lane))
        lane = Lane(trunk, key, value, ts, window=window, place=PLACE)
        # A record without a value has no columns to take a time from; it keeps its own.
        if value.missing is not None:
            ts = trunk.column(f"CASE WHEN {value.missing} THEN timestamp ELSE {ts} END")
            lane = Lane(trunk, key, value, ts, window=window, place=PLACE)
        nothing = string_sql(f"no time: {time} is null")
        errors.append(f"CASE WHEN {ts} IS NULL THEN {nothing} END")
    errors.append(f"CASE WHEN {lane.ts} < {EPOCH} THEN 'its time is before 1970, which Kafka cannot hold' END")
    reason = trunk.column(f"coalesce({', '.join(errors)})" if len(errors) > 1 else errors[0])
    good = trunk.bad_records(reason, marked=not alone)
    if good is not None:
        lane = lane.where(good)
    return lane if isinstance(step, s.StreamSource) else with_key(lane)


def decoded(trunk: Trunk, bytes_column: str, serde: Serde) -> tuple[RowSql, tuple[str, str] | None, str | None]:
    """Bytes as a row, its window's bounds where it has any, and the reason when they cannot be read."""
    sql = FORMATS[serde.format].decode_sql(bytes_column, serde)
    parsed = trunk.column(sql.parse)
    error = None if sql.error is None else sql.error.replace("{parsed}", parsed)
    window = None
    if sql.window_start is not None and sql.window_end is not None:
        window = (sql.window_start.replace("{parsed}", parsed), sql.window_end.replace("{parsed}", parsed))
    if sql.fields is None:
        return row_of(trunk.column(sql.row.replace("{parsed}", parsed)), serde.columns.names), window, error
    # Columns one by one spare Spark the building of a struct that is taken apart again.
    fields = trunk.columns([text.replace("{parsed}", parsed) for text in sql.fields.values()])
    return RowSql(dict(zip(sql.fields, fields)), f"{bytes_column} IS NULL"), window, error
