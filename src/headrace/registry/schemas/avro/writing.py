"""Avro nodes → JSON text: what Java's `Schema.toString()` prints, the normal form, and Avro's parsing canonical form."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from headrace.registry.schemas import jsontext
from headrace.registry.schemas.avro import defaults
from headrace.registry.schemas.avro.types import Array, Enum, Field, Fixed, Map, Named, Node, Primitive, Record, Union

Tree = Any


def canonical_tree(node: Node, known: Iterable[str] = ()) -> Tree:
    """The JSON of Java's `toString`; types in `known` are only named, as is every type after its first place."""
    return _Canonical(known).tree(node, None)


class _Canonical:
    def __init__(self, known: Iterable[str]) -> None:
        self._known = set(known)

    def tree(self, node: Node, space: str | None) -> Tree:
        if isinstance(node, Primitive):
            return {"type": node.kind} | node.props if node.props else node.kind
        if isinstance(node, Array):
            return {"type": "array", "items": self.tree(node.items, space)} | node.props
        if isinstance(node, Map):
            return {"type": "map", "values": self.tree(node.values, space)} | node.props
        if isinstance(node, Union):
            return [self.tree(branch, space) for branch in node.branches]
        assert isinstance(node, Named)
        if node.name.full in self._known:
            return node.name.seen_from(space)
        self._known.add(node.name.full)
        return self._named(node, space)

    def _named(self, node: Named, space: str | None) -> Tree:
        kind = "error" if isinstance(node, Record) and node.is_error else node.kind
        tree: dict[str, Tree] = {"type": kind, "name": node.name.simple}
        if node.name.space != space:
            tree["namespace"] = node.name.space or ""
        if node.doc is not None:
            tree["doc"] = node.doc
        tree |= self._parts(node)
        tree |= node.props
        if node.aliases:
            tree["aliases"] = [alias.seen_from(node.name.space) for alias in node.aliases]
        return tree

    def _parts(self, node: Named) -> dict[str, Tree]:
        if isinstance(node, Record):
            return {"fields": [self._field(field, node.name.space) for field in node.fields]}
        if isinstance(node, Enum):
            symbols: dict[str, Tree] = {"symbols": list(node.symbols)}
            return symbols if node.default is None else symbols | {"default": node.default}
        assert isinstance(node, Fixed)
        return {"size": node.size}

    def _field(self, field: Field, space: str | None) -> Tree:
        tree: dict[str, Tree] = {"name": field.name, "type": self.tree(field.type, space)}
        if field.doc is not None:
            tree["doc"] = field.doc
        if field.has_default:
            tree["default"] = field.default
        if field.order != "ascending":
            tree["order"] = field.order
        if field.aliases:
            tree["aliases"] = list(field.aliases)
        return tree | field.props


def normal_tree(node: Node, known: Iterable[str] = ()) -> Tree:
    """The same schema with properties, aliases and keys of defaults in order; reading it gives the normalised schema."""
    return _Normal(known).tree(node)


class _Normal:
    def __init__(self, known: Iterable[str]) -> None:
        self._known = set(known)

    def tree(self, node: Node) -> Tree:
        if isinstance(node, Primitive):
            return {"type": node.kind} | _properties(node) if node.props else node.kind
        if isinstance(node, Array):
            return {"type": "array", "items": self.tree(node.items)} | _properties(node)
        if isinstance(node, Map):
            return {"type": "map", "values": self.tree(node.values)} | _properties(node)
        if isinstance(node, Union):
            return [self.tree(branch) for branch in node.branches]
        assert isinstance(node, Named)
        if node.name.full in self._known:
            return node.name.full
        self._known.add(node.name.full)
        return self._named(node)

    def _named(self, node: Named) -> Tree:
        tree: dict[str, Tree] = {"name": node.name.full, "type": node.kind}
        if node.name.space is None:
            tree["namespace"] = ""
        if isinstance(node, Record):
            tree["fields"] = [self._field(field) for field in node.fields]
        elif isinstance(node, Enum):
            tree["symbols"] = list(node.symbols)
        elif isinstance(node, Fixed):
            tree["size"] = node.size
        if node.doc:
            tree["doc"] = node.doc
        if node.aliases:
            tree["aliases"] = sorted(node.alias_names())
        if isinstance(node, Enum) and node.default is not None:
            tree["default"] = node.default
        return tree | _properties(node)

    def _field(self, field: Field) -> Tree:
        tree: dict[str, Tree] = {"name": field.name, "type": self.tree(field.type), "order": field.order}
        if field.doc is not None:
            tree["doc"] = field.doc
        if field.aliases:
            tree["aliases"] = sorted(field.aliases)
        present, value = defaults.normal(field)
        if present:
            tree["default"] = value
        return tree | defaults.sorted_keys(field.props)


_LOGICAL_KINDS = {
    "big-decimal": ("bytes",),
    "date": ("int",),
    "time-millis": ("int",),
    "time-micros": ("long",),
    "timestamp-millis": ("long",),
    "timestamp-micros": ("long",),
    "timestamp-nanos": ("long",),
    "local-timestamp-millis": ("long",),
    "local-timestamp-micros": ("long",),
    "local-timestamp-nanos": ("long",),
}
_FIXED_SIZES = {"uuid": 16, "duration": 12}


def _properties(node: Node | Named) -> dict[str, Tree]:
    """Properties in order, those of a valid logical type first."""
    logical = node.props.get("logicalType")
    first: dict[str, Tree] = {}
    if logical == "decimal" and _is_decimal(node):
        first = {"logicalType": logical, "precision": node.props["precision"]}
        if node.props.get("scale", 0) != 0:
            first["scale"] = node.props["scale"]
    elif isinstance(logical, str) and _is_logical(node, logical):
        first = {"logicalType": logical}
    ordered: dict[str, Tree] = defaults.sorted_keys(node.props)
    return first | ordered


def _is_logical(node: Node | Named, logical: str) -> bool:
    if logical in _FIXED_SIZES and isinstance(node, Fixed):
        return node.size == _FIXED_SIZES[logical]
    if logical == "uuid":
        return node.kind == "string"
    return node.kind in _LOGICAL_KINDS.get(logical, ())


def _is_decimal(node: Node | Named) -> bool:
    precision, scale = node.props.get("precision"), node.props.get("scale", 0)
    if type(precision) is not int or type(scale) is not int or not 0 <= scale <= precision or precision == 0:
        return False
    if isinstance(node, Fixed):
        return node.size > 0 and precision <= round(math.floor(math.log10(2) * (8 * node.size - 1)))
    return node.kind == "bytes"


def parsing_form(node: Node) -> str:
    """Avro's parsing canonical form: what decides how bytes are read, and nothing else."""
    return jsontext.write(_parsing_tree(node, set()))


def _parsing_tree(node: Node, known: set[str]) -> Tree:
    if isinstance(node, Array):
        return {"type": "array", "items": _parsing_tree(node.items, known)}
    if isinstance(node, Map):
        return {"type": "map", "values": _parsing_tree(node.values, known)}
    if isinstance(node, Union):
        return [_parsing_tree(branch, known) for branch in node.branches]
    if not isinstance(node, Named):
        return node.kind
    if node.name.full in known:
        return node.name.full
    known.add(node.name.full)
    tree: dict[str, Tree] = {"name": node.name.full, "type": node.kind}
    if isinstance(node, Record):
        tree["fields"] = [{"name": f.name, "type": _parsing_tree(f.type, known)} for f in node.fields]
    elif isinstance(node, Enum):
        tree["symbols"] = list(node.symbols)
    elif isinstance(node, Fixed):
        tree["size"] = node.size
    return tree
