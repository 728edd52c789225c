"""The types of columns, as values and as text.

The names are ksqlDB's (`BIGINT`, `ARRAY<STRING>`, `STRUCT<a BIGINT>`), because both front ends and the people who read an
`explain` share them. A type's text is its only serialised form; `parse_type` reads it back.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

MAX_DEPTH = 64
MAX_TEXT = 1 << 18


class TypeTextError(ValueError):
    """A text that is not a type."""


@dataclass(frozen=True)
class DataType:
    """Base of all types."""


@dataclass(frozen=True)
class Primitive(DataType):
    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Decimal(DataType):
    precision: int
    scale: int

    def __post_init__(self) -> None:
        if not (1 <= self.precision <= 38 and 0 <= self.scale <= self.precision):
            raise TypeTextError(f"DECIMAL({self.precision}, {self.scale}): precision is 1 to 38, scale 0 to precision")

    def __str__(self) -> str:
        return f"DECIMAL({self.precision}, {self.scale})"


@dataclass(frozen=True)
class Array(DataType):
    item: DataType

    def __str__(self) -> str:
        return f"ARRAY<{self.item}>"


@dataclass(frozen=True)
class Map(DataType):
    key: DataType
    value: DataType

    def __str__(self) -> str:
        return f"MAP<{self.key}, {self.value}>"


@dataclass(frozen=True)
class Field:
    """A named column or a field of a struct."""

    name: str
    type: DataType

    def __str__(self) -> str:
        return f"{quote_name(self.name)} {self.type}"


@dataclass(frozen=True)
class Struct(DataType):
    fields: tuple[Field, ...]

    def __str__(self) -> str:
        return f"STRUCT<{', '.join(map(str, self.fields))}>"

    def __iter__(self) -> Iterator[Field]:
        return iter(self.fields)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(field.name for field in self.fields)

    def get(self, name: str) -> DataType | None:
        """The type of the field with this name, if there is one."""
        return next((field.type for field in self.fields if field.name == name), None)


BOOLEAN = Primitive("BOOLEAN")
INTEGER = Primitive("INTEGER")
BIGINT = Primitive("BIGINT")
DOUBLE = Primitive("DOUBLE")
STRING = Primitive("STRING")
BYTES = Primitive("BYTES")
DATE = Primitive("DATE")
TIME = Primitive("TIME")
TIMESTAMP = Primitive("TIMESTAMP")

PRIMITIVES = {t.name: t for t in (BOOLEAN, INTEGER, BIGINT, DOUBLE, STRING, BYTES, DATE, TIME, TIMESTAMP)}
ALIASES = {"INT": INTEGER, "VARCHAR": STRING}


def struct(**fields: DataType) -> Struct:
    """A struct written as keyword arguments."""
    return Struct(tuple(Field(name, type_) for name, type_ in fields.items()))


def quote_name(name: str) -> str:
    """A name as it stands in a type's text: in back-quotes unless it is a plain word."""
    if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        return name
    return "`" + name.replace("`", "``") + "`"


def parse_type(text: str) -> DataType:
    """The type that a text names; `TypeTextError` says what is wrong and where."""
    if len(text) > MAX_TEXT:
        raise TypeTextError(f"a type's text may have {MAX_TEXT} characters, this has {len(text)}")
    reader = _Reader(text)
    parsed = reader.type(0)
    reader.end()
    return parsed


class _Reader:
    """A recursive-descent reader; depth is bounded so that a text cannot exhaust the stack."""

    _TOKEN = re.compile(r"\s*(?:([A-Za-z_][A-Za-z0-9_]*)|(\d+)|`((?:[^`]|``)*)`|([<>(),]))")

    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0

    def type(self, depth: int) -> DataType:
        if depth > MAX_DEPTH:
            raise TypeTextError(f"types may be nested {MAX_DEPTH} deep")
        word = self._word().upper()
        if word == "ARRAY":
            self._expect("<")
            item = self.type(depth + 1)
            self._expect(">")
            return Array(item)
        if word == "MAP":
            self._expect("<")
            key = self.type(depth + 1)
            self._expect(",")
            value = self.type(depth + 1)
            self._expect(">")
            return Map(key, value)
        if word == "STRUCT":
            return self._struct(depth)
        if word in ("DECIMAL", "NUMERIC"):
            return self._decimal()
        found = PRIMITIVES.get(word) or ALIASES.get(word)
        if found is None:
            known = ", ".join([*PRIMITIVES, "DECIMAL(p, s)", "ARRAY<…>", "MAP<…, …>", "STRUCT<…>"])
            raise TypeTextError(f"{word!r} is no type; there are {known}")
        return found

    def end(self) -> None:
        if self._text[self._position :].strip():
            raise self._unexpected("the end")

    def _struct(self, depth: int) -> Struct:
        self._expect("<")
        fields: list[Field] = []
        if self._take(">"):
            return Struct(())
        while True:
            name = self._name()
            fields.append(Field(name, self.type(depth + 1)))
            if not self._take(","):
                break
        self._expect(">")
        return Struct(tuple(fields))

    def _decimal(self) -> Decimal:
        self._expect("(")
        precision = self._number()
        self._expect(",")
        scale = self._number()
        self._expect(")")
        return Decimal(precision, scale)

    def _next(self) -> re.Match[str] | None:
        return self._TOKEN.match(self._text, self._position)

    def _take(self, symbol: str) -> bool:
        match = self._next()
        if match and match[4] == symbol:
            self._position = match.end()
            return True
        return False

    def _expect(self, symbol: str) -> None:
        if not self._take(symbol):
            raise self._unexpected(repr(symbol))

    def _word(self) -> str:
        match = self._next()
        if not match or match[1] is None:
            raise self._unexpected("the name of a type")
        self._position = match.end()
        return match[1]

    def _name(self) -> str:
        match = self._next()
        if not match or (match[1] is None and match[3] is None):
            raise self._unexpected("the name of a field")
        self._position = match.end()
        return match[1] if match[1] is not None else match[3].replace("``", "`")

    def _number(self) -> int:
        match = self._next()
        if not match or match[2] is None or len(match[2]) > 3:
            raise self._unexpected("a small number")
        self._position = match.end()
        return int(match[2])

    def _unexpected(self, wanted: str) -> TypeTextError:
        rest = self._text[self._position :].strip()[:20] or "the end"
        return TypeTextError(f"expected {wanted} at character {self._position} of {self._text[:80]!r}, found {rest!r}")
