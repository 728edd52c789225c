"""An Avro schema as a graph of nodes: what `reading` builds and everything else looks at.

A named type that is used in several places is one object, so recursive schemas are cycles and identity tells types apart. Nodes are written while
they are read and never after.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias

PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
COMPLEX = ("record", "enum", "array", "map", "union", "fixed")


@dataclass(frozen=True, slots=True)
class Name:
    """A simple name and the namespace that it lies in, `None` for the null namespace."""

    simple: str
    space: str | None

    @classmethod
    def of(cls, text: str, space: str | None) -> Name:
        """A name as written: with dots it is a full name, else it lies in `space`."""
        before, dot, simple = text.rpartition(".")
        return cls(simple, (before if dot else space) or None)

    @property
    def full(self) -> str:
        return f"{self.space}.{self.simple}" if self.space else self.simple

    def seen_from(self, space: str | None) -> str:
        """How the name is written inside `space`: in full unless it lies there, or reads like a type."""
        if self.space is not None and self.space == space and self.simple not in PRIMITIVES + COMPLEX:
            return self.simple
        return self.full


@dataclass(eq=False, slots=True)
class Primitive:
    kind: str
    props: dict[str, Any] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class Array:
    kind: ClassVar[str] = "array"
    items: Node
    props: dict[str, Any] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class Map:
    kind: ClassVar[str] = "map"
    values: Node
    props: dict[str, Any] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class Union:
    kind: ClassVar[str] = "union"
    branches: list[Node]
    props: dict[str, Any] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class Named:
    """What record, enum and fixed have in common. Aliases are kept as names, in the order of the text."""

    kind: ClassVar[str]
    name: Name
    doc: str | None = None
    aliases: tuple[Name, ...] = ()
    props: dict[str, Any] = field(default_factory=dict)

    def alias_names(self) -> list[str]:
        """Full names; an alias in the null namespace of a type that has one starts with a dot."""
        return [f".{a.simple}" if a.space is None and self.name.space else a.full for a in self.aliases]


@dataclass(eq=False, slots=True)
class Fixed(Named):
    kind: ClassVar[str] = "fixed"
    size: int = 0


@dataclass(eq=False, slots=True)
class Enum(Named):
    kind: ClassVar[str] = "enum"
    symbols: tuple[str, ...] = ()
    default: str | None = None


@dataclass(eq=False, slots=True)
class Field:
    """A field of a record. `has_default` tells a default of null from none."""

    name: str
    type: Node
    doc: str | None = None
    has_default: bool = False
    default: Any = None
    order: str = "ascending"
    aliases: tuple[str, ...] = ()
    props: dict[str, Any] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class Record(Named):
    kind: ClassVar[str] = "record"
    fields: list[Field] = field(default_factory=list)
    is_error: bool = False

    def field_named(self, name: str) -> Field | None:
        return next((entry for entry in self.fields if entry.name == name), None)


@dataclass(eq=False, slots=True)
class Unresolved:
    """A name that was used before its type was read; none is left once reading is done."""

    kind: ClassVar[str] = "unresolved"
    full_name: str
    props: dict[str, Any] = field(default_factory=dict)


Node: TypeAlias = Primitive | Array | Map | Union | Fixed | Enum | Record | Unresolved


def type_name(node: Node) -> str:
    """What tells branches of a union apart: the full name, or the kind."""
    return node.name.full if isinstance(node, Named) else node.kind
