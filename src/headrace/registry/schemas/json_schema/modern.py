"""Drafts 2019-09 and 2020-12: every keyword is a node of its own, and those of one type are joined.

They are joined in the order of a Java map, which is Confluent's: it decides what a list of types takes in. What is left besides one node becomes an `allOf`. A list of types is an `anyOf` whose branches take the keywords of their type. Keywords beside a
`$ref` count.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any, TypeGuard

from headrace.registry.schemas.errors import InvalidSchema
from headrace.registry.schemas.hashorder import set_of
from headrace.registry.schemas.json_schema import patterns
from headrace.registry.schemas.json_schema.documents import Documents, Place
from headrace.registry.schemas.json_schema.nodes import (
    ABSENT,
    ALL_OF,
    ANY_OF,
    CONDITIONAL,
    ONE_OF,
    Array,
    Boolean,
    Combined,
    Conditional,
    Const,
    Empty,
    Enum,
    FalseNode,
    Node,
    Not,
    Null,
    Numeric,
    Object,
    Reference,
    String,
    TrueNode,
)
from headrace.registry.schemas.json_schema.reading import (
    Loader,
    Tree,
    array,
    boolean,
    integer,
    mapping,
    mistyped,
    number,
    text,
    texts,
)

_JOINED = (Array, Numeric, Object, String)
_TYPES: dict[str, Callable[[], Node]] = {
    "string": String,
    "integer": lambda: Numeric(integer=True),
    "number": Numeric,
    "boolean": Boolean,
    "null": Null,
    "array": Array,
    "object": Object,
}
_NUMBERS: dict[str, tuple[type[Node], str]] = {
    "minimum": (Numeric, "minimum"),
    "maximum": (Numeric, "maximum"),
    "exclusiveMinimum": (Numeric, "exclusive_minimum"),
    "exclusiveMaximum": (Numeric, "exclusive_maximum"),
    "multipleOf": (Numeric, "multiple_of"),
}
_INTEGERS: dict[str, tuple[type[Node], str]] = {
    "minLength": (String, "min_length"),
    "maxLength": (String, "max_length"),
    "minItems": (Array, "min_items"),
    "maxItems": (Array, "max_items"),
    "minProperties": (Object, "min_properties"),
    "maxProperties": (Object, "max_properties"),
}
_KNOWN = frozenset(
    (
        "$schema",
        "$id",
        "$anchor",
        "$defs",
        "$comment",
        "$vocabulary",
        "$dynamicRef",
        "$dynamicAnchor",
        "title",
        "description",
    )
    + (
        "default",
        "deprecated",
        "readOnly",
        "writeOnly",
        "examples",
        "format",
        "properties",
        "patternProperties",
        "then",
        "else",
    )
    + ("unevaluatedItems", "unevaluatedProperties", "minContains", "maxContains", "contentEncoding", "contentMediaType")
)


class ModernLoader(Loader):
    def __init__(self, documents: Documents) -> None:
        super().__init__(documents)
        self._references: list[Reference] = []

    def _object(self, tree: Tree, place: Place) -> Node:
        joined: Node | None = self.reference(tree, "$dynamicRef", place) if "$dynamicRef" in tree else None
        extra: dict[str, Any] = {}
        for keyword in set_of((), tree):
            piece = self._piece(keyword, tree, place)
            if piece is not None:
                piece.raw = tree
                joined = piece if joined is None else _join(joined, piece)
            elif keyword not in _KNOWN:
                extra[keyword] = tree[keyword]
        joined = joined or _all_of([])
        for piece in self._late_pieces(tree, place):
            joined = _join(joined, piece)
        self.named_children(tree, "$defs", place)
        node = _unwrapped(joined)
        node.raw = tree
        node.title = text(tree, "title")
        node.description = text(tree, "description")
        default = tree.get("default")
        node.default = ABSENT if default is None else default
        node.extra = extra
        if isinstance(node, Array) and node.items is not None and node.additional is False:
            node.additional = None
        return node

    def _late_pieces(self, tree: Tree, place: Place) -> list[Node]:
        """Properties come after all other keywords, wherever they stand."""
        pieces: list[Node] = []
        if properties := self.named_children(tree, "properties", place):
            pieces.append(Object(tree, properties=properties))
        if found := self.named_children(tree, "patternProperties", place):
            for pattern in found:
                patterns.check(pattern)
            pieces.append(Object(tree, patterns=found))
        if "unevaluatedItems" in tree:
            pieces.append(Array(tree, unevaluated=self.node(tree["unevaluatedItems"], place)))
        if "unevaluatedProperties" in tree:
            pieces.append(Object(tree, unevaluated=self.node(tree["unevaluatedProperties"], place)))
        return pieces

    def _piece(self, keyword: str, tree: Tree, place: Place) -> Node | None:
        if keyword in _NUMBERS:
            return _limit(_NUMBERS[keyword], number(tree, keyword), keyword)
        if keyword in _INTEGERS:
            return _limit(_INTEGERS[keyword], integer(tree, keyword), keyword)
        if keyword in (ALL_OF, ANY_OF, ONE_OF):
            return self._combination(keyword, tree, place)
        make = _PIECES.get(keyword)
        return make(self, tree, place) if make is not None else None

    def _combination(self, criterion: str, tree: Tree, place: Place) -> Combined:
        parts: list[Node] = []
        for part in self.children(tree, criterion, place):
            parts += _flat(part)
        return Combined(tree, criterion=criterion, parts=parts)

    def _reference(self, tree: Tree, place: Place) -> Node:
        return self.reference(tree, "$ref", place)

    def _type(self, tree: Tree, place: Place) -> Node:
        kind = tree["type"]
        if isinstance(kind, list):
            return Combined(tree, criterion=ANY_OF, parts=[_typed(entry) for entry in kind], generated=True)
        return _typed(kind)

    def _additional_properties(self, tree: Tree, place: Place) -> Node:
        inner = self.node(tree["additionalProperties"], place)
        return Object(tree, additional=_additional(inner))

    def _items(self, tree: Tree, place: Place) -> Node:
        inner = self.node(tree["items"], place)
        if isinstance(inner, (TrueNode, FalseNode)) or array(tree, "prefixItems"):
            return Array(tree, additional=_additional(inner))
        return Array(tree, items=inner)

    def _prefix_items(self, tree: Tree, place: Place) -> Node:
        return Array(tree, tuple_items=self.children(tree, "prefixItems", place))

    def _contains(self, tree: Tree, place: Place) -> Node:
        node = Array(tree, contains=self.node(tree["contains"], place), max_contains=integer(tree, "maxContains"))
        node.min_contains = integer(tree, "minContains") if "minContains" in tree else 1
        return node

    def _unique_items(self, tree: Tree, place: Place) -> Node:
        return Array(tree, unique=boolean(tree, "uniqueItems") or False)

    def _required(self, tree: Tree, place: Place) -> Node:
        return Object(tree, required=list(texts(tree, "required") or ()))

    def _property_names(self, tree: Tree, place: Place) -> Node:
        return Object(tree, names=self.node(tree["propertyNames"], place))

    def _dependent_required(self, tree: Tree, place: Place) -> Node:
        found = mapping(tree, "dependentRequired") or {}
        return Object(tree, required_with={name: set(texts(found, name) or ()) for name in found if found[name] != []})

    def _dependent_schemas(self, tree: Tree, place: Place) -> Node:
        return Object(tree, schemas_with=self.named_children(tree, "dependentSchemas", place))

    def _pattern(self, tree: Tree, place: Place) -> Node:
        node = String(tree, pattern=text(tree, "pattern"))
        patterns.check(node.pattern or "")
        return node

    def _enum(self, tree: Tree, place: Place) -> Node:
        return Enum(tree, values=array(tree, "enum") or [])

    def _const(self, tree: Tree, place: Place) -> Node:
        return Const(tree, value=tree["const"])

    def _not(self, tree: Tree, place: Place) -> Node:
        return Not(tree, inner=self.node(tree["not"], place))

    def _nothing(self, tree: Tree, place: Place) -> Node:
        """Keywords that say nothing about what may be there, and yet stand in the way of joining."""
        return _all_of([])

    def _if(self, tree: Tree, place: Place) -> Node:
        branches: dict[str, Node] = {key: self.node(tree[key], place) for key in CONDITIONAL if key in tree}
        return Conditional(tree, branches=branches)


_PIECES: dict[str, Callable[[ModernLoader, Tree, Place], Node]] = {
    "$ref": ModernLoader._reference,
    "type": ModernLoader._type,
    "additionalProperties": ModernLoader._additional_properties,
    "items": ModernLoader._items,
    "prefixItems": ModernLoader._prefix_items,
    "contains": ModernLoader._contains,
    "uniqueItems": ModernLoader._unique_items,
    "required": ModernLoader._required,
    "propertyNames": ModernLoader._property_names,
    "dependentRequired": ModernLoader._dependent_required,
    "dependentSchemas": ModernLoader._dependent_schemas,
    "pattern": ModernLoader._pattern,
    "enum": ModernLoader._enum,
    "const": ModernLoader._const,
    "not": ModernLoader._not,
    "if": ModernLoader._if,
    "format": ModernLoader._nothing,
    "readOnly": ModernLoader._nothing,
    "writeOnly": ModernLoader._nothing,
}


def _limit(target: tuple[type[Node], str], value: Any, keyword: str) -> Node:
    if keyword == "multipleOf" and value == 0:
        raise InvalidSchema("Invalid JSON Schema: multipleOf should not be 0")
    kind, attribute = target
    return kind(**{attribute: value})


def _typed(name: Any) -> Node:
    if not isinstance(name, str):
        raise mistyped("type", name, "String")
    if name not in _TYPES:
        raise InvalidSchema(f"Invalid JSON Schema: unknown type: [{name[:80]}]")
    return _TYPES[name]()


def _additional(inner: Node) -> Node | bool | None:
    if isinstance(inner, FalseNode):
        return False
    return None if isinstance(inner, TrueNode) else inner


def _all_of(parts: list[Node]) -> Combined:
    return Combined(criterion=ALL_OF, parts=parts, generated=True)


def _flat(node: Node) -> list[Node]:
    return node.parts if isinstance(node, Combined) and node.generated and node.criterion == ALL_OF else [node]


def _unwrapped(node: Node) -> Node:
    parts = _flat(node)
    if not parts:
        return Empty()
    return parts[0] if len(parts) == 1 else node


def _join(left: Node, right: Node) -> Node:
    """Two nodes that hold at once."""
    for types, other in ((left, right), (right, left)):
        if _is_types(types) and any(type(part) is type(other) for part in types.parts):
            return Combined(types.raw, criterion=ANY_OF, parts=_accumulated([*types.parts, other]), generated=True)
    parts = _accumulated([*_flat(left), *_flat(right)])
    return parts[0] if type(left) is type(right) and isinstance(left, _JOINED) else _all_of(parts)


def _is_types(node: Node) -> TypeGuard[Combined]:
    return isinstance(node, Combined) and node.generated and node.criterion == ANY_OF


def _accumulated(nodes: list[Node]) -> list[Node]:
    """Nodes of one type become one, where the first of them stood."""
    found: list[Node] = []
    for node in nodes:
        earlier = next((e for e in found if type(e) is type(node) and isinstance(node, _JOINED)), None)
        if earlier is None:
            found.append(node)
        else:
            _merge(earlier, node)
    return found


def _merge(target: Node, other: Node) -> None:
    """Add what `other` says about its type; title and the like belong to the whole schema."""
    for attribute in fields(other)[len(fields(Node)) :]:
        value = getattr(other, attribute.name)
        if isinstance(value, dict):
            getattr(target, attribute.name).update(value)
        elif isinstance(value, list):
            getattr(target, attribute.name).extend(value)
        elif value is False and attribute.name != "additional":
            continue
        elif value is not None:
            setattr(target, attribute.name, value)
