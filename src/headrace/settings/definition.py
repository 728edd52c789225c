"""What a setting is: its name, type, default, what it allows, and how it reads and prints.

A `Setting` is declared once, in one of the sibling files. Parsing a server file, checking what an admin client sends, answering
DescribeConfigs and rendering the reference pages all go through it. Nothing here knows where a value came from; that is `broker.py`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Protocol

INT_MAX = 2**31 - 1
LONG_MAX = 2**63 - 1

_COMMA = re.compile(r"\s*,\s*")


class Type(IntEnum):
    """Kafka's config types, numbered as DescribeConfigs numbers them."""

    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


class Update(IntEnum):
    """Where a broker setting can be changed while the broker runs."""

    READ_ONLY = 0
    PER_BROKER = 1
    CLUSTER_WIDE = 2


class SettingError(ValueError):
    """A name or a value that cannot be taken; its text is one line that says what would be."""

    def __init__(self, name: str, problem: str) -> None:
        super().__init__(f"{name}: {problem}")
        self.name = name
        self.problem = problem


class Allowed(Protocol):
    """A bound on a parsed value. `str()` of it is what the reference pages print."""

    def problem(self, value: Any) -> str | None: ...


@dataclass(frozen=True)
class AtLeast:
    low: float

    def problem(self, value: Any) -> str | None:
        return None if value >= self.low else f"must be {self}"

    def __str__(self) -> str:
        return f"at least {self.low}"


@dataclass(frozen=True)
class Between:
    low: float
    high: float
    also: float | None = None

    def problem(self, value: Any) -> str | None:
        return None if self.low <= value <= self.high or value == self.also else f"must be {self}"

    def __str__(self) -> str:
        extra = "" if self.also is None else f", or {self.also}"
        return f"between {self.low} and {self.high}{extra}"


@dataclass(frozen=True)
class OneOf:
    values: tuple[str, ...]

    def problem(self, value: Any) -> str | None:
        return None if value in self.values else f"must be {self}"

    def __str__(self) -> str:
        return "one of " + ", ".join(self.values)


@dataclass(frozen=True)
class Items:
    """A list without duplicates or empty items; from `values` only, when those are given."""

    values: tuple[str, ...] = ()
    may_be_empty: bool = True

    def problem(self, value: Any) -> str | None:
        if not value and not self.may_be_empty:
            return "must not be empty"
        if len(set(value)) != len(value):
            return "must not name the same item twice"
        if "" in value:
            return "must not have an empty item"
        if self.values and any(item not in self.values for item in value):
            return f"must be {self}"
        return None

    def __str__(self) -> str:
        return "a list of " + " and/or ".join(self.values) if self.values else "a list without duplicates"


@dataclass(frozen=True)
class Matching:
    """A list whose items all look like `pattern`, or the one item `*`."""

    pattern: str
    meaning: str

    def problem(self, value: Any) -> str | None:
        if list(value) == ["*"] or all(re.fullmatch(self.pattern, item) for item in value):
            return None
        return f"must be {self}"

    def __str__(self) -> str:
        return f"'*' or a list of {self.meaning}"


@dataclass(frozen=True)
class Synonym:
    """A broker setting that stands in when a topic has no value of its own; `factor` turns its unit into the topic's."""

    name: str
    factor: int = 1


@dataclass(frozen=True)
class Setting:
    name: str
    type: Type
    default: Any
    doc: str
    allowed: Allowed | None = None
    importance: str = "medium"
    update: Update = Update.READ_ONLY
    synonyms: tuple[Synonym, ...] = field(default=())
    internal: bool = False

    def parse(self, value: object) -> Any:
        """The typed value of `value`, a text as it stands in a file or a request (or already a Python value)."""
        parsed = _READERS[self.type](self.name, to_text(value))
        problem = self.allowed.problem(parsed) if self.allowed is not None else None
        if problem is not None:
            raise SettingError(self.name, f"{to_text(value)!r} is not allowed, it {problem}")
        return parsed

    def format(self, value: Any) -> str | None:
        """How DescribeConfigs and the docs print a typed value."""
        return None if value is None else to_text(value)

    @property
    def sensitive(self) -> bool:
        return self.type is Type.PASSWORD


def to_text(value: object) -> str:
    """The text Kafka would print: `true`, `1,2`, `0.5`, `1.7976931348623157E308`."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return ",".join(str(item) for item in value)
    if isinstance(value, float):
        return repr(value).replace("e+", "E")
    return str(value)


def near_miss(name: str, known: Iterable[str]) -> str:
    """` (did you mean ...?)`, or nothing when no known name is close."""
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.75)
    return f" (did you mean {close[0]}?)" if close else ""


def _boolean(name: str, text: str) -> bool:
    lowered = text.strip().lower()
    if lowered not in ("true", "false"):
        raise SettingError(name, f"{text!r} is neither true nor false")
    return lowered == "true"


def _whole(bits: int) -> Any:
    limit = 1 << (bits - 1)

    def read(name: str, text: str) -> int:
        stripped = text.strip()
        if not re.fullmatch(r"[+-]?[0-9]+", stripped) or not -limit <= int(stripped) < limit:
            raise SettingError(name, f"{text!r} is not a whole number of {bits} bits")
        return int(stripped)

    return read


def _double(name: str, text: str) -> float:
    try:
        return float(text.strip())
    except ValueError:
        raise SettingError(name, f"{text!r} is not a number") from None


def _list(name: str, text: str) -> list[str]:
    stripped = text.strip()
    return _COMMA.split(stripped) if stripped else []


def _string(name: str, text: str) -> str:
    return text.strip()


_READERS = {
    Type.BOOLEAN: _boolean,
    Type.STRING: _string,
    Type.INT: _whole(32),
    Type.SHORT: _whole(16),
    Type.LONG: _whole(64),
    Type.DOUBLE: _double,
    Type.LIST: _list,
    Type.CLASS: _string,
    Type.PASSWORD: _string,
}
