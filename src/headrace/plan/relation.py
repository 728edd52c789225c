"""A step's result as a type, and what the rules of `relations.py` share: looking up inputs, typing expressions, checking names.

Every error made here is a `PlanError` with the step's id.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from headrace.plan.catalogue import Formats, Functions
from headrace.plan.conversions import holds_map, widens
from headrace.plan.expressions import Expression, Named, PythonCall, Side, walk
from headrace.plan.plan import PlanError
from headrace.plan.scope import NO_COLUMNS, ExpressionError, RowScope, Scope, expression_type
from headrace.plan.serdes import KeyWindow
from headrace.plan.types import BOOLEAN, Array, DataType, Field, Map, Struct

MAX_MS = 1 << 53
_REFERENCE = re.compile(r"local:[A-Za-z0-9._-]{1,200}|[A-Za-z_][\w.]{0,200}:[A-Za-z_][\w.]{0,200}")


class RelationKind(StrEnum):
    STREAM = "stream"
    TABLE = "table"
    GLOBAL_TABLE = "global_table"
    GROUPED_STREAM = "grouped_stream"
    GROUPED_TABLE = "grouped_table"

    @property
    def text(self) -> str:
        return self.value.replace("_", " ")


_WAYS_OUT: Mapping[RelationKind, str] = {
    RelationKind.STREAM: "",
    RelationKind.TABLE: "take its changes as a stream with ToStream first",
    RelationKind.GLOBAL_TABLE: "a global table can only be joined with, in a GlobalTableJoin; read the topic with a TableSource for anything else",
    RelationKind.GROUPED_STREAM: "aggregate it first",
    RelationKind.GROUPED_TABLE: "aggregate it first",
}


@dataclass(frozen=True)
class Relation:
    """What a step yields. Windowed keys have their form and, of time windows, their size."""

    kind: RelationKind
    key: Struct
    value: Struct
    window: KeyWindow | None = None
    window_size_ms: int | None = None

    def __str__(self) -> str:
        window = f" windowed by {self.window}" if self.window else ""
        return f"{self.kind.text}{window} {_columns(self.key)} -> {_columns(self.value)}"

    def row(self, item: Struct = NO_COLUMNS) -> RowScope:
        """What expressions see of one row."""
        return RowScope(self.key, self.value, self.window is not None, item)


def _columns(columns: Struct) -> str:
    return f"({', '.join(map(str, columns))})"


@dataclass(frozen=True)
class Context:
    """One step while its rule runs."""

    step: str
    functions: Functions
    formats: Formats | None
    relations: Mapping[str, Relation]

    def error(self, problem: str) -> PlanError:
        return PlanError(self.step, problem)

    def input(self, name: str, verb: str, *kinds: RelationKind) -> Relation:
        """The relation of an input, which must be of one of these kinds."""
        found = self.relations[name]
        if found.kind in kinds:
            return found
        wanted = " or ".join(f"a {kind.text}" for kind in kinds)
        if found.kind is RelationKind.STREAM:
            grouped = any(kind.value.startswith("grouped") for kind in kinds)
            way_out = "group it with GroupBy first" if grouped else "make it a table with ToTable or aggregate it first"
        else:
            way_out = _WAYS_OUT[found.kind]
        raise self.error(f"{verb} needs {wanted}, {name!r} is a {found.kind.text}: {way_out}")

    def scope(self, rows: Mapping[Side | None, RowScope]) -> Scope:
        return Scope(rows, self.functions)

    def type_of(self, expression: Expression, scope: Scope, what: str) -> DataType:
        """An expression's type; what is wrong with it is an error of the step."""
        for node in walk(expression):
            if isinstance(node, PythonCall):
                self.check_reference(node.reference)
        try:
            return expression_type(expression, scope)
        except ExpressionError as error:
            raise self.error(f"{what}: {error}") from None

    def condition(self, expression: Expression, scope: Scope, what: str) -> None:
        found = self.type_of(expression, scope, what)
        if found != BOOLEAN:
            raise self.error(f"{what} {expression} is a {found}; a condition is a BOOLEAN")

    def columns(self, named: Iterable[Named], scope: Scope, what: str) -> Struct:
        """The struct of named expressions; names are checked."""
        fields = tuple(Field(one.name, self.type_of(one.expression, scope, f"column {one.name!r}")) for one in named)
        return self.check_columns(Struct(fields), what)

    def key_columns(self, named: Iterable[Named], scope: Scope, what: str) -> Struct:
        return self.check_key(self.columns(named, scope, what), what)

    def check_columns(self, columns: Struct, what: str, *, empty: bool = False) -> Struct:
        if not columns.fields and not empty:
            raise self.error(f"{what} has no columns; name at least one")
        self._check_names(columns, what)
        return columns

    def check_key(self, columns: Struct, what: str) -> Struct:
        """A key that rows are brought together by: it has columns, and none of a type without order or equality."""
        if not columns.fields:
            raise self.error(
                f"{what} has no columns, so there is nothing to bring rows together by; choose a key with SelectKey or GroupBy"
            )
        for column in columns:
            if holds_map(column.type):
                raise self.error(
                    f"{what}: column {column.name!r} is a {column.type}; maps cannot be compared, so no key can hold one"
                )
        return columns

    def check_reference(self, reference: str) -> None:
        if not _REFERENCE.fullmatch(reference):
            raise self.error(f"{reference[:80]!r} names no Python code; write module:name")

    def check_span(self, what: str, value: int, least: int = 1) -> None:
        """A length in milliseconds or a count."""
        if not least <= value <= MAX_MS:
            raise self.error(
                f"{what} is {value}; it must be at least {least}" + (f" and at most {MAX_MS}" if value > MAX_MS else "")
            )

    def check_same(self, wanted: Struct, found: Struct, what: str, hint: str) -> None:
        """Every column of `wanted` is in `found` and becomes its type, and there are no others."""
        missing = [name for name in wanted.names if name not in found.names]
        extra = [name for name in found.names if name not in wanted.names]
        if missing or extra:
            parts = [f"lack {', '.join(missing)}"] * bool(missing) + [f"have {', '.join(extra)} more"] * bool(extra)
            raise self.error(f"{what} is {_columns(wanted)}, the rows {' and '.join(parts)}; {hint}")
        for column in wanted:
            given = found.get(column.name)
            if given is None or not widens(given, column.type):
                raise self.error(f"{what} has {column.name!r} as {column.type}, the rows have it as {given}; cast it")

    def _check_names(self, columns: Struct, what: str) -> None:
        each_struct(columns, lambda one: self._check_struct(one, what))

    def _check_struct(self, columns: Struct, what: str) -> None:
        seen: set[str] = set()
        for name in columns.names:
            if name in seen:
                raise self.error(f"{what} has two columns {name!r}; give one another name")
            if not name or "\0" in name or "${" in name:
                raise self.error(
                    f"{what} has a column {name[:80]!r}; a name is not empty and holds no '${{' and no zero character"
                )
            seen.add(name)


def each_struct(type_: DataType, visit: Callable[[Struct], None]) -> None:
    """Calls `visit` for every struct in a type, the outermost first."""
    match type_:
        case Struct(fields):
            visit(type_)
            for one in fields:
                each_struct(one.type, visit)
        case Array(item):
            each_struct(item, visit)
        case Map(key, value):
            each_struct(key, visit)
            each_struct(value, visit)
