"""What lowered steps hand on: lanes, which are rows as SQL texts, over trunks, which are the DataFrames that the texts are about.

A trunk is the rows of one topic or of one operator, made wider layer by layer. Any number of lanes lie on a trunk (branches, several
sinks, both sides of a self-join), so a topic is read once and a row is decoded once. Layers and lanes are data: a trunk meets a
DataFrame only in `apply`, and tests and `explain` read the texts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from headrace.functions.sql_text import quote, string_sql
from headrace.plan.expressions import Meta

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_PATH = re.compile(r"(?:`(?:[^`]|``)*`|\w+)(?:\.(?:`(?:[^`]|``)*`|\w+))*|CAST\(NULL AS [\w<>, ]+\)")


@dataclass(frozen=True)
class Project:
    """New columns beside those there are."""

    columns: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        return "SELECT *, " + ", ".join(f"{sql} AS {name}" for name, sql in self.columns)


@dataclass(frozen=True)
class Where:
    condition: str

    def __str__(self) -> str:
        return f"WHERE {self.condition}"


@dataclass(frozen=True)
class Explode:
    """A row for each item of an array, with the item's position. Where `keep` holds, a row without items stays as one with neither."""

    items: str
    position: str
    item: str
    keep: bool

    def __str__(self) -> str:
        return f"LATERAL VIEW {'OUTER ' if self.keep else ''}POSEXPLODE({self.items}) AS {self.position}, {self.item}"


@dataclass(frozen=True)
class BadRecords:
    """Rows with a reason go to the processing log. They go no further, or where there is a `flag`, it is a column that is false for them.

    `record`: the SQL of key and value as bytes, where the rows are no longer those of a topic.
    """

    reason: str
    flag: str | None = None
    record: tuple[str, str] | None = None

    def __str__(self) -> str:
        good = f"({self.reason} IS NULL OR side_output({self.reason}))"
        return f"SELECT *, {good} AS {self.flag}" if self.flag else f"WHERE {good}"


Layer = Project | Where | Explode | BadRecords


class Trunk:
    """The rows of a topic or an operator. `slot`: the SQL of what names the unit that exactly-once commits. `heads`: the flows that begin here."""

    def __init__(self, name: str, slot: str, heads: Sequence[str] = ()) -> None:
        self.name = name
        self.slot = slot
        self.heads = tuple(heads)
        self.layers: list[Layer] = []
        self.generators: list[str] = []
        # Errors of users' functions that the next step's lane has to look at.
        self.complaints: list[str] = []
        self._count = 0

    def columns(self, texts: Sequence[str]) -> list[str]:
        """Names for the results of these SQL texts, each computed once; what is a plain column already stays as it is."""
        names: list[str] = []
        new: dict[str, str] = {}
        for text in texts:
            if _PATH.fullmatch(text):
                names.append(text)
            else:
                names.append(new.setdefault(text, f"h{self._next(text, new)}"))
        if new:
            self.layers.append(Project(tuple((name, text) for text, name in new.items())))
        return names

    def column(self, text: str) -> str:
        return self.columns([text])[0]

    def add(self, name: str, text: str) -> None:
        """A column under a name of the caller's own."""
        self.layers.append(Project(((name, text),)))

    def where(self, condition: str) -> None:
        self.layers.append(Where(condition))

    def bad_records(self, reason: str, marked: bool, record: tuple[str, str] | None = None) -> str | None:
        """Rows with this reason are written to the processing log and dropped, or marked by the column that is returned."""
        flag = f"good{len(self.layers)}" if marked else None
        self.layers.append(BadRecords(reason, flag, record))
        return flag

    def explode(self, items: str, keep: bool) -> tuple[str, str]:
        """One row per item: the names of position and item. `keep`: rows without items stay, for the trunk's other lanes."""
        self._count += 1
        position, item = f"p{self._count}", f"i{self._count}"
        self.layers.append(Explode(items, position, item, keep))
        self.generators.append(position)
        return position, item

    def _next(self, text: str, new: Mapping[str, str]) -> int:
        if text not in new:
            self._count += 1
        return self._count

    def __str__(self) -> str:
        return "\n".join([f"FROM {self.name}", *map(str, self.layers)])


@dataclass(frozen=True)
class RowSql:
    """A key or a value: the SQL of each column, of whether the whole is null (None: it never is), and of the struct where there is one already."""

    fields: Mapping[str, str]
    missing: str | None = None
    whole: str | None = None

    def struct(self) -> str:
        """The SQL of the whole struct, null where the row is."""
        if self.whole is not None:
            return self.whole
        built = named_struct(self.fields)
        return built if self.missing is None else f"(CASE WHEN NOT ({self.missing}) THEN {built} END)"

    def is_null(self) -> str:
        return self.missing if self.missing is not None else "FALSE"


def named_struct(fields: Mapping[str, str]) -> str:
    return f"named_struct({', '.join(f'{string_sql(name)}, {sql}' for name, sql in fields.items())})"


def row_of(struct: str, names: Sequence[str]) -> RowSql:
    """The row that a struct column is."""
    return RowSql({name: f"{struct}.{quote(name)}" for name in names}, f"{struct} IS NULL", struct)


def any_of(conditions: Sequence[str | None]) -> str | None:
    """The disjunction of conditions, where None is one that never holds."""
    known = [condition for condition in conditions if condition is not None]
    return " OR ".join(f"({one})" for one in known) if known else None


@dataclass(frozen=True)
class Lane:
    """The rows of one step on one trunk, as SQL texts.

    A row is in the lane where all of `conditions` are true. `old` is a table's value before the change, `old_key` its group then; `place` is
    what a source knows of its records. `cases` says which branches were taken, `generators` which explosions made these rows.
    """

    trunk: Trunk
    key: RowSql
    value: RowSql
    ts: str
    conditions: tuple[str, ...] = ()
    old: RowSql | None = None
    old_key: RowSql | None = None
    window: tuple[str, str] | None = None
    place: Mapping[Meta, str] = field(default_factory=dict)
    cases: frozenset[tuple[str, int]] = frozenset()
    generators: frozenset[str] = frozenset()

    def where(self, condition: str) -> Lane:
        return replace(self, conditions=(*self.conditions, condition))

    def active(self) -> str | None:
        """When a row of the trunk is one of this lane; None: always."""
        # An explosion that this lane took no part in repeats its rows; the first of them stands for all.
        once = [f"coalesce({name}, 0) = 0" for name in self.trunk.generators if name not in self.generators]
        conditions = [*self.conditions, *once]
        return " AND ".join(f"({one})" for one in conditions) if conditions else None

    def excludes(self, other: Lane) -> bool:
        """Whether no row can be in both lanes, because they took different branches of one step."""
        taken = dict(other.cases)
        return any(taken.get(step, case) != case for step, case in self.cases)


def without_failures(lane: Lane, alone: bool) -> Lane:
    """The lane without the rows on which users' functions just failed; those go to the processing log with the reason."""
    trunk = lane.trunk
    complaints, trunk.complaints = trunk.complaints, []
    if not complaints:
        return lane
    reason = f"coalesce({', '.join(complaints)})"
    active = lane.active()
    if active is not None:
        reason = f"CASE WHEN {active} THEN {reason} END"
    record = None
    if Meta.TOPIC not in lane.place:
        record = (f"CAST(to_json({lane.key.struct()}) AS BINARY)", f"CAST(to_json({lane.value.struct()}) AS BINARY)")
    good = trunk.bad_records(trunk.column(reason), marked=not alone, record=record)
    return lane if good is None else lane.where(good)


def applied(trunk: Trunk, rows: DataFrame, bad_records: Callable[[DataFrame, BadRecords], DataFrame]) -> DataFrame:
    """The trunk's layers over a DataFrame that has the columns of its head."""
    for layer in trunk.layers:
        if isinstance(layer, Project):
            rows = rows.selectExpr("*", *(f"{sql} AS {name}" for name, sql in layer.columns))
        elif isinstance(layer, Where):
            rows = rows.where(layer.condition)
        elif isinstance(layer, Explode):
            function = "posexplode_outer" if layer.keep else "posexplode"
            rows = rows.selectExpr("*", f"{function}({layer.items}) AS ({layer.position}, {layer.item})")
        else:
            rows = bad_records(rows, layer)
    return rows
