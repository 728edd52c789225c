"""Joins of streams and tables: the Python face of the Scala processors. Nothing here knows the plan; lowering does.

Every function takes a *keyed flow*: `key STRUCT, side INT (0 left, 1 right), left STRUCT, right STRUCT, ts TIMESTAMP, topic STRING, partition INT, offset BIGINT`.
Of a row only the column of its side counts; that column being NULL is a null value, in a table a deletion. A key that is NULL, or whose fields all are, is no key.
What comes out has `key, value STRUCT (NULL deletes), old STRUCT, ts, window_start, window_end`.

`columns` of a join is SQL that gives the result's value as a struct, over `key`, `left`, `right` (structs; a missing side is NULL, and so are its fields) and
`left_ts`, `right_ts` (BIGINT, milliseconds).

A foreign-key join is two processors in two stages, joined by two internal topics whose rows are described at `subscription_type` and `response_type`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal

from headrace.spark.stateful.processor import through

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Kind = Literal["inner", "left", "right", "outer"]

REMEMBERED_ROWS = 10_000
"""Table rows that a task of a real-time query keeps at hand; a micro-batch meets each key once and keeps none."""


@dataclass(frozen=True)
class StreamTableJoinSpec:
    """Side 0 is the stream, side 1 the table. `real_time` makes the task remember the table's rows that it used last."""

    step: str
    pipeline: str
    kind: Literal["inner", "left"]
    columns: str
    real_time: bool = False


@dataclass(frozen=True)
class TableTableJoinSpec:
    """Both sides are tables. `old`: whether the value before is wanted too."""

    step: str
    pipeline: str
    kind: Kind
    columns: str
    old: bool = False


@dataclass(frozen=True)
class StreamStreamJoinSpec:
    """A right row's time lies within [left - before_ms, left + after_ms]."""

    step: str
    pipeline: str
    kind: Kind
    columns: str
    before_ms: int
    after_ms: int
    grace_ms: int = 0


@dataclass(frozen=True)
class ForeignKeyJoinSpec:
    """`foreign_key` is SQL over `key` and `left` that gives the right table's key as a struct of the type `foreign_key_type` (Spark DDL, without STRUCT<>)."""

    step: str
    pipeline: str
    kind: Literal["inner", "left"]
    columns: str
    foreign_key: str
    foreign_key_type: str
    old: bool = False


@dataclass(frozen=True)
class Route:
    """One kind of rows among those that a processor gives, as SQL over its output."""

    condition: str
    key: str
    value: str
    ts: str = "ts"


RESULTS = Route("output = 0", "key", "value")
SUBSCRIPTIONS = Route(
    "output = 1",
    "subscription.foreign_key",
    "named_struct('left_key', subscription.left_key, 'instruction', subscription.instruction, "
    "'hash_high', subscription.hash_high, 'hash_low', subscription.hash_low)",
)
"""What `foreign_key_left` gives: rows of the result (with `old`), and rows for the topic of subscriptions."""


def subscription_type(left_key: str) -> str:
    """The value of the topic of subscriptions, as Spark DDL; its key is the foreign key, of `foreign_key_type`. `left_key` is DDL without STRUCT<>.

    `instruction`: 0 unsubscribe; 1 unsubscribe and answer that there is nothing; 2 subscribe and answer in any case; 3 subscribe and answer if there is a right row.
    The hashes are those of the left row, NULL when it is deleted.
    """
    return f"left_key STRUCT<{left_key}>, instruction INT, hash_high BIGINT, hash_low BIGINT"


def response_type(right: str) -> str:
    """The value of the topic of responses, as Spark DDL; its key is the left key. `right` is the right table's value as DDL without STRUCT<>; NULL: no such row."""
    return f"right STRUCT<{right}>, hash_high BIGINT, hash_low BIGINT"


def stream_table_join(flow: DataFrame, spec: StreamTableJoinSpec) -> DataFrame:
    """Each row of the stream with the table's row at that moment."""
    fields = asdict(spec)
    fields["remembered_rows"] = REMEMBERED_ROWS if fields.pop("real_time") else 0
    return through(flow, "StreamTableJoin", fields)


def table_table_join(flow: DataFrame, spec: TableTableJoinSpec) -> DataFrame:
    """The joined table's changes."""
    return through(flow, "TableTableJoin", asdict(spec))


def stream_stream_join(flow: DataFrame, spec: StreamStreamJoinSpec) -> DataFrame:
    """Pairs of rows at once; rows that found nothing when the watermark has closed their window (in real-time mode: in a later batch)."""
    return through(flow, "StreamStreamJoin", asdict(spec))


def foreign_key_left(flow: DataFrame, spec: ForeignKeyJoinSpec) -> DataFrame:
    """Side 0: the left table. Side 1: the topic of responses, keyed by the left key. Out come `RESULTS` and `SUBSCRIPTIONS`."""
    return through(flow, "ForeignKeyLeft", asdict(spec))


def foreign_key_right(flow: DataFrame, spec: ForeignKeyJoinSpec) -> DataFrame:
    """Side 0: the topic of subscriptions, keyed by the foreign key. Side 1: the right table. Out come the rows of the topic of responses."""
    return through(flow, "ForeignKeyRight", {"step": spec.step, "pipeline": spec.pipeline})
