"""The steps of a plan: one frozen dataclass each, named by `id`, referring to their inputs by id.

Data only: `relations.py` says what each step yields and what is wrong with it, `stages.py` how the steps are cut into queries,
`headrace.spark` has one lowering for each. To add a step: a dataclass here, a rule in `relations.py`, a lowering, a golden file.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from headrace.plan.expressions import Expression, Named
from headrace.plan.serdes import Serde
from headrace.plan.types import DataType, Struct
from headrace.plan.windows import Window


class OffsetReset(StrEnum):
    EARLIEST = "earliest"
    LATEST = "latest"


class JoinKind(StrEnum):
    INNER = "inner"
    LEFT = "left"
    RIGHT = "right"
    OUTER = "outer"


class Emit(StrEnum):
    CHANGES = "changes"  # every update
    FINAL = "final"  # a window's result once it is closed


@dataclass(frozen=True)
class Step:
    """Base of all steps. The id is unique in a plan: letters, digits, `.`, `_`, `-`."""

    id: str


# Sources


@dataclass(frozen=True)
class StreamSource(Step):
    """A topic read as a stream. `timestamp`: event time from a column (BIGINT milliseconds or TIMESTAMP), else the record's own."""

    topic: str
    key: Serde
    value: Serde
    timestamp: Expression | None = None
    offset_reset: OffsetReset = OffsetReset.EARLIEST


@dataclass(frozen=True)
class TableSource(Step):
    """A topic read as a table: the last value of each key, a null value deletes."""

    topic: str
    key: Serde
    value: Serde
    timestamp: Expression | None = None
    store: str | None = None


@dataclass(frozen=True)
class GlobalTableSource(Step):
    """A table of which every task sees all keys; joins with it need no common key."""

    topic: str
    key: Serde
    value: Serde
    store: str | None = None


# One row at a time


@dataclass(frozen=True)
class Select(Step):
    """New value columns from expressions; the key stays. Of a stream or a table."""

    input: str
    columns: tuple[Named, ...]
    store: str | None = None


@dataclass(frozen=True)
class Filter(Step):
    """The rows for which `condition` is true. In a table a row that no longer fulfils it is deleted."""

    input: str
    condition: Expression
    store: str | None = None


@dataclass(frozen=True)
class SelectKey(Step):
    """A new key from expressions; value columns stay. Of a stream."""

    input: str
    key: tuple[Named, ...]


@dataclass(frozen=True)
class FlatMap(Step):
    """Each item of the array `items` (of structs, or of one type and then named `item`) becomes a row.

    `columns` and `key` are expressions over the row before and the item's fields; `key` None keeps the key.
    """

    input: str
    items: Expression
    columns: tuple[Named, ...]
    item: str = "item"
    key: tuple[Named, ...] | None = None


@dataclass(frozen=True)
class Merge(Step):
    """The rows of all inputs, which have the same columns."""

    inputs: tuple[str, ...]


@dataclass(frozen=True)
class BranchCase:
    name: str
    condition: Expression | None  # None: what no other branch took


@dataclass(frozen=True)
class Branch(Step):
    """Each row goes to the first branch whose condition is true. A branch is an input named `<id>.<name>`."""

    input: str
    branches: tuple[BranchCase, ...]


@dataclass(frozen=True)
class ToStream(Step):
    """A table's changes as a stream."""

    input: str


@dataclass(frozen=True)
class ToTable(Step):
    """A stream taken as a table: the last value of each key; a null value deletes."""

    input: str
    store: str | None = None


@dataclass(frozen=True)
class Repartition(Step):
    """Through an internal topic, so that equal keys meet; `partitions` None: as many as the input has."""

    input: str
    partitions: int | None = None


# Aggregates


@dataclass(frozen=True)
class GroupBy(Step):
    """Rows by key; `key` None: by the key they have. Of a stream or a table; only an aggregate can follow."""

    input: str
    key: tuple[Named, ...] | None = None


@dataclass(frozen=True)
class AggregateCall:
    """An aggregate function of `headrace.functions` and the column it becomes."""

    name: str
    function: str
    arguments: tuple[Expression, ...] = ()


@dataclass(frozen=True)
class Fold:
    """An aggregate of the user's own, as expressions.

    `update` sees the accumulator (`Side.STATE`) and the row; `undo` takes a row out again (tables, incremental windows);
    `merge` joins two accumulators (`Side.STATE`, `Side.OTHER`; sessions, panes). `state` types the accumulator, whose fields are the result's columns.
    `first_is_initial`: a reduce, in which a key's first row becomes the accumulator as it is, and `initial` is empty.
    """

    state: Struct
    initial: tuple[Named, ...]
    update: tuple[Named, ...]
    undo: tuple[Named, ...] | None = None
    merge: tuple[Named, ...] | None = None
    first_is_initial: bool = False


@dataclass(frozen=True)
class Aggregate(Step):
    """Of a grouped stream or table; yields a table. Either `aggregates` or `fold`. `having`-like filters are Filter steps after it."""

    input: str
    aggregates: tuple[AggregateCall, ...] = ()
    fold: Fold | None = None
    window: Window | None = None
    emit: Emit = Emit.CHANGES
    store: str | None = None


@dataclass(frozen=True)
class Suppress(Step):
    """Fewer updates of a table: `until_window_closes` only final results, else at most one per key in `wait_ms` of event time."""

    input: str
    until_window_closes: bool = True
    wait_ms: int | None = None
    max_records: int | None = None


@dataclass(frozen=True)
class Deduplicate(Step):
    """The first row for each value of `by` within `within_ms` of event time."""

    input: str
    by: tuple[Expression, ...]
    within_ms: int


# Joins. `columns` are the value columns of the result, over `Side.LEFT` and `Side.RIGHT`; the side that is missing is all NULL.


@dataclass(frozen=True)
class StreamStreamJoin(Step):
    """Rows of equal key whose times lie within `before_ms` and `after_ms` of one another: right time in [left - before, left + after]."""

    left: str
    right: str
    kind: JoinKind
    before_ms: int
    after_ms: int
    columns: tuple[Named, ...]
    grace_ms: int = 0


@dataclass(frozen=True)
class StreamTableJoin(Step):
    """Each row of the stream with the table's row of the same key at that moment. Inner or left."""

    left: str
    right: str
    kind: JoinKind
    columns: tuple[Named, ...]


@dataclass(frozen=True)
class GlobalTableJoin(Step):
    """Each row of the stream with the global table's row under `key`, an expression over the stream's row. Inner or left."""

    left: str
    right: str
    kind: JoinKind
    key: Expression
    columns: tuple[Named, ...]


@dataclass(frozen=True)
class TableTableJoin(Step):
    """Two tables by their keys; the result follows changes of both."""

    left: str
    right: str
    kind: JoinKind
    columns: tuple[Named, ...]
    store: str | None = None


@dataclass(frozen=True)
class ForeignKeyJoin(Step):
    """The left table's rows with the right table's row whose key is `foreign_key` of the left. Keyed by the left key. Inner or left."""

    left: str
    right: str
    kind: JoinKind
    foreign_key: Expression
    columns: tuple[Named, ...]
    store: str | None = None


# Code of the user's own


@dataclass(frozen=True)
class StateVariable:
    name: str
    type: DataType
    ttl_ms: int | None = None


@dataclass(frozen=True)
class Process(Step):
    """A processor of the user with state per key and timers: a Python class, as `module:name` or `local:<id>`."""

    input: str
    processor: str
    state: tuple[StateVariable, ...]
    columns: Struct
    key: Struct | None = None  # None: the key stays


# Ends


@dataclass(frozen=True)
class Sink(Step):
    """Writes rows to a topic; a table's deletions as null values. `partitions` is used when the topic has to be created.

    `topic_expression`: the topic's name is this expression of the row instead (it must exist).
    """

    input: str
    topic: str
    key: Serde
    value: Serde
    partitions: int | None = None
    topic_expression: Expression | None = None


JOINS = (StreamStreamJoin, StreamTableJoin, GlobalTableJoin, TableTableJoin, ForeignKeyJoin)
SOURCES = (StreamSource, TableSource, GlobalTableSource)


def inputs(step: Step) -> tuple[str, ...]:
    """The ids a step reads from, in order; of a branch the id is `<branch step>.<name>`."""
    if isinstance(step, SOURCES):
        return ()
    if isinstance(step, JOINS):
        return (step.left, step.right)
    if isinstance(step, Merge):
        return step.inputs
    return (step.input,)  # type: ignore[attr-defined]
