"""Expressions over the columns of a row, as plain data.

Every operator and function is a `Call` by name; what names exist, their types and what they are in Spark is declared in
`headrace.functions`. Nothing here computes anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from enum import StrEnum

from headrace.plan.types import DataType, quote_name


@dataclass(frozen=True)
class Expression:
    """Base of all expressions."""


class Side(StrEnum):
    """Which row a column is of, where a step sees more than one."""

    KEY = "key"  # the key only: for a column whose name the value has too (without a side, the value's is meant)
    LEFT = "left"
    RIGHT = "right"
    STATE = "state"  # the accumulator of a fold
    OTHER = "other"  # the second accumulator when two are merged


@dataclass(frozen=True)
class Column(Expression):
    """A column of the key or the value, by name; `side` where there are two rows."""

    name: str
    side: Side | None = None

    def __str__(self) -> str:
        name = quote_name(self.name)
        return f"{self.side}.{name}" if self.side else name


class Meta(StrEnum):
    """What a record has beside its key and value."""

    ROWTIME = "rowtime"  # BIGINT, milliseconds
    ROWPARTITION = "rowpartition"
    ROWOFFSET = "rowoffset"
    TOPIC = "topic"
    HEADERS = "headers"  # ARRAY<STRUCT<key STRING, value BYTES>>
    WINDOWSTART = "windowstart"  # BIGINT, milliseconds; of windowed keys only
    WINDOWEND = "windowend"


@dataclass(frozen=True)
class RowMeta(Expression):
    """The record's own time, place or headers, or its window's bounds."""

    name: Meta
    side: Side | None = None

    def __str__(self) -> str:
        name = self.name.upper()
        return f"{self.side}.{name}" if self.side else name


@dataclass(frozen=True)
class Literal(Expression):
    """A constant. `value` is JSON's own kinds; decimals, dates and bytes (base64) are strings, read by `type`."""

    type: DataType
    value: str | int | float | bool | None

    def __str__(self) -> str:
        if self.value is None:
            return "NULL"
        if isinstance(self.value, str):
            return "'" + self.value.replace("'", "''") + "'"
        return str(self.value).upper() if isinstance(self.value, bool) else str(self.value)


@dataclass(frozen=True)
class Call(Expression):
    """A function or an operator of `headrace.functions`, by its name there."""

    function: str
    arguments: tuple[Expression, ...]

    def __str__(self) -> str:
        return f"{self.function}({', '.join(map(str, self.arguments))})"


@dataclass(frozen=True)
class Cast(Expression):
    """A conversion; what cannot be converted becomes NULL."""

    operand: Expression
    type: DataType

    def __str__(self) -> str:
        return f"CAST({self.operand} AS {self.type})"


@dataclass(frozen=True)
class When:
    condition: Expression
    result: Expression


@dataclass(frozen=True)
class Case(Expression):
    """The result of the first condition that holds, else `default`, else NULL."""

    branches: tuple[When, ...]
    default: Expression | None = None

    def __str__(self) -> str:
        whens = " ".join(f"WHEN {b.condition} THEN {b.result}" for b in self.branches)
        return f"CASE {whens}{f' ELSE {self.default}' if self.default else ''} END"


@dataclass(frozen=True)
class FieldOf(Expression):
    """A field of a struct."""

    operand: Expression
    name: str

    def __str__(self) -> str:
        return f"{self.operand}->{quote_name(self.name)}"


@dataclass(frozen=True)
class Named:
    """An expression and the name of the column it becomes."""

    name: str
    expression: Expression

    def __str__(self) -> str:
        text = str(self.expression)
        return text if text == quote_name(self.name) else f"{text} AS {quote_name(self.name)}"


@dataclass(frozen=True)
class StructOf(Expression):
    """A struct of named expressions."""

    fields: tuple[Named, ...]

    def __str__(self) -> str:
        return f"STRUCT({', '.join(f'{quote_name(f.name)} := {f.expression}' for f in self.fields)})"


@dataclass(frozen=True)
class Variable(Expression):
    """A parameter of the lambda around it."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Lambda(Expression):
    """A function given to a function such as `transform`."""

    parameters: tuple[str, ...]
    body: Expression

    def __str__(self) -> str:
        return f"({', '.join(self.parameters)}) => {self.body}"


@dataclass(frozen=True)
class PythonCall(Expression):
    """A Python function of the user. `reference` is `module:name`, or `local:<id>` when the app holds the engine itself."""

    reference: str
    arguments: tuple[Expression, ...]
    type: DataType

    def __str__(self) -> str:
        return f"python {self.reference}({', '.join(map(str, self.arguments))})"


def children(node: object) -> Iterator[object]:
    """The parts of a node that may hold expressions, in order."""
    for field in fields(node):  # type: ignore[arg-type]
        value = getattr(node, field.name)
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, Expression | Named | When):
                yield part


def walk(node: object) -> Iterator[Expression]:
    """A node's expressions, the outermost first."""
    if isinstance(node, Expression):
        yield node
    for child in children(node):
        yield from walk(child)
