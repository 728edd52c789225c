"""A JSON Schema as a graph of nodes, one kind per sort of constraint: what the loaders build and the comparison looks at.

The kinds are those that Confluent's answers speak of: a schema with keywords for one type is a node of that type, one with several sorts of
keywords is an `allOf` of them. A `$ref` is a node of its own, so recursive schemas are cycles through `Reference.target`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, ClassVar, TypeAlias

ABSENT: Any = object()
"""Tells a default of null from none."""

Number: TypeAlias = int | Decimal
ALL_OF, ANY_OF, ONE_OF = "allOf", "anyOf", "oneOf"
CONDITIONAL: tuple[str, ...] = ("if", "then", "else")


@dataclass(eq=False, slots=True)
class Node:
    """What every schema may have. `raw` is the JSON it was read from, `extra` what no keyword of its draft claims."""

    kind: ClassVar[str] = ""
    raw: Any = None
    id: str | None = None
    title: str | None = None
    description: str | None = None
    default: Any = ABSENT
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class Empty(Node):
    """No constraint at all; `true` is the boolean schema, which Confluent tells from `{}`."""

    kind: ClassVar[str] = "empty"


@dataclass(eq=False, slots=True)
class TrueNode(Empty):
    kind: ClassVar[str] = "true"


@dataclass(eq=False, slots=True)
class FalseNode(Node):
    kind: ClassVar[str] = "false"


@dataclass(eq=False, slots=True)
class Boolean(Node):
    kind: ClassVar[str] = "boolean"


@dataclass(eq=False, slots=True)
class Null(Node):
    kind: ClassVar[str] = "null"


@dataclass(eq=False, slots=True)
class String(Node):
    kind: ClassVar[str] = "string"
    max_length: Number | None = None
    min_length: Number | None = None
    pattern: str | None = None


@dataclass(eq=False, slots=True)
class Numeric(Node):
    kind: ClassVar[str] = "number"
    maximum: Number | None = None
    minimum: Number | None = None
    exclusive_maximum: Number | None = None
    exclusive_minimum: Number | None = None
    multiple_of: Number | None = None
    integer: bool = False


@dataclass(eq=False, slots=True)
class Object(Node):
    """`additional` is False when none are allowed, a schema when they must match one, else None."""

    kind: ClassVar[str] = "object"
    properties: dict[str, Node] = field(default_factory=dict)
    required: list[str] = field(default_factory=list)
    patterns: dict[str, Node] = field(default_factory=dict)
    additional: Node | bool | None = None
    unevaluated: Node | None = None
    required_with: dict[str, set[str]] = field(default_factory=dict)
    schemas_with: dict[str, Node] = field(default_factory=dict)
    names: Node | None = None
    max_properties: Number | None = None
    min_properties: Number | None = None


@dataclass(eq=False, slots=True)
class Array(Node):
    """`items` holds for all of them, `tuple_items` by position; `additional` is about those after the tuple."""

    kind: ClassVar[str] = "array"
    items: Node | None = None
    tuple_items: list[Node] = field(default_factory=list)
    additional: Node | bool | None = None
    unevaluated: Node | None = None
    contains: Node | None = None
    max_items: Number | None = None
    min_items: Number | None = None
    max_contains: Number | None = None
    min_contains: Number | None = None
    unique: bool = False


@dataclass(eq=False, slots=True)
class Const(Node):
    kind: ClassVar[str] = "const"
    value: Any = None


@dataclass(eq=False, slots=True)
class Enum(Node):
    kind: ClassVar[str] = "enum"
    values: list[Any] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class Combined(Node):
    """`generated`: made of several sorts of keywords or several types, not written as such."""

    kind: ClassVar[str] = "combined"
    criterion: str = ALL_OF
    parts: list[Node] = field(default_factory=list)
    generated: bool = False


@dataclass(eq=False, slots=True)
class Not(Node):
    kind: ClassVar[str] = "not"
    inner: Node = field(default_factory=Empty)


@dataclass(eq=False, slots=True)
class Conditional(Node):
    kind: ClassVar[str] = "conditional"
    branches: dict[str, Node] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class Reference(Node):
    """`target` is filled in once everything is read."""

    kind: ClassVar[str] = "reference"
    ref: str = ""
    target: Node | None = None


def followed(node: Node) -> Node:
    """The schema behind a reference, or the schema itself. References to references end, since loaders refuse loops."""
    while isinstance(node, Reference):
        assert node.target is not None
        node = node.target
    return node
